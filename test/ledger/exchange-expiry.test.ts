// Exchanges that are removed by the labels of their entries.

import t from 'tap'
import { ExchangeExpiry } from '../../src/ledger/exchange-expiry.ts'
import { openDatabase, partsOn, SidecarRows } from './fixture.ts'
import { fleetDatabase, run } from './postgres.ts'

t.setTimeout(120_000)

const DAY_MS = 86_400_000
const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString()

t.test('the first rule whose labels an entry has counts, without one audit.retainDays', async (t) => {
  const { owner, hub } = await fleetDatabase()
  const database = openDatabase(t, hub)
  const { log } = partsOn(database)
  await log.open()
  for (let month = -3; month < 0; month++)
    await run(
      owner,
      `select sidegate.add_month((date_trunc('month', now()) + $1 * interval '1 month')::date)`,
      [month],
    )
  const rows = new SidecarRows(database, owner)
  const legal = { team: 'legal', site: 'a' }
  const CALLS = [
    { received_at: daysAgo(50), labels: {} },
    { received_at: daysAgo(30), labels: legal },
    { received_at: daysAgo(30), labels: { team: 'shop' } },
    { received_at: daysAgo(12), labels: legal },
    { received_at: daysAgo(8), labels: legal },
    { received_at: daysAgo(8), labels: { ...legal, kind: 'short' } },
    { received_at: daysAgo(1), labels: { kind: 'short' } },
  ]
  await rows.calls(CALLS.length, (n) => ({ ...CALLS[n]!, user: Buffer.alloc(16, 1) }))
  await run(owner, 'delete from sidegate.exchange where seq = 3')
  const retain = [
    { labels: { kind: 'short' }, days: 5 },
    { labels: { team: 'legal' }, days: 10 },
  ]
  const expiry = () => new ExchangeExpiry({ database, log, retain, retainDays: 40 })
  t.equal(await expiry().run(), 3)
  const left = await database.rows<{ seq: number }>('select seq from exchange order by seq')
  t.strictSame(left, [{ seq: 2 }, { seq: 4 }, { seq: 6 }])
  t.strictSame(await database.rows('select seq from entry_user order by seq'), left)
  const entries = await database.rows<{ body: Buffer }>(
    "select body from entry where type = 'erase' order by seq",
  )
  t.match(
    entries.map(({ body }) => JSON.parse(body.toString())),
    [
      { selection: { older_than_days: 5 }, erased: 1, users: 1, actor: 'gateway' },
      { selection: { older_than_days: 10 }, erased: 1, users: 2 },
      { selection: { older_than_days: 40 }, erased: 1, users: 1 },
    ],
  )
  t.equal(await expiry().run(), 0, 'what was worked off is not read again')
  t.equal((await database.rows('select name from expiry')).length, 3)
  const other = new ExchangeExpiry({
    database,
    log,
    retain: [{ labels: { team: 'shop' }, days: 20 }],
    retainDays: 40,
  })
  t.equal(await other.run(), 1, 'with other rules all is read again')
  t.equal(await new ExchangeExpiry({ database, log, retain: [], retainDays: 1 }).run(), 0)
})
