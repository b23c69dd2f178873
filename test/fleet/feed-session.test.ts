// What the events of one feed lead to, by table.

import t from 'tap'
import { FeedSession, type FeedSessionParts, type OrderTaker } from '../../src/fleet/feed-session.ts'
import { Freshness } from '../../src/fleet/freshness.ts'
import { KeySet } from '../../src/fleet/key-set.ts'
import { PolicySet } from '../../src/fleet/policy-set.ts'
import type { FeedEvent, Hello, Nack } from '../../src/fleet/protocol.ts'
import { NO_FLEET_STATE } from '../../src/keys/fleet-state.ts'
import { fleetKey, stateHashOf } from './fixture.ts'

const [A, B] = ['00000000-0000-4000-8000-00000000000a', '00000000-0000-4000-8000-00000000000b']
const clock = { now: () => 1_000_000, monotonic: () => 5000 }
const TIMES = { nowMs: clock.now(), receivedMs: 5000, openedMs: 4990 }
const { row } = fleetKey('a', 7)

const hello = (epoch: string, rev: number): Hello => {
  return { event: 'hello', epoch, rev, sidecar: 's', name: 'n', fleet_key: 'k' }
}
const beat = (rev: number, keys = [row]): FeedEvent => ({
  event: 'beat',
  t: 1,
  rev,
  state_hash: stateHashOf(keys),
})
const snapshot = (rev: number, keys = [row]): FeedEvent => ({
  event: 'snapshot',
  rev,
  keys,
  revoked: [],
  orders: [],
})
const NO_ORDERS: OrderTaker = { takeOrder() {}, takeOrders() {} }
const BYE: FeedEvent = { event: 'bye', reason: 'restart' }

const sessionOf = (keys: KeySet, more: Partial<FeedSessionParts> = {}): FeedSession => {
  const freshness = new Freshness(clock, 60, NO_FLEET_STATE)
  return new FeedSession({
    keys,
    policy: new PolicySet(),
    freshness,
    orders: NO_ORDERS,
    asksForAll: false,
    unknown: [],
    ...more,
  })
}

interface Case {
  readonly asksForAll?: boolean
  readonly events: readonly FeedEvent[]
  /** End of the last event, and what is applied after it. */
  readonly end: null | 'calm' | 'all keys' | RegExp
  readonly rev: number
  readonly epoch?: string
  readonly isFresh?: boolean
}

/** A sidecar at revision 7 of A, with one key. */
const CASES: Readonly<Record<string, Case>> = {
  'a heartbeat of our revision': { events: [hello(A, 7), beat(7)], end: null, rev: 7, isFresh: true },
  'a heartbeat of a later revision': { events: [hello(A, 9), beat(9)], end: null, rev: 9, isFresh: true },
  'a heartbeat of a later revision with another state': {
    events: [hello(A, 9), beat(9, [])],
    end: 'all keys',
    rev: 7,
  },
  'another state after all keys': {
    asksForAll: true,
    events: [hello(A, 9), snapshot(9), beat(9, [])],
    end: /differ from those of the hub/,
    rev: 9,
  },
  'a heartbeat of an earlier revision': { events: [hello(A, 7), beat(6)], end: /revision 6/, rev: 7 },
  'a hub that is behind': {
    events: [hello(A, 6)],
    end: /revision 6 and this gateway at 7.*new-epoch/,
    rev: 7,
  },
  'all keys of a hub that is behind': { events: [hello(A, 7), snapshot(6)], end: /new-epoch/, rev: 7 },
  'another epoch before its keys': { events: [hello(B, 2), beat(2)], end: null, rev: 7 },
  'another epoch, of a lower revision': {
    events: [hello(B, 2), beat(2), snapshot(2), beat(2)],
    end: null,
    rev: 2,
    epoch: B,
    isFresh: true,
  },
  'a change of another epoch before its keys': {
    events: [hello(B, 9), { event: 'key', rev: 9, id: 'a', op: 'del', body: null }],
    end: null,
    rev: 7,
  },
  'all were asked for, and heartbeats come first': {
    asksForAll: true,
    events: [hello(A, 9), beat(9)],
    end: null,
    rev: 7,
  },
  'no hello': { events: [beat(7)], end: /without hello/, rev: 7 },
  'hello twice': { events: [hello(A, 7), hello(A, 8)], end: /twice/, rev: 7 },
  bye: { events: [hello(A, 7), beat(7), BYE], end: 'calm', rev: 7, isFresh: true },
}

for (const [name, { asksForAll = false, events, end, rev, epoch = A, isFresh = false }] of Object.entries(
  CASES,
))
  t.test(name, async (t) => {
    const keys = new KeySet({ state: { ...NO_FLEET_STATE, epoch: A, rev: 7 }, keys: [row], tombstones: [] })
    const freshness = new Freshness(clock, 60, NO_FLEET_STATE)
    const session = sessionOf(keys, { freshness, asksForAll })
    const outcomes = events.map((event) => session.take(event, TIMES))
    t.ok(
      outcomes.slice(0, -1).every((one) => one.end === null),
      'goes on',
    )
    const last = outcomes.at(-1)?.end ?? null
    if (end === null) t.equal(last, null)
    else if (end === 'calm') t.same(last, { problem: null, needsSnapshot: false })
    else if (end === 'all keys') t.same(last, { problem: null, needsSnapshot: true })
    else t.match(last?.problem, end)
    t.same(keys.position, { epoch, rev })
    t.equal(session.isFresh, isFresh)
    t.equal(freshness.isStale, !isFresh)
  })

t.test('only what is applied of this history may be acknowledged', async (t) => {
  const keys = new KeySet({ state: { ...NO_FLEET_STATE, epoch: A, rev: 7 }, keys: [row], tombstones: [] })
  const session = sessionOf(keys)
  t.equal(session.isCurrent, false)
  session.take(hello(B, 2), TIMES)
  t.equal(session.isCurrent, false)
  session.take(snapshot(2), TIMES)
  t.equal(session.isCurrent, true)
})

t.test('events that are not in force are remembered, at most a hundred, until all keys come', async (t) => {
  const keys = new KeySet({ state: { ...NO_FLEET_STATE, epoch: A, rev: 7 }, keys: [row], tombstones: [] })
  const unknown: Nack[] = []
  const session = sessionOf(keys, { unknown })
  session.take(hello(A, 7), TIMES)
  for (let n = 0; n < 150; n++)
    session.take({ event: 'unknown', name: 'rule', rev: null, reason: `reason ${n}` }, TIMES)
  t.equal(unknown.length, 100)
  t.same(unknown.at(-1), { rev: 7, reason: 'event rule: reason 149' })
  session.take(snapshot(8), TIMES)
  t.same(unknown, [])
})

t.test('an order is handed on once, and advances the revision', async (t) => {
  const keys = new KeySet({ state: { ...NO_FLEET_STATE, epoch: A, rev: 7 }, keys: [row], tombstones: [] })
  const taken: unknown[] = []
  const session = sessionOf(keys, {
    orders: {
      takeOrder: ({ rev }) => taken.push(rev),
      takeOrders: (orders, isOther) => taken.push({ orders, isOther }),
    },
  })
  const order = (rev: number): FeedEvent => ({ event: 'erase', rev, id: 'o', selection: { key_id: 'a' } })
  session.take(hello(A, 8), TIMES)
  t.equal(session.take(order(8), TIMES).isNews, true)
  t.equal(session.take(order(8), TIMES).isNews, false)
  t.equal(keys.position?.rev, 8)
  session.take(snapshot(9), TIMES)
  t.strictSame(taken, [8, { orders: [], isOther: false }])
})
