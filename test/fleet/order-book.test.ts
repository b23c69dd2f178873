// Which orders of erasure a sidecar has, has applied, and may acknowledge.

import t from 'tap'
import { appliedRev, withApplied, withOrder, withSnapshot } from '../../src/fleet/order-book.ts'
import { MAXIMUM_OPEN_ORDERS } from '../../src/keys/erase-order.ts'

const NONE = { orders: [], applied: [] }
const order = (rev: number, id = `order ${rev}`) => ({ rev, id, selection: { key_id: 'a' } })

t.test('an order is taken once, and no more after it was applied', async (t) => {
  const taken = withOrder(NONE, order(3))!
  t.strictSame(taken.orders, [order(3)])
  t.equal(withOrder(taken, order(3)), null)
  const applied = withApplied(taken, 'order 3')
  t.strictSame(applied, { orders: [], applied: ['order 3'] })
  t.equal(withOrder(applied, order(3)), null)
})

t.test('the revision before the first order that waits may be acknowledged', async (t) => {
  t.equal(appliedRev(NONE, 9), 9)
  t.equal(appliedRev({ orders: [order(7), order(5)] }, 9), 4)
  t.equal(appliedRev({ orders: [{ ...order(5), rev: null }] }, 9), 9)
})

t.test('a snapshot brings what is open, and keeps what waits', async (t) => {
  const before = { orders: [order(5)], applied: ['order 3'] }
  const all = [order(3), order(5), order(6)]
  t.strictSame(withSnapshot(before, all, false).orders, [order(5), order(6)])
  const other = withSnapshot(before, [order(2, 'order 6')], true)
  t.strictSame(other.orders, [{ ...order(5), rev: null }, order(2, 'order 6')], 'of another history')
  t.strictSame(withSnapshot(before, [order(9, 'order 5')], true).orders, [order(9, 'order 5')])
})

t.test('a bounded number of applied orders is remembered, the newest ones', async (t) => {
  let known: ReturnType<typeof withApplied> = NONE
  for (let rev = 0; rev < 3 * MAXIMUM_OPEN_ORDERS; rev++) known = withApplied(known, String(rev))
  t.equal(known.applied.length, 2 * MAXIMUM_OPEN_ORDERS)
  t.equal(known.applied.at(-1), String(3 * MAXIMUM_OPEN_ORDERS - 1))
})
