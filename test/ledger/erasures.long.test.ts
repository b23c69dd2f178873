// Orders of erasure in the database: what they erase, how they are sealed, and when they are closed.

import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { MAXIMUM_OPEN_ORDERS, type OrderSelection } from '../../src/keys/erase-order.ts'
import type { Database } from '../../src/ledger/database.ts'
import { IngestOrders } from '../../src/ledger/erase-orders.ts'
import { ERASE_SLICE_ROWS } from '../../src/ledger/erased-rows.ts'
import { Erasures } from '../../src/ledger/erasures.ts'
import { openDatabase, partsOn, SidecarRows } from './fixture.ts'
import { fleetDatabase, run } from './postgres.ts'

t.setTimeout(120_000)

const CALLED_MS = Date.UTC(2026, 10, 1)
const ANN = Buffer.alloc(16, 1)
const BOB = Buffer.alloc(16, 2)

async function open(t: Test) {
  const { owner, hub } = await fleetDatabase()
  const database = openDatabase(t, hub)
  const parts = partsOn(database)
  await parts.log.open()
  const erasures = new Erasures({ ...parts, random: (length) => Buffer.alloc(length, 3) })
  return { owner, database, erasures, log: parts.log, sidecar: new SidecarRows(database, owner) }
}

/** Entries of logs that may be stored, without the end of an order. */
const scopeOf = (logs: readonly string[]) => ({ logs, oldestMs: CALLED_MS, named: [] })

const erased = async (database: Database): Promise<object[]> => {
  const rows = await database.rows<{ body: Buffer }>(
    "select body from entry where type = 'erase' order by seq",
  )
  return rows.map(({ body }) => JSON.parse(body.toString()))
}

const left = async (database: Database) => {
  const texts = await database.rows<{ seq: number }>('select seq from exchange order by seq')
  const users = await database.rows<{ seq: number }>('select seq from entry_user order by seq')
  return { texts: texts.map(({ seq }) => seq), users: users.map(({ seq }) => seq) }
}

const CASES: readonly [OrderSelection, sealed: object, texts: number[], users: number[]][] = [
  [{ request_id: 'call-1' }, { request_id: 'call-1' }, [0, 2, 3], [0, 2, 3]],
  [{ key_id: 'key-1' }, { key_id: 'key-1' }, [0, 2], [0, 2]],
  [{ user: ANN.toString('hex') }, { user: true }, [1, 3], [1, 3]],
  [{ before: '2026-11-01T00:02:00.000Z' }, { before: '2026-11-01T00:02:00.000Z' }, [2, 3], [2, 3]],
]
for (const [selection, sealed, texts, users] of CASES)
  t.test(`an order erases what it selects, and says how much: ${Object.keys(selection)}`, async (t) => {
    const { database, erasures, sidecar } = await open(t)
    await sidecar.calls(4, (n) => ({
      key_id: `key-${n % 2}`,
      user: n % 2 === 0 ? ANN : BOB,
      created_at: new Date(CALLED_MS + n * 60_000).toISOString(),
    }))
    const { order, ...answer } = await erasures.order(selection, 'vera')
    const gone = 4 - texts.length
    t.strictSame(answer, { erased: gone, entries: 1 })
    t.strictSame(await left(database), { texts, users })
    t.match(await erased(database), [{ selection: sealed, erased: gone, users: gone, order, actor: 'vera' }])
    t.match(
      await database.rows('select kind, c.body, swept, done from change c join erase_order using (rev)'),
      [{ kind: 'erase', body: { selection }, swept: true, done: false }],
    )
  })

t.test('many rows are erased in slices, each with its entry', async (t) => {
  const { database, erasures, sidecar } = await open(t)
  await sidecar.calls(2 * ERASE_SLICE_ROWS + 1, () => ({ key_id: 'k', user: ANN }))
  const { erased: gone, entries, order } = await erasures.order({ key_id: 'k' }, 'vera')
  t.strictSame({ gone, entries }, { gone: 2 * ERASE_SLICE_ROWS + 1, entries: 3 })
  t.match(
    await erased(database),
    [ERASE_SLICE_ROWS, ERASE_SLICE_ROWS, 1].map((count) => ({ erased: count, order })),
  )
  t.strictSame(await left(database), { texts: [], users: [] })
})

