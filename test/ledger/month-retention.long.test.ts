// Months of entries that are dropped: where each log is cut, what is sealed, and what is refused.

import t, { type Test } from 'tap'
import { Frontier } from '../../src/audit/merkle.ts'
import { NO_EVIDENCE } from '../../src/audit/survey.ts'
import type { RetainRule } from '../../src/core/retention-section.ts'
import { verifyLogs } from '../../src/hub/fleet-verification.ts'
import type { Database } from '../../src/ledger/database.ts'
import { asOnlyHub, MonthRetention } from '../../src/ledger/month-retention.ts'
import { StoredLogs } from '../../src/ledger/stored-logs.ts'
import { openDatabase, partsOn, SidecarRows } from './fixture.ts'
import { fleetDatabase, run } from './postgres.ts'

t.setTimeout(120_000)

const YEAR = new Date().getUTCFullYear()
const [OLD, NEXT] = [`${YEAR - 2}-01`, `${YEAR - 2}-02`]
const inMonth = (month: string) => ({ received_at: `${month}-15T12:00:00.000Z` })
const suffix = (month: string) => month.replace('-', '_')

/** A database with two old months, a log in both of them and in this month, and one that ended. */
async function open(t: Test) {
  const { owner, hub } = await fleetDatabase()
  const database = openDatabase(t, hub)
  const { log } = partsOn(database)
  await run(owner, `select sidegate.add_month('${OLD}-01'), sidegate.add_month('${NEXT}-01')`)
  const own = await log.open()
  const old = `${OLD}-10`
  await run(owner, `set session_replication_role = replica; update sidegate.entry set received_at = '${old}'`)
  const [long, ended] = [new SidecarRows(database, owner, 'long'), new SidecarRows(database, owner, 'ended')]
  await long.calls(600, () => ({ ...inMonth(OLD), user: Buffer.alloc(16, 1) }))
  await long.store(
    database,
    Array.from({ length: 10 }, () => inMonth(NEXT)),
  )
  await long.store(database, [{ user: Buffer.alloc(16, 1) }])
  await ended.calls(3, () => inMonth(OLD))
  const retention = (days: number, retain: RetainRule[] = []) =>
    new MonthRetention({ database, log, retainDays: days, retain })
  return { owner, database, log, own, long, ended, retention }
}

/** For the tests that drop nothing. */
const shared = await open(t)

const months = async (owner: string): Promise<string[]> =>
  (
    await run(
      owner,
      `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
       where i.inhparent = 'sidegate.entry'::regclass order by 1`,
    )
  ).map(({ name }) => name)

const sealed = async (database: Database, type: string): Promise<any[]> =>
  (await database.rows<{ body: Buffer }>('select body from entry where type = $1 order by seq', [type])).map(
    ({ body }) => JSON.parse(body.toString()),
  )

t.test('old months are dropped whole, and each log keeps where it was cut', async (t) => {
  const { owner, database, own, long, ended, retention } = await open(t)
  const hashes = new Map<number, string>()
  for (const { seq, hash } of await database.rows<{ seq: number; hash: Buffer }>(
    'select seq, hash from entry where log_id = $1',
    [long.log],
  ))
    hashes.set(seq, hash.toString('hex'))
  t.strictSame(await retention(300).run(), [OLD, NEXT])
  const left = await months(owner)
  t.equal(left.length, 3)
  t.notOk(left.includes(`entry_${suffix(OLD)}`))
  t.strictSame(await run(owner, `select to_regclass('sidegate.exchange_${suffix(NEXT)}') as name`), [
    { name: null },
  ])

  const cuts = await database.rows<{ log_id: string; first_seq: number; prev: Buffer; frontier: Buffer[] }>(
    'select log_id, first_seq, prev, frontier from log_cut order by first_seq',
  )
  t.strictSame(
    cuts.map(({ log_id, first_seq }) => [log_id, first_seq]),
    [
      [own, 1],
      [ended.log, 3],
      [long.log, 600],
      [long.log, 610],
    ],
  )
  const last = cuts.at(-1)!
  t.equal(last.prev.toString('hex'), hashes.get(609))
  const [head] = await database.rows<{ frontier: Buffer[] }>(
    'select frontier from log_head where log_id = $1',
    [long.log],
  )
  const edge = Frontier.read(last.first_seq, last.frontier)
  const [first] = await database.rows<{ leaf: Buffer }>(
    `select sha256('\\x00'::bytea || hash) as leaf from entry where log_id = $1`,
    [long.log],
  )
  const root = edge.root().toString('base64')
  edge.push(first!.leaf)
  t.strictSame(edge.nodes(), head!.frontier, 'from the cut the tree goes on')
  t.strictSame(await database.rows('select seq from entry_user order by seq'), [{ seq: 610 }])
  t.strictSame(await database.rows('select log_id from exchange'), [{ log_id: long.log }])

  const dropped = await sealed(database, 'month_dropped')
  t.match(dropped, [
    { month: OLD, part: 1, parts: 1, actor: 'gateway', logs: { length: 2 } },
    { month: NEXT, logs: [{ log: long.log, first_seq: 610, head: `sha256:${hashes.get(609)}`, root }] },
  ])
  t.match(await sealed(database, 'prune'), [{ first_seq: 1, reason: 'age', frontier: { length: 1 } }])
  t.strictSame(await retention(300).run(), [])
  const [hubs] = await verifyLogs(new StoredLogs(database), NO_EVIDENCE, () => {})
  t.match(hubs, { sidecar: null, verdict: { ok: true, firstSeq: 1, beginning: 'prune', findings: [] } })
})

