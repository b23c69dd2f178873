// Applies the events of one feed to keys and policy, in order, hands on its orders, and decides
// when the feed is to end. Knows no sockets and no clock.

import type { Milliseconds } from '../core/clock.ts'
import type { BeatTimes, Freshness } from './freshness.ts'
import type { KeySet } from './key-set.ts'
import type { PolicyChange } from './policy-events.ts'
import type { PolicySet } from './policy-set.ts'
import type { Beat, Erase, FeedEvent, Hello, Nack, Snapshot, UnknownEvent } from './protocol.ts'

/** Refused events that are remembered; the newest ones count. */
const MAXIMUM_UNKNOWN_EVENTS = 100

/** Why a feed is to end, and how the next one begins. */
export interface FeedEnd {
  /** For people; null when nothing is wrong. */
  readonly problem: string | null
  /** Whether the next feed is to begin with all keys. */
  readonly needsSnapshot: boolean
}

/** The effect of an event. */
export interface Effect {
  /** Whether the hub is to receive an acknowledgement. */
  readonly isNews: boolean
  readonly end: FeedEnd | null
}

const NOTHING: Effect = { isNews: false, end: null }
const NEWS: Effect = { isNews: true, end: null }
const ends = (problem: string | null, needsSnapshot = false): Effect => ({
  isNews: false,
  end: { problem, needsSnapshot },
})

/** Times of an event: wall time, and monotonic times of its feed. */
export interface EventTimes extends Omit<BeatTimes, 't'> {
  readonly nowMs: Milliseconds
}

/** Takes the orders of a feed. */
export interface OrderTaker {
  takeOrder(order: Erase): void
  /** @param isOther whether the snapshot is of another history than the orders before */
  takeOrders(orders: Snapshot['orders'], isOther: boolean): void
}

export interface FeedSessionParts {
  readonly keys: KeySet
  readonly policy: PolicySet
  readonly freshness: Freshness
  readonly orders: OrderTaker
  /** Whether the feed was opened without a position. */
  readonly asksForAll: boolean
  /** Receives the events that are not in force, and loses them with all keys. */
  readonly unknown: Nack[]
}

export class FeedSession {
  readonly #keys: KeySet
  readonly #policy: PolicySet
  readonly #freshness: Freshness
  readonly #orders: OrderTaker
  #hello: Hello | null = null
  /** True when nothing of the hub counts before all keys. */
  #awaitsSnapshot = false
  #hadSnapshot = false
  #hadBeat = false
  readonly #unknown: Nack[]

  constructor({ keys, policy, freshness, orders, asksForAll, unknown }: FeedSessionParts) {
    this.#keys = keys
    this.#policy = policy
    this.#freshness = freshness
    this.#orders = orders
    this.#unknown = unknown
    this.#awaitsSnapshot = asksForAll
  }

  /** Whether a heartbeat of the feed was applied. */
  get isFresh(): boolean {
    return this.#hadBeat
  }

  /** Whether what is applied here is of the history of this hub. */
  get isCurrent(): boolean {
    return this.#hello !== null && !this.#awaitsSnapshot && this.#hello.epoch === this.#keys.position?.epoch
  }

  take(event: FeedEvent | UnknownEvent, times: EventTimes): Effect {
    if (event.event === 'bye') return ends(null)
    if (event.event === 'unknown') return this.#refuse(event)
    if (event.event === 'hello') return this.#greet(event)
    if (this.#hello === null) return ends('the hub began without hello')
    if (event.event === 'snapshot') return this.#replace(event, this.#hello.epoch, times.nowMs)
    if (this.#awaitsSnapshot) return NOTHING
    if (event.event === 'key') return this.#keys.change(event, times.nowMs) ? NEWS : NOTHING
    if (event.event === 'erase') return this.#order(event)
    if (event.event === 'beat') return this.#compare(event, times)
    return this.#changePolicy(event)
  }

  #greet(hello: Hello): Effect {
    if (this.#hello !== null) return ends('the hub sent hello twice')
    this.#hello = hello
    const { position } = this.#keys
    if (position?.epoch !== hello.epoch) this.#awaitsSnapshot = true
    else if (hello.rev < position.rev) return ends(describeLag(hello.rev, position.rev))
    return NOTHING
  }

  #replace(snapshot: Snapshot, epoch: string, nowMs: Milliseconds): Effect {
    const { position } = this.#keys
    const isSame = position?.epoch === epoch
    if (isSame && snapshot.rev < position.rev) return ends(describeLag(snapshot.rev, position.rev))
    if (!isSame) this.#freshness.forgetDelays()
    this.#orders.takeOrders(snapshot.orders, position !== null && !isSame)
    this.#keys.replace(epoch, snapshot, nowMs)
    this.#policy.replace(snapshot.policy, snapshot.rev)
    this.#awaitsSnapshot = false
    this.#hadSnapshot = true
    this.#unknown.length = 0
    return NEWS
  }

  #order(order: Erase): Effect {
    const { position } = this.#keys
    if (position === null || order.rev <= position.rev) return NOTHING
    this.#orders.takeOrder(order)
    this.#keys.advance(order.rev)
    return NEWS
  }

  /** What a change does to the policy comes in events of one revision. */
  #changePolicy(event: PolicyChange): Effect {
    const { position } = this.#keys
    if (position === null || event.rev < position.rev) return NOTHING
    this.#policy.change(event)
    this.#keys.advance(event.rev)
    return NEWS
  }

  /** A heartbeat counts when this sidecar has what the hub has at its revision. */
  #compare({ t, rev, state_hash }: Beat, { receivedMs, openedMs }: EventTimes): Effect {
    const { position } = this.#keys
    if (position === null) return NOTHING
    const stateHash = this.#keys.stateHash.with(this.#policy.stateHash).toString()
    if (rev < position.rev) return ends(describeLag(rev, position.rev))
    if (state_hash !== stateHash)
      return this.#hadSnapshot
        ? ends('the keys or rules of this gateway differ from those of the hub after all were sent', true)
        : ends(null, true)
    this.#freshness.applied({ t, receivedMs, openedMs })
    const isNews = rev > position.rev || !this.#hadBeat
    this.#hadBeat = true
    this.#keys.advance(rev)
    return isNews ? NEWS : NOTHING
  }

  #refuse({ name, rev, reason }: UnknownEvent): Effect {
    if (this.#unknown.length >= MAXIMUM_UNKNOWN_EVENTS) this.#unknown.shift()
    this.#unknown.push({ rev: rev ?? this.#keys.position?.rev ?? 0, reason: `event ${name}: ${reason}` })
    return NEWS
  }
}

const describeLag = (hubRev: number, rev: number): string =>
  `the hub is at revision ${hubRev} and this gateway at ${rev} of the same history, so it does not go back; if the database of the hubs was restored from a backup, run: sidegate hub migrate --new-epoch`
