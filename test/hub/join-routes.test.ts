// Joining over REST: an administrator creates a token, and a sidecar joins with it.

import t from 'tap'
import { GatewayError } from '../../src/core/errors.ts'
import { joinRoutes } from '../../src/hub/join-routes.ts'
import type { ApiRequest } from '../../src/server/api.ts'
import { fleetDatabase } from '../ledger/postgres.ts'
import { fetchInTime } from '../process/until.ts'
import { testClock } from '../store/fixture.ts'
import { startHub } from './fixture.ts'
import { newKey } from './tokens.ts'

t.setTimeout(120_000)

t.test('a token of an administrator lets one sidecar join', async (t) => {
  const hub = await startHub(t, await fleetDatabase())
  const join = async (body: unknown, headers: Record<string, string> = {}) => {
    const response = await fetchInTime(`${hub.url}/fleet/v1/join`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
    return { status: response.status, body: (await response.json()) as any }
  }
  const api = await hub.signIn()
  const made = await api('POST', '/fleet/tokens', { name: 'shop/web-1', ttl_seconds: 60 })
  t.strictSame(made, { status: 201, body: { token: made.body.token } })
  const { token } = made.body
  const { publicPem: public_key } = newKey('x', 'EdDSA')
  t.match(await join({ token }), { status: 400, body: { error: { param: 'public_key' } } })
  t.match(await join({ token, public_key, more: 1 }), { status: 400 })
  t.match(await join({ token, public_key: 'x'.repeat(70_000) }), { status: 413 })
  const joined = await join({ token, public_key }, { origin: 'https://elsewhere' })
  t.match(joined, { status: 200, body: { sidecar: /^[0-9a-f-]{36}$/ } }, 'from any origin')
  t.strictSame(await join({ token, public_key }), joined)
  t.match(await join({ token, public_key: newKey('x', 'EdDSA').publicPem }), {
    status: 401,
    body: { error: { code: 'invalid_token', message: /create another one/ } },
  })
  const wrong: [object, string][] = [
    [{ name: 'a' }, 'missing_required_parameter'],
    [{ ttl_seconds: 60 }, 'missing_required_parameter'],
    [{ name: 'a', ttl_seconds: 59 }, 'invalid_body'],
    [{ name: 'a', ttl_seconds: 604_801 }, 'invalid_body'],
    [{ name: 'a', ttl_seconds: 60.5 }, 'invalid_body'],
    [{ name: 'bob@example.org', ttl_seconds: 60 }, 'invalid_parameter'],
  ]
  for (const [fields, code] of wrong)
    t.match(await api('POST', '/fleet/tokens', fields), { status: 400, body: { error: { code } } }, code)
  const reader = await hub.signIn('reader')
  t.match(await reader('POST', '/fleet/tokens', { name: 'a', ttl_seconds: 60 }), { status: 403 })
  const { paths, info } = (await (await fetchInTime(`${hub.url}/openapi.json`)).json()) as any
  t.equal(info.title, 'Sidegate hub')
  t.ok(paths['/fleet/v1/join'].post.responses['429'])
  t.equal(paths['/api/v1/fleet/tokens'].post['x-sidegate-role'], 'admin')
  t.notMatch(JSON.stringify(hub.logs), token)
})

t.test('wrong tokens of an address are limited, and right ones are not', async (t) => {
  const clock = testClock()
  const use = async (token: string) => {
    if (token !== 'right') throw new GatewayError('invalid_token', 'wrong')
    return { sidecar: 'a', cluster: null, namespace: 'n', name: 'n/a', publicKey: 'k', isGone: false }
  }
  const [route] = joinRoutes({ use, create: async () => ({ token: '' }) }, clock)
  const join = async (token: string, address = '10.0.0.1') => {
    const request = { address, body: async () => ({ token, public_key: 'k' }) } as unknown as ApiRequest
    return (route as { answer(request: ApiRequest): Promise<{ status: number }> }).answer(request).then(
      ({ status }) => status,
      ({ code }) => code,
    )
  }
  for (let tries = 0; tries < 5; tries++) t.equal(await join('wrong'), 'invalid_token')
  t.equal(await join('wrong'), 'too_many_attempts')
  t.equal(await join('right'), 200)
  t.equal(await join('wrong', '10.0.0.2'), 'invalid_token')
  clock.advance(1000)
  t.equal(await join('wrong'), 'invalid_token')
  t.equal(await join('wrong'), 'too_many_attempts')
  const many = await Promise.all(Array.from({ length: 300 }, () => join('right', '10.0.0.3')))
  t.equal(many.filter((answer) => answer === 200).length, 200)
  t.equal(many.at(-1), 'too_many_attempts')
})
