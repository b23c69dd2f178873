// Join tokens: one use each, by one key, and what the log and the database keep of them.

import t, { type Test } from 'tap'
import { ChangeReading } from '../../src/ledger/change-reading.ts'
import { newKey } from '../hub/tokens.ts'
import { openDatabase, partsOn } from './fixture.ts'
import { fleetDatabase, run } from './postgres.ts'

t.setTimeout(120_000)

const HOUR_SECONDS = 3600
const keyOf = () => newKey('x', 'EdDSA').publicPem

const database = await fleetDatabase()

/** Two hubs on one database, which all tests share. */
async function hubs(t: Test) {
  const one = partsOn(openDatabase(t, database.hub))
  const other = partsOn(openDatabase(t, database.hub), one.clock)
  await one.log.open()
  const make = async (name = 'shop/web-1') => (await one.joinTokens.create(name, HOUR_SECONDS, 'vera')).token
  return { ...one, others: other.joinTokens, make }
}

t.test('a sidecar joins once with a token, at any hub, and both steps are sealed', async (t) => {
  const { joinTokens, others, database: connection, clock, make } = await hubs(t)
  const token = await make()
  t.match(token, /^sgjoin_[\w-]{43}$/)
  const publicKey = keyOf()
  const joined = await others.use(token, publicKey)
  t.strictSame(joined, { ...joined, cluster: null, namespace: 'shop', name: 'shop/web-1', publicKey })
  t.strictSame(await joinTokens.find(joined.sidecar), joined)
  t.strictSame(await joinTokens.use(token, publicKey), joined, 'the answer got lost')
  t.strictSame(await joinTokens.use(token, publicKey.replaceAll('\n', '\r\n')), joined, 'spelled otherwise')
  const [row] = await run(database.hub, 'select state, acked_rev from sidecar where id = $1', [
    joined.sidecar,
  ])
  t.match(row, { state: 'left', acked_rev: '0' }, 'no change waits for one that has not connected')
  await t.rejects(joinTokens.use(token, keyOf()), { code: 'invalid_token' }, 'another key')
  clock.advance(HOUR_SECONDS * 1000)
  await t.rejects(joinTokens.use(token, publicKey), { code: 'invalid_token' }, 'its time is over')
  t.strictSame(await joinTokens.find(joined.sidecar), joined, 'the sidecar itself stays')
  const { changes } = await new ChangeReading(connection).listChanges({
    limit: 2,
    beforeSeq: null,
    actor: null,
    type: null,
  })
  t.match(changes, [
    { type: 'sidecar_joined', sidecar_id: joined.sidecar, sidecar_name: 'shop/web-1', actor: 'gateway' },
    { type: 'join_token_created', name: 'shop/web-1', expires_at: /Z$/, actor: 'vera' },
  ])
  const kept = JSON.stringify([
    changes,
    await run(database.hub, 'select * from join_token'),
    await run(database.hub, 'select * from sidecar'),
  ])
  t.notMatch(kept, token.slice(7), 'no token is stored')
})

t.test('of many keys that come with a token at a time one joins', async (t) => {
  const { joinTokens, others, make } = await hubs(t)
  const token = await make('shop/web-2')
  const keys = Array.from({ length: 6 }, keyOf)
  const results = await Promise.allSettled(
    [...keys, ...keys].map((key, n) => [joinTokens, others][n % 2]!.use(token, key)),
  )
  const joined = results.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  t.ok(joined.length >= 1)
  t.equal(new Set(joined.map(({ publicKey }) => publicKey)).size, 1)
  for (const one of results) if (one.status === 'rejected') t.match(one.reason, { code: 'invalid_token' })
  const rows = await run(database.hub, "select id from sidecar where name = 'shop/web-2'")
  t.strictSame(rows, [{ id: joined[0]!.sidecar }])
})

t.test('a wrong or expired token registers nothing', async (t) => {
  const { joinTokens, clock, make } = await hubs(t)
  const token = await make('shop/web-3')
  clock.advance(HOUR_SECONDS * 1000)
  for (const wrong of [token, `sgjoin_${'A'.repeat(43)}`, 'sgjoin_', '', `${token}\n`])
    await t.rejects(joinTokens.use(wrong, keyOf()), { code: 'invalid_token', status: 401 })
  t.strictSame(await run(database.hub, "select id from sidecar where name = 'shop/web-3'"), [])
})

t.test('only an Ed25519 public key joins, and the token stays usable', async (t) => {
  const { joinTokens, make } = await hubs(t)
  const token = await make('shop/web-4')
  const key = newKey('x', 'EdDSA')
  const wrong = [
    newKey('x', 'ES256').publicPem,
    newKey('x', 'RS256').publicPem,
    String(key.privateKey.export({ type: 'pkcs8', format: 'pem' })),
    '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----',
    'x',
  ]
  for (const pem of wrong)
    await t.rejects(joinTokens.use(token, pem), { code: 'invalid_parameter', param: 'public_key' })
  t.match(await joinTokens.use(token, key.publicPem), { name: 'shop/web-4' })
})

t.test(
  'a sidecar that was declared gone is known as such, and does not come back by its token',
  async (t) => {
    const { joinTokens, make } = await hubs(t)
    const token = await make('shop/web-5')
    const publicKey = keyOf()
    const { sidecar } = await joinTokens.use(token, publicKey)
    await run(database.hub, "update sidecar set state = 'gone' where id = $1", [sidecar])
    t.match(await joinTokens.find(sidecar), { isGone: true })
    await t.rejects(joinTokens.use(token, publicKey), { code: 'invalid_token' })
  },
)

t.test('the name of a sidecar says where it is', async (t) => {
  const { joinTokens, make } = await hubs(t)
  const places: [string, object][] = [
    ['solo', { cluster: null, namespace: 'default' }],
    ['bank/web-1', { cluster: null, namespace: 'bank' }],
    ['prod/bank/Web 1', { cluster: 'prod', namespace: 'bank' }],
  ]
  for (const [name, place] of places)
    t.match(await joinTokens.use(await make(name), keyOf()), { name, ...place }, name)
  const unfit = [
    '',
    '/a',
    'a/',
    'a//b',
    'a/b/c/d',
    'Shop/web',
    'a b/c',
    ' a',
    'a\u200bb',
    'bob@example.org',
    'x'.repeat(129),
  ]
  for (const name of unfit)
    await t.rejects(joinTokens.create(name, 60, 'vera'), { code: 'invalid_parameter', param: 'name' }, name)
})