t.test('an order whose hub ended is continued by another hub, and no other one is', async (t) => {
  const { owner, database, erasures, sidecar } = await open(t)
  await sidecar.calls(3, () => ({ user: ANN }))
  const { order } = await erasures.order({ request_id: 'none' }, 'vera')
  const abandon = (ago: string) =>
    run(
      owner,
      `update sidegate.erase_order set selection = $1, swept = false, worked_at = now() - $2::interval`,
      [{ user: ANN.toString('hex') }, ago],
    )
  await abandon('10 seconds')
  await erasures.maintain()
  t.equal((await left(database)).texts.length, 3, 'a hub works on it')
  await abandon('2 minutes')
  await erasures.maintain()
  t.strictSame(await left(database), { texts: [], users: [] })
  t.match((await erased(database)).at(-1), { erased: 3, order, actor: 'vera' })
  t.match(await database.rows('select swept from erase_order'), [{ swept: true }])
})

t.test(
  'no exchange arrives after its erasure: an ingest at the same time is erased or sees it',
  async (t) => {
    const { database, erasures, sidecar } = await open(t)
    await sidecar.begin()
    const entry = { call_id: 'call-0', key_id: 'k', created_at: new Date(CALLED_MS).toISOString(), user: ANN }
    const stored = Promise.withResolvers<void>()
    const mayCommit = Promise.withResolvers<void>()
    const early = database.transaction(async (queries) => {
      const orders = await IngestOrders.read(queries, scopeOf([sidecar.log]))
      t.equal(orders.isErased(sidecar.log, entry, CALLED_MS), false)
      await sidecar.store(queries, [{ user: ANN }])
      stored.resolve()
      await mayCommit.promise
    })
    await stored.promise
    const ordering = erasures.order({ user: ANN.toString('hex') }, 'vera')
    let isOrdered = false
    void ordering.then(() => {
      isOrdered = true
    })
    await waiting(database, 1)
    const late = database.transaction(async (queries) => {
      const orders = await IngestOrders.read(queries, scopeOf([sidecar.log]))
      return orders.isErased(sidecar.log, entry, CALLED_MS)
    })
    await waiting(database, 2)
    t.equal(isOrdered, false, 'the order waits for the ingest that began before')
    mayCommit.resolve()
    await early
    t.match(await ordering, { erased: 1 })
    t.equal(await late, true, 'the ingest that began after sees the order')
    t.strictSame(await left(database), { texts: [], users: [] })
  },
)

/** Resolves once so many transactions wait for the lock of orders. */
async function waiting(database: Database, count: number): Promise<void> {
  for (const endMs = Date.now() + 10_000; Date.now() < endMs; ) {
    const [row] = await database.rows<{ count: number }>(
      "select count(*) as count from pg_locks where locktype = 'advisory' and not granted",
    )
    if (row!.count >= count) return
  }
  throw new Error('nobody waits')
}

t.test('an entry is dropped until its log has passed the order, in the same transaction too', async (t) => {
  const { database, erasures, sidecar } = await open(t)
  const { order } = await erasures.order({ key_id: 'k' }, 'vera')
  const entry = { call_id: null, key_id: 'k', created_at: new Date(CALLED_MS).toISOString(), user: null }
  const other = randomUUID()
  await database.transaction(async (queries) => {
    const orders = await IngestOrders.read(queries, scopeOf([sidecar.log, other]))
    t.equal(orders.isErased(sidecar.log, entry, CALLED_MS), true)
    t.equal(orders.isErased(sidecar.log, { ...entry, key_id: 'other' }, CALLED_MS), false)
    orders.pass(sidecar.log, order + 1)
    t.equal(orders.isErased(sidecar.log, entry, CALLED_MS), true, 'the log has passed no such order')
    orders.pass(sidecar.log, order)
    t.equal(orders.isErased(sidecar.log, entry, CALLED_MS), false)
    t.equal(orders.isErased(other, entry, CALLED_MS), true)
    await orders.save(queries)
  })
  const again = await database.transaction((queries) =>
    IngestOrders.read(queries, scopeOf([sidecar.log, other])),
  )
  t.equal(again.isErased(sidecar.log, entry, CALLED_MS), false)
  t.equal(again.isErased(other, entry, CALLED_MS), true)
})

