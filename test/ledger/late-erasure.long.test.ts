// A log that comes back after an order of erasure is done, on an old data folder: nothing that the
// order selects stays stored.

import t, { type Test } from 'tap'
import { checkArrival } from '../../src/audit/arrival.ts'
import { atOnce } from '../../src/core/steps.ts'
import type { ShippedEntry } from '../../src/fleet/shipping.ts'
import type { OrderSelection } from '../../src/keys/erase-order.ts'
import { COLUMN_READER } from '../../src/ledger/entry-columns.ts'
import { Erasures } from '../../src/ledger/erasures.ts'
import { LATE_WINDOW_ENTRIES } from '../../src/ledger/late-erasure.ts'
import { type Shipment, ShippedLogs } from '../../src/ledger/shipped-logs.ts'
import { requestDraft } from '../audit/drafts.ts'
import { SidecarLog } from '../audit/sidecar-log.ts'
import { id } from '../store/fixture.ts'
import { openDatabase, partsOn, SidecarRows } from './fixture.ts'
import { fleetDatabase, run } from './postgres.ts'

t.setTimeout(120_000)

const HOUR_MS = 3_600_000
const OLD = id(1)
const NEW = id(2)
const ANN = Buffer.alloc(16, 1).toString('hex')
const TEXT = '{"request":1}'

const callOf = (key_id: string, call?: string) =>
  requestDraft({ key_id, ...(call !== undefined && { id: call }) })
const erasureOf = (order: number) =>
  ({ type: 'erase', selection: { key_id: 'k' }, erased: 1, order, actor: 'gateway' }) as const

/** A hub with one sidecar, which is registered. */
async function open(t: Test) {
  const { owner, hub } = await fleetDatabase()
  const database = openDatabase(t, hub)
  const parts = partsOn(database)
  await parts.log.open()
  const erasures = new Erasures({ ...parts, random: (length) => Buffer.alloc(length, 3) })
  const logs = new ShippedLogs(database, 'clear')
  const ship = async (log: SidecarLog, from = 0, to = log.entries.length) =>
    (await logs.store([shipment(log.log, log.entries.slice(from, to))]))[0]!
  const rowsIn = async (table: string, log: string) =>
    (
      await database.rows<{ seq: number }>(`select seq from ${table} where log_id = $1 order by seq`, [log])
    ).map(({ seq }) => seq)
  const left = async (log = OLD) => ({
    texts: await rowsIn('exchange', log),
    users: await rowsIn('entry_user', log),
  })
  /** Makes an order that is done because a new log of the sidecar passes it. */
  const orderDone = async (selection: OrderSelection) => {
    const { order } = await erasures.order(selection, 'vera')
    const fresh = new SidecarLog(NEW, Date.now()).add(erasureOf(order))
    await ship(fresh)
    await erasures.maintain()
    t.match(await database.rows('select done from erase_order where rev = $1', [order]), [{ done: true }])
    return order
  }
  await new SidecarRows(database, owner, 'one').register()
  return { owner, database, logs, erasures, ship, left, orderDone }
}

function shipment(log: string, entries: readonly ShippedEntry[]): Shipment {
  const checked = atOnce(checkArrival(log, entries, COLUMN_READER))
  if ('reason' in checked) throw new Error(checked.reason)
  return { log, name: 'shop/one', sidecar: 'one', entries: checked, beginning: entries[0]!.before }
}

const SELECTIONS: readonly OrderSelection[] = [
  { key_id: 'k' },
  { request_id: 'call-1' },
  { user: ANN },
  { before: '2026-03-02T00:00:00.000Z' },
]
for (const selection of SELECTIONS)
  t.test(`an older log stores nothing that a done order selects: ${Object.keys(selection)}`, async (t) => {
    const { ship, left, orderDone } = await open(t)
    await orderDone(selection)
    const created_at = '2026-03-01T00:00:00.000Z'
    const old = new SidecarLog(OLD, Date.now() - HOUR_MS)
      .add(requestDraft({ id: 'call-1', key_id: 'k', created_at }), TEXT, 'ann')
      .add(requestDraft({ id: 'call-2', key_id: 'other', created_at: '2026-03-03T00:00:00.000Z' }), TEXT)
    t.match(await ship(old), { added: 3 })
    t.strictSame(await left(), { texts: [2], users: [] })
  })

