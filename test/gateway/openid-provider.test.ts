// What the adapter of OpenID Connect makes of providers that are down, slow to come back or wrong. The
// flow itself has a test with a real provider, test/process/oidc.long.test.ts.

import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { fixedSecret } from '../../src/core/secret.ts'
import { OpenIdProvider } from '../../src/gateway/openid-provider.ts'
import { testClock } from '../store/fixture.ts'

const CALLBACK = 'http://localhost/api/v1/session/oidc/callback'

/** An adapter for a server that answers requests for metadata like this. */
async function setting(t: Test, answer: (issuer: string, response: ServerResponse) => void) {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url ?? '')
    answer(issuer, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const clock = testClock()
  const terms = { clientId: 'c', clientSecret: fixedSecret('s'), groupsClaim: 'groups', actorClaim: 'email' }
  return { provider: new OpenIdProvider({ ...terms, issuer, roles: new Map() }, clock), clock, asked, server }
}

const metadata = (issuer: string, more: object = {}) =>
  JSON.stringify({
    issuer,
    authorization_endpoint: `${issuer}/auth`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/keys`,
    ...more,
  })

const sendJson = (response: ServerResponse, text: string) =>
  response.writeHead(200, { 'content-type': 'application/json' }).end(text)

const failure = (kind: string, reason: RegExp) => ({ name: 'ProviderFailure', kind, message: reason }) as any

t.test('sign-ins share the metadata, which is asked for again after ten minutes', async (t) => {
  const { provider, clock, asked } = await setting(t, (issuer, response) =>
    sendJson(response, metadata(issuer, { scopes_supported: ['openid', 'email', 'address'] })),
  )
  const begun = await Promise.all(Array.from({ length: 20 }, () => provider.begin(CALLBACK)))
  t.strictSame(asked, ['/.well-known/openid-configuration'])
  t.equal(new Set(begun.map(({ checks }) => checks.state)).size, 20, 'each has a state of its own')
  t.equal(new URL(begun[0]?.address ?? '').searchParams.get('scope'), 'openid email', 'only known scopes')
  clock.advance(10 * 60_000)
  await provider.begin(CALLBACK)
  t.equal(asked.length, 2)
})

t.test('a provider that fails is asked once a second at most', async (t) => {
  let isDown = true
  const { provider, clock, asked } = await setting(t, (issuer, response) => {
    if (isDown) response.writeHead(503).end()
    else sendJson(response, metadata(issuer))
  })
  for (let count = 0; count < 20; count++)
    await t.rejects(provider.begin(CALLBACK), failure('unreachable', /status_503/))
  t.equal(asked.length, 1)
  isDown = false
  clock.advance(1000)
  await t.resolves(provider.begin(CALLBACK))
})

t.test('metadata that cannot be trusted is refused', async (t) => {
  const answers: [string, (issuer: string) => string, RegExp][] = [
    ['of another issuer', () => metadata('http://127.0.0.1:1'), /OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED/],
    ['that is no JSON', () => '<html>', /OAUTH_PARSE_ERROR/],
    ['over a mebibyte', (issuer) => metadata(issuer, { more: 'x'.repeat(1024 * 1024) }), /invalid: \w+/],
  ]
  for (const [what, text, reason] of answers) {
    const { provider } = await setting(t, (issuer, response) => sendJson(response, text(issuer)))
    await t.rejects(provider.begin(CALLBACK), failure('invalid', reason), what)
  }
})

t.test('a provider that nobody runs is unreachable', async (t) => {
  const { provider, server } = await setting(t, () => {})
  server.close()
  await t.rejects(provider.begin(CALLBACK), failure('unreachable', /ECONNREFUSED/))
})

t.test('a code that the provider does not redeem opens nothing', async (t) => {
  const { provider, asked } = await setting(t, (issuer, response) => {
    if (asked.length === 1) sendJson(response, metadata(issuer))
    else sendJson(response, JSON.stringify({ access_token: 'a', token_type: 'Bearer', expires_in: 60 }))
  })
  const { checks } = await provider.begin(CALLBACK)
  const answer = new URL(`${CALLBACK}?code=c&state=${checks.state}`)
  await t.rejects(
    provider.finish(answer, checks),
    failure('invalid', /OAUTH_INVALID_RESPONSE/),
    'no id token',
  )
  t.strictSame(asked.slice(1), ['/token'])
  const other = new URL(`${CALLBACK}?code=c&state=other`)
  await t.rejects(provider.finish(other, checks), failure('invalid', /OAUTH_INVALID_RESPONSE/), 'state')
  t.equal(asked.length, 2, 'nothing is asked for another state')
})
