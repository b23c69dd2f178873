// The sessions that all hubs share.

import t from 'tap'
import { openDatabase, partsOn } from './fixture.ts'
import { fleetDatabase } from './postgres.ts'

t.setTimeout(120_000)

const HOUR_MS = 3_600_000
const VERA = { name: 'vera', role: 'editor', via: 'token' } as const
const of = (fingerprint: string) => () => fingerprint

t.test('a session opens at every hub until it ends, and only with its secret and its terms', async (t) => {
  const { hub } = await fleetDatabase()
  const { sessions, clock, log } = partsOn(openDatabase(t, hub))
  await log.open()
  const { sessions: others } = partsOn(openDatabase(t, hub), clock)
  const { secret, ...session } = await sessions.create(VERA, 'f', HOUR_MS, null)
  t.strictSame(await others.find(secret, of('f')), session)
  t.equal(await others.find(secret, of('other')), null)
  t.equal(await others.find(secret, () => null), null)
  t.equal(await others.find('x', of('f')), null)
  t.strictSame(await others.list(), [session])
  const next = await others.create(VERA, 'f', HOUR_MS, secret)
  t.equal(await sessions.find(secret, of('f')), null, 'a new one ends that of the same browser')
  clock.advance(HOUR_MS)
  t.equal(await sessions.find(next.secret, of('f')), null, 'its time is over')
  t.strictSame(await sessions.list(), [])
  const last = await sessions.create(VERA, 'f', HOUR_MS, null)
  await others.delete(last.secret)
  t.equal(await sessions.find(last.secret, of('f')), null)
})

t.test('an administrator ends the session of another, which is sealed', async (t) => {
  const { hub } = await fleetDatabase()
  const database = openDatabase(t, hub)
  const { sessions, log } = partsOn(database)
  await log.open()
  const { id, secret } = await sessions.create(VERA, 'f', HOUR_MS, null)
  await t.rejects(sessions.end('none', 'root'), { code: 'not_found' })
  t.match(await sessions.end(id, 'root'), { id, name: 'vera' })
  t.equal(await sessions.find(secret, of('f')), null)
  const [entry] = await database.rows<{ body: Buffer }>('select body from entry order by seq desc limit 1')
  t.match(JSON.parse(entry!.body.toString()), { type: 'session_ended', administrator: 'vera', actor: 'root' })
})

t.test('an administrator has a hundred sessions at most, on all hubs together', async (t) => {
  const { hub } = await fleetDatabase()
  const { sessions, clock } = partsOn(openDatabase(t, hub))
  const { sessions: others } = partsOn(openDatabase(t, hub), clock)
  const first = await sessions.create(VERA, 'f', HOUR_MS, null)
  clock.advance(1)
  for (let made = 0; made < 100; made += 10)
    await Promise.all(
      Array.from({ length: 10 }, (_, n) => [sessions, others][n % 2]!.create(VERA, 'f', HOUR_MS, null)),
    )
  t.equal((await sessions.list()).length, 100)
  t.equal(await sessions.find(first.secret, of('f')), null, 'the oldest made room')
})