t.test('a month that could not be dropped is sealed once, and dropped the next time', async (t) => {
  const { database, retention } = await open(t)
  const reader = Promise.withResolvers<void>()
  const isRead = Promise.withResolvers<void>()
  const reading = database.transaction(async (queries) => {
    await queries.rows('select from entry limit 1')
    isRead.resolve()
    await reader.promise
  })
  await isRead.promise
  await t.rejects(retention(300).run(), { code: 'fleet_unavailable' })
  reader.resolve()
  await reading
  t.strictSame(await retention(300).run(), [OLD, NEXT])
  t.equal((await sealed(database, 'month_dropped')).length, 2)
  t.equal((await sealed(database, 'prune')).length, 1)
})

t.test('a month stays while the longest time keeps it', async (t) => {
  const { owner, retention } = shared
  const retain = [{ labels: { team: 'legal' }, days: 3650 }]
  t.strictSame(await retention(300, retain).run(), [])
  t.equal((await months(owner)).length, 5)
})

t.test('one hub at a time removes what is old', async (t) => {
  const { database } = shared
  let count = 0
  await asOnlyHub(database, async () => {
    count++
    await asOnlyHub(database, async () => {
      count++
    })
  })
  t.equal(count, 1)
  await asOnlyHub(database, async () => {
    count++
  })
  t.equal(count, 2)
})

t.test('entries are only appended on each partition, and nobody but the function drops them', async (t) => {
  const { owner, database } = shared
  for (const part of [...(await months(owner)), 'entry']) {
    for (const statement of [
      `update sidegate.${part} set type = 'x'`,
      `delete from sidegate.${part}`,
      `truncate sidegate.${part}`,
    ]) {
      await t.rejects(database.rows(statement), { code: '42501' }, `the hub: ${statement}`)
      if (part === 'entry' || (await run(owner, `select 1 from sidegate.${part} limit 1`)).length > 0)
        await t.rejects(run(owner, statement), { code: '42501' }, `the owner: ${statement}`)
    }
    await t.rejects(database.rows(`drop table sidegate.${part}`), { code: '42501' })
    if (part !== 'entry')
      await t.rejects(database.rows(`alter table sidegate.entry detach partition sidegate.${part}`), {
        code: '42501',
      })
  }
  for (const statement of [
    "insert into log_cut values (gen_random_uuid(), 1, sha256('x'), '{}')",
    'delete from tile',
    "select add_month('2020-01-01')",
  ])
    await t.rejects(database.rows(statement), { code: '42501' }, statement)
})

t.test('the function of the owner refuses what is young, out of order, missing or wrong', async (t) => {
  const { owner, database, long, ended, own } = shared
  const drop = (month: string, days: number | null) =>
    database.rows('select drop_month($1::date, $2)', [month, days])
  const now = new Date().toISOString().slice(0, 7)
  await t.rejects(drop(`${now}-01`, 1), { message: /too young/ })
  await t.rejects(drop(`${OLD}-01`, 36_500), { message: /too young/ })
  await t.rejects(drop(`${OLD}-01`, null), { code: '22023' })
  await t.rejects(drop(`${OLD}-01`, 0), { code: '22023' })
  await t.rejects(drop(`${OLD}-02`, 1), { code: '22023' })
  await t.rejects(drop(`${NEXT}-01`, 1), { message: /not the oldest/ })

  const draft = (id: string, seq: number, more = 'frontier') =>
    run(
      owner,
      `insert into sidegate.cut_draft
       select log_id, $2::bigint + 1, hash, ${more} from (
         select e.log_id, e.hash, array_fill('\\x${'00'.repeat(32)}'::bytea,
           array[length(replace(($2::bigint + 1)::bit(64)::text, '0', ''))]) as frontier
         from sidegate.entry e where log_id = $1 and seq = $2) last
       on conflict (log_id) do update set first_seq = excluded.first_seq, prev = excluded.prev, frontier = excluded.frontier`,
      [id, seq],
    )
  const missing = { message: /is missing or wrong/ }
  await t.rejects(drop(`${OLD}-01`, 1), missing)
  await draft(own, 0)
  await draft(long.log, 599)
  await t.rejects(drop(`${OLD}-01`, 1), missing, 'without one of the logs')
  await draft(ended.log, 2)
  const wrong: [string, () => Promise<unknown>][] = [
    ['an earlier place', () => draft(long.log, 598)],
    ['a later place', () => draft(long.log, 600)],
    ['too few nodes', () => draft(long.log, 599, 'frontier[2:]')],
    ['a node that is none', () => draft(long.log, 599, `frontier[2:] || '\\x00'::bytea`)],
    [
      'another hash',
      async () => {
        await draft(long.log, 599)
        await run(owner, "update sidegate.cut_draft set prev = sha256('x') where log_id = $1", [long.log])
      },
    ],
  ]
  for (const [what, prepare] of wrong) {
    await prepare()
    await t.rejects(drop(`${OLD}-01`, 1), missing, what)
  }
  await draft(long.log, 599)
  await run(
    owner,
    `set session_replication_role = replica; update sidegate.entry set received_at = now() where seq = 5 and log_id = '${long.log}'`,
  )
  await t.rejects(drop(`${OLD}-01`, 1), { message: /earlier entries in a later month/ })
  t.equal((await months(owner)).length, 5)
  t.strictSame(await database.rows('select log_id from log_cut'), [])
})