/** What a sidecar and its log are, and whether an order that the log has not passed is closed. */
const HOLDS: readonly [what: string, sidecar: string, log: string | null, closed: boolean][] = [
  ['a sidecar that is connected', "state = 'connected'", "state = 'open'", false],
  ['one that does not answer', "state = 'silent'", "state = 'cut'", false],
  ['one that has sent no log', "state = 'connected'", null, false],
  ['one that is gone', "state = 'gone'", "state = 'cut'", true],
  ['one that left', "state = 'left'", "state = 'closed'", true],
  ['one that left and may come back', "state = 'left', public_key = 'k'", "state = 'closed'", false],
  ['one that left without the end of its log', "state = 'left'", "state = 'open'", false],
  ['one whose forked log is erased', "state = 'connected', acked_rev = 99", "state = 'forked'", true],
  ['one whose forked log is not erased', "state = 'connected', acked_rev = 0", "state = 'forked'", false],
]
const UNTOUCHED = 'public_key = null, acked_rev = 0'

t.test('an order is open while a sidecar may have what it selects', async (t) => {
  const { owner, database, erasures, sidecar } = await open(t)
  await sidecar.begin()
  const [head] = await run(owner, 'select * from sidegate.log_head where sidecar is not null')
  for (const [what, state, log, closed] of HOLDS) {
    await run(owner, 'delete from sidegate.erase_order')
    await run(owner, `update sidegate.sidecar set ${UNTOUCHED}`)
    await run(owner, `update sidegate.sidecar set ${state}`)
    const place = log === null ? "sidecar = 'another'" : `sidecar = 'first', ${log}`
    await run(owner, `update sidegate.log_head set ${place} where log_id = $1`, [head.log_id])
    await erasures.order({ key_id: 'k' }, 'vera')
    await erasures.maintain()
    const [order] = await database.rows<{ done: boolean }>('select done from erase_order')
    t.equal(order?.done, closed, `${closed ? 'closed' : 'open'} with ${what}`)
  }
})

t.test('an order is closed when every log has passed it, or its sidecar is forgotten', async (t) => {
  const { owner, database, erasures, sidecar } = await open(t)
  await sidecar.begin()
  const second = new SidecarRows(database, owner, 'second')
  await second.begin()
  const { order } = await erasures.order({ key_id: 'k' }, 'vera')
  const isDone = async () => {
    await erasures.maintain()
    return (await database.rows<{ done: boolean }>('select done from erase_order'))[0]?.done
  }
  await database.rows('insert into erase_passed values ($1, $2)', [order, sidecar.log])
  t.equal(await isDone(), false)
  await run(owner, "delete from sidegate.sidecar where id = 'second'")
  t.equal(await isDone(), true)
})

t.test('a bounded number of orders is open; the next one is refused with the remedy', async (t) => {
  const { owner, erasures } = await open(t)
  await run(
    owner,
    `insert into sidegate.erase_order (rev, id, at, actor, selection, worked_at)
     select n, gen_random_uuid(), now(), 'vera', '{"key_id": "k"}', now() from generate_series(1001, $1) n`,
    [1000 + MAXIMUM_OPEN_ORDERS],
  )
  await t.rejects(erasures.order({ key_id: 'k' }, 'vera'), {
    code: 'conflict',
    message: /declare them gone/,
  })
})
