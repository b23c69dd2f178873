// The orders of erasure that a sidecar has and has applied. Pure: takes the state that is kept, and
// returns what changes of it.

import { type EraseOrder, MAXIMUM_OPEN_ORDERS } from '../keys/erase-order.ts'
import type { KeptState } from '../keys/fleet-state.ts'

/** Applied orders that are remembered: a snapshot does not apply one of these again. */
const MAXIMUM_APPLIED_ORDERS = 2 * MAXIMUM_OPEN_ORDERS

/** The part of the kept state that is of orders. */
type Orders = Pick<KeptState, 'orders' | 'applied'>

/** Adds an order; null when it is known. */
export function withOrder({ orders, applied }: Orders, { rev, id, selection }: EraseOrder): Orders | null {
  if (applied.includes(id)) return null
  const at = orders.findIndex((one) => one.id === id)
  if (at < 0) return { orders: [...orders, { rev, id, selection }], applied }
  // A restored database has an order again.
  return orders[at]!.rev === rev ? null : { orders: orders.with(at, { rev, id, selection }), applied }
}

/** Takes the open orders of a snapshot. @param isOther whether it is of another history */
export function withSnapshot(before: Orders, orders: readonly EraseOrder[], isOther: boolean): Orders {
  // What was ordered before is still erased; its revision would name another order.
  const waiting = isOther ? before.orders.map((one) => ({ ...one, rev: null })) : before.orders
  return orders.reduce<Orders>((known, order) => withOrder(known, order) ?? known, {
    ...before,
    orders: waiting,
  })
}

/** Moves an order to those that were applied. */
export const withApplied = ({ orders, applied }: Orders, id: string): Orders => ({
  orders: orders.filter((one) => one.id !== id),
  applied: [...applied.filter((one) => one !== id), id].slice(-MAXIMUM_APPLIED_ORDERS),
})

/** Returns the newest revision up to which nothing waits. */
export const appliedRev = ({ orders }: Pick<Orders, 'orders'>, rev: number): number =>
  Math.min(rev, ...orders.map((one) => (one.rev === null ? rev : one.rev - 1)))