t.test('what was sealed after a done order is stored until its log says it was erased', async (t) => {
  const { ship, left, database, orderDone } = await open(t)
  const order = await orderDone({ key_id: 'k' })
  const old = new SidecarLog(OLD, Date.now() + HOUR_MS)
    .add(callOf('k'), TEXT, 'ann')
    .add(callOf('other'), TEXT, 'ann')
  await ship(old)
  t.strictSame(await left(), { texts: [1, 2], users: [1, 2] })
  old.add(callOf('k'), TEXT, 'ann').add(erasureOf(order)).add(callOf('k'), TEXT, 'ann')
  t.match(await ship(old, 3), { added: 3 })
  t.strictSame(await left(), { texts: [2, 5], users: [2, 5] }, 'in the shipment, and stored before')
  t.match(await database.rows('select from erase_passed where rev = $1 and log_id = $2', [order, OLD]), {
    length: 1,
  })
  t.match(await ship(old, 3), { added: 0 }, 'sent again')
  t.strictSame(await left(), { texts: [2, 5], users: [2, 5] })
})

t.test('a log that applies an order twice keeps nothing from between', async (t) => {
  const { ship, left, erasures } = await open(t)
  const { order } = await erasures.order({ user: ANN }, 'vera')
  const log = new SidecarLog(OLD, Date.now())
    .add(callOf('k'), TEXT, 'ann')
    .add(erasureOf(order))
    .add(callOf('k'), TEXT, 'ann')
  await ship(log)
  t.strictSame(await left(), { texts: [3], users: [3] })
  await ship(log.add(erasureOf(order)).add(callOf('k'), TEXT, 'ann'), 4)
  t.strictSame(await left(), { texts: [5], users: [5] })
})

t.test('another log keeps what the order does not reach', async (t) => {
  const { ship, left, orderDone } = await open(t)
  const order = await orderDone({ key_id: 'k' })
  const other = new SidecarLog(id(3), Date.now() + HOUR_MS).add(callOf('k'), TEXT)
  await ship(other)
  await ship(new SidecarLog(OLD, Date.now() + HOUR_MS).add(callOf('k'), TEXT).add(erasureOf(order)))
  t.strictSame(await left(other.log), { texts: [1], users: [] })
  t.strictSame(await left(), { texts: [], users: [] })
})

t.test('a long log is erased in several transactions, and all of it', async (t) => {
  const { ship, left, orderDone } = await open(t)
  const order = await orderDone({ key_id: 'k' })
  const old = new SidecarLog(OLD, Date.now() + HOUR_MS).add(callOf('k'), TEXT)
  for (let count = 1; count < LATE_WINDOW_ENTRIES; count++) old.add(callOf('other'))
  await ship(old.add(callOf('k'), TEXT, 'ann').add(callOf('other'), TEXT))
  t.equal((await left()).texts.length, 3)
  await ship(old.add(erasureOf(order)), LATE_WINDOW_ENTRIES + 3)
  t.strictSame(await left(), { texts: [LATE_WINDOW_ENTRIES + 2], users: [] })
})

t.test('an order that was done long ago does not keep exchanges away', async (t) => {
  const { owner, ship, left, orderDone } = await open(t)
  const order = await orderDone({ key_id: 'k' })
  await run(owner, "update sidegate.erase_order set at = now() - interval '401 days'")
  const old = new SidecarLog(OLD, Date.now() - 500 * 24 * HOUR_MS).add(callOf('k'), TEXT)
  await ship(old)
  t.strictSame(await left(), { texts: [1], users: [] })
  await ship(old.add(erasureOf(order)), 2)
  t.strictSame(await left(), { texts: [], users: [] }, 'its own erasure does')
})
