// What a hub answers about stored answers: to sidecars that get the key, and to nobody else.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { GatewayError } from '../../src/core/errors.ts'
import { keyLineQuery, MAXIMUM_ASKED_ANSWERS, storedPath } from '../../src/fleet/stored-protocol.ts'
import { storedHandler } from '../../src/hub/stored-handler.ts'
import type { SidecarIdentity } from '../../src/hub/verified-token.ts'
import { fetchInTime } from '../process/until.ts'

const [ONE, TWO] = ['a'.repeat(43), 'b'.repeat(43)]

const handlerOf = storedHandler({
  ...{ logger: {}, metrics: { refusals: { inc: () => {} } }, newId: () => 'id' },
  verify: async (authorization?: string) => {
    if (authorization === undefined) throw new GatewayError('invalid_token', 'No token.')
    return { id: 'one', namespace: authorization } as SidecarIdentity
  },
  owners: {
    find: async (line: string, hashes: readonly string[]) =>
      hashes.map((hash) => (line === 'k1' && hash === ONE ? 'removed' : 'foreign')),
    claim: async (_: string, hash: string, call: string) => (hash === ONE ? call === 'first' : null),
  },
  isGivenLine: (line: string, namespace: string) => line !== 'none' && namespace === 'shop',
} as unknown as Parameters<typeof storedHandler>[0])

const server = createServer((request, response) => {
  const [path = ''] = (request.url ?? '').split('?')
  const answer = handlerOf(request.method ?? '', path)
  if (answer === null) response.writeHead(404).end('{}')
  else void answer(request, response)
}).listen(0, '127.0.0.1')
await once(server, 'listening')
t.teardown(() => {
  server.closeAllConnections()
  server.close()
})

async function ask(
  path: string,
  { authorization = 'shop', body }: { authorization?: string; body?: object } = {},
) {
  const response = await fetchInTime(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, {
    headers: {
      ...(authorization !== '' && { authorization }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
  })
  return { status: response.status, body: JSON.parse(await response.text()) }
}

t.test('answers come in the order of their hashes, for the line that is asked for', async (t) => {
  const both = storedPath([TWO, ONE])
  t.strictSame(await ask(both + keyLineQuery('k1')), {
    status: 200,
    body: { answers: ['foreign', 'removed'] },
  })
  const other = await ask(both + keyLineQuery('k1'), { authorization: 'bank' })
  t.strictSame(other.body, { answers: [null, null] }, 'a sidecar learns nothing of keys that it does not get')
  t.strictSame((await ask(both + keyLineQuery('none'))).body, { answers: [null, null] })
})

t.test('a claim is of one answer and one call', async (t) => {
  const claim = (hash: string, body: object, authorization = 'shop') =>
    ask(storedPath([hash]), { body, authorization })
  t.strictSame((await claim(ONE, { key_line: 'k1', call: 'first' })).body, { claimed: true })
  t.strictSame((await claim(ONE, { key_line: 'k1', call: 'second' })).body, { claimed: false })
  t.strictSame((await claim(TWO, { key_line: 'k1', call: 'first' })).body, { claimed: null })
  t.strictSame((await claim(ONE, { key_line: 'k1', call: 'first' }, 'bank')).body, { claimed: null })
  t.equal((await ask(storedPath([ONE, TWO]), { body: { key_line: 'k1', call: 'first' } })).status, 404)
})

for (const [what, path, options, status] of [
  ['without a credential', storedPath([ONE]) + keyLineQuery('k1'), { authorization: '' }, 401],
  ['without a line', storedPath([ONE]), {}, 400],
  ['with an endless line', storedPath([ONE]) + keyLineQuery('k'.repeat(129)), {}, 400],
  ['with an id in place of a hash', `/fleet/v1/stored/resp_1${keyLineQuery('k1')}`, {}, 404],
  [
    'for too many answers',
    storedPath(Array.from({ length: MAXIMUM_ASKED_ANSWERS + 1 }, () => ONE)) + keyLineQuery('k1'),
    {},
    404,
  ],
  ['of a claim without a call', storedPath([ONE]), { body: { key_line: 'k1' } }, 400],
] as const)
  t.test(`a request ${what} is refused`, async (t) => {
    t.equal((await ask(path, options)).status, status)
  })
