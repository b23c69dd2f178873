// One limit of the hub for one subject at a sidecar: covers what calls ask from leases, then from
// the share, and says what the hub is to hear. Knows no sockets and no timers.

import type { Milliseconds } from '../core/clock.ts'
import type { ON_HUB_LOSS } from '../core/fleet-section.ts'
import { leaseLife, leaseTime } from '../policy/lease.ts'
import { type HubTime, LeasedLimit, type Taken } from '../policy/leased-limit.ts'
import { bucketAt, bucketLength } from '../policy/limit.ts'
import {
  type Ask,
  type CountedSubject,
  type LeaseGrant,
  type Settle,
  SHARE_MS,
  type ShareTerm,
} from './lease-protocol.ts'
import { ShareRounds, UNUSED_MS } from './share-rounds.ts'

/** Asks that follow each other within this time double the size of a lease. */
const SOON_MS: Milliseconds = 1000
/** A lease that is unused for so long is given back. */
const IDLE_MS: Milliseconds = 1500
/** The same when little is left of the limit. */
const IDLE_WHEN_SCARCE_MS: Milliseconds = 50
/** Part of the limit below which little is left. */
const SCARCE = 1 / 4
/** Part of a lease, or of its life, that is left when the next one is asked for. */
const LOW = 1 / 4
/** Time between reports that nobody waits for. */
const REPORT_MS: Milliseconds = 1000
/** Time for which the answer that nothing is left is believed. */
const REFUSED_MS: Milliseconds = 25
/** Time after which a call that no hub answers may try again. */
export const RETRY_AWAY_MS: Milliseconds = 1000
/** Calls of whose needs the average is, about. */
const AVERAGED_CALLS = 8
/** Buckets that a lost answer may have lent in; a bucket that lives shorter is soon over. */
const MAXIMUM_DOUBTED = 3

/** What a sidecar does with a call that neither a lease nor the hub covers. */
export type OnHubLoss = (typeof ON_HUB_LOSS)[number]

/** Monotonic time, and the time of the hub. */
export interface Moment {
  readonly nowMs: Milliseconds
  readonly hub: HubTime
}

/** What a call asks of the limit. */
export interface LimitDemand {
  readonly limit: number
  /** At least 1. */
  readonly need: number
  /** Taken as far as the leases reach. */
  readonly expected: number
}

/** What covers a limit of a call, or why nothing does. */
export const COVER_SOURCES = ['lease', 'share', 'local', 'monitored', 'refused', 'away'] as const

/** What a call got. */
export interface Cover {
  /** `away`: no hub answers, and what this sidecar may use without one is used. */
  readonly source: (typeof COVER_SOURCES)[number]
  readonly taken: Taken
  /** Whether the call is within the limit. A limit that monitors lets it pass in any case. */
  readonly isWithin: boolean
  /** Left of the limit, as far as it is known. */
  readonly remaining: number
  readonly resetMs: Milliseconds
  readonly retryAfterMs: Milliseconds
}

/**
 * Estimates what other sidecars used of a limit since the hub last answered: as much as in the time
 * before that answer, and no more than that.
 */
class OthersUse {
  #used = 0
  #added = 0
  /** Null before the first answer. */
  #heardMs: Milliseconds | null = null
  #betweenMs: Milliseconds = 1

  /** @param used what the others have in their buckets */
  heard(used: number, nowMs: Milliseconds): void {
    this.#added = this.#heardMs === null ? 0 : Math.max(0, used - this.#used)
    this.#used = used
    this.#betweenMs = Math.max(1, nowMs - (this.#heardMs ?? nowMs))
    this.#heardMs = nowMs
  }

  since(nowMs: Milliseconds): number {
    if (this.#added === 0 || this.#heardMs === null) return 0
    return this.#added * Math.min(1, (nowMs - this.#heardMs) / this.#betweenMs)
  }
}

export class HubLimit implements CountedSubject {
  readonly count: string
  readonly subject: string
  readonly leased: LeasedLimit
  /** What calls need on average. */
  #usual = 0
  #averagedCalls = 0
  /** Tokens an answer is expected to have, as QuotaWindow. */
  typicalAnswer: number | null = null
  /** What the newest answer says is left; null before one. */
  #left: number | null = null
  #limit = 0
  #resetAtMs: Milliseconds = 0
  readonly #others = new OthersUse()
  #isMonitored = false
  #heardMs: Milliseconds = Number.NEGATIVE_INFINITY
  #usedMs: Milliseconds = Number.NEGATIVE_INFINITY
  #reportedMs: Milliseconds = Number.NEGATIVE_INFINITY
  #askedMs: Milliseconds = Number.NEGATIVE_INFINITY
  #size = 0
  readonly #rounds = new ShareRounds()
  /** Until then calls that need more than is left are refused without asking; monotonic. */
  #refusedUntilMs: Milliseconds = Number.NEGATIVE_INFINITY
  /** What was sent and is not answered yet. */
  #sent: {
    readonly settles: readonly Settle[]
    readonly need: number
    /** What this sidecar had in its buckets. */
    readonly held: number
    readonly atMs: Milliseconds
  } | null = null

  constructor({ count, subject }: CountedSubject, windowMs: Milliseconds) {
    this.count = count
    this.subject = subject
    this.leased = new LeasedLimit(windowMs)
  }

  get isScarce(): boolean {
    return this.#left !== null && this.#left < this.#limit * SCARCE
  }

  /** What counts of the limit over the fleet, as the hub last said; null before that. */
  get use(): { readonly used: number; readonly resetAtMs: Milliseconds } | null {
    return this.#left === null ? null : { used: this.#limit - this.#left, resetAtMs: this.#resetAtMs }
  }

  /** What this process itself has used, and when that counts no more. */
  useAlone({ nowMs, hub }: Moment): { readonly used: number; readonly resetAtMs: Milliseconds } {
    const used = this.leased.held(hub.earliestMs, nowMs)
    return { used, resetAtMs: this.leased.countsUntil ?? hub.latestMs }
  }

  /** Takes what the last process used in a bucket, which the hub may not have. */
  restore(limit: number, bucket: number, amount: number): void {
    this.#limit = limit
    this.leased.charge(bucket, amount)
  }

  /** A call comes that needs so much. */
  called(need: number): void {
    this.#averagedCalls = Math.min(AVERAGED_CALLS, this.#averagedCalls + 1)
    this.#usual += (need - this.#usual) / this.#averagedCalls
  }

  /** Covers a call from leases, or by what the hub said a moment ago; null when it must ask. */
  coverNow(demand: LimitDemand, moment: Moment): Cover | null {
    this.#limit = demand.limit
    this.#isMonitored = false
    this.#usedMs = moment.nowMs
    const taken = this.leased.take(demand.need, moment.nowMs)
    if (taken !== null)
      return this.#covered('lease', [...taken, ...this.#takeExpected(demand, moment)], moment)
    if (moment.nowMs < this.#refusedUntilMs && (this.#left ?? 0) < demand.need)
      return this.#refused('refused', moment)
    return null
  }

  /** Covers a call that has waited: after an answer of the hub, or without one. */
  coverWithout(demand: LimitDemand, moment: Moment, onHubLoss: OnHubLoss): Cover {
    const now = this.coverNow(demand, moment)
    if (now !== null) return now
    const { need, limit } = demand
    const { hub, nowMs } = moment
    if (onHubLoss === 'share' && nowMs - this.#heardMs < SHARE_MS) {
      const taken = this.leased.takeShare(need, hub, nowMs)
      if (taken !== null) return this.#covered('share', taken, moment)
    }
    const held = this.leased.held(hub.earliestMs, nowMs)
    if (onHubLoss === 'local' && held + need <= limit)
      return this.#covered('local', this.leased.spend(need, this.#bucket(hub.latestMs)), moment)
    const most = { share: this.leased.share, local: limit, refuse: 0 }[onHubLoss]
    const remaining = this.leased.left(nowMs) + Math.max(0, most - held)
    return { ...this.#refused('away', moment), remaining, retryAfterMs: RETRY_AWAY_MS }
  }

  /** The hub lent less than calls need. */
  refuse(moment: Moment): Cover {
    return this.#refused('refused', moment)
  }

  /** Counts a call that no limit holds back. */
  monitor({ need, limit }: LimitDemand, moment: Moment): Cover {
    this.#limit = limit
    this.#usedMs = moment.nowMs
    this.#isMonitored = true
    // What the hub last counted counts no more.
    if (moment.hub.earliestMs >= this.#resetAtMs) this.#left = null
    const left = this.#left ?? limit - this.leased.held(moment.hub.earliestMs, moment.nowMs)
    const isWithin = need <= left - this.#others.since(moment.nowMs)
    const taken = this.leased.spend(need, this.#bucket(moment.hub.latestMs))
    this.#left = Math.max(0, left - need)
    return { ...this.#covered('monitored', taken, moment), isWithin }
  }

  /** Whether the hub is to hear of this limit although no call waits. */
  isDue({ nowMs, hub }: Moment): boolean {
    const idleMs = this.isScarce ? IDLE_WHEN_SCARCE_MS : IDLE_MS
    if (nowMs - this.#usedMs >= idleMs) this.leased.giveBack()
    this.leased.prune(hub.earliestMs)
    if (this.#isUnused(nowMs)) {
      if (this.leased.share > 0) return true
    } else if (this.#rounds.isDue(nowMs)) return true
    if (this.leased.isReported(nowMs)) return false
    const reportMs = this.#isMonitored ? Math.min(REPORT_MS, leaseLife(this.leased.windowMs)) : REPORT_MS
    return this.isScarce || nowMs - this.#reportedMs >= reportMs
  }

  /** Whether nothing of it counts any more, here and at the hub. */
  isOver({ nowMs }: Moment): boolean {
    return this.#isUnused(nowMs) && this.leased.isEmpty && this.leased.share === 0 && this.#sent === null
  }

  /** Whether something may become due without a call. */
  isActive({ nowMs }: Moment): boolean {
    return this.#rounds.isSoon || this.leased.left(nowMs) > 0 || !this.leased.isReported(nowMs)
  }

  /** Whether a lease ends soon, or is nearly used, while calls come. */
  isLow({ nowMs }: Moment): boolean {
    const { endMs, windowMs } = this.leased
    if (endMs === null || this.isScarce || this.#sent !== null) return false
    return this.leased.left(nowMs) < this.#size * LOW || endMs - nowMs < leaseLife(windowMs) * LOW
  }

  /**
   * What a request says and asks.
   * @param demand of the calls that wait; of 0 to learn what is left, and for more when it is low
   */
  compose(
    { need, expected }: Omit<LimitDemand, 'limit'>,
    moment: Moment,
  ): { ask: Ask | null; settles: Settle[]; share: ShareTerm } {
    const { nowMs } = moment
    const { count, subject } = this
    const ends = need === 0 && this.#isUnused(nowMs)
    if (ends) {
      this.leased.share = 0
      this.#rounds.end()
    }
    const limit = this.#limit
    const settles = this.leased
      .report(nowMs)
      .map(({ bucket, amount }) => ({ count, subject, bucket, amount }))
    const isAsked = need > 0 || this.isLow(moment)
    const isSoon = nowMs - this.#askedMs < SOON_MS
    if (isAsked) this.#askedMs = nowMs
    this.#reportedMs = nowMs
    this.#sent = { settles, need, atMs: nowMs, held: this.leased.held(moment.hub.earliestMs, nowMs) }
    const want = Math.max(need + expected, isAsked && isSoon ? 2 * this.#size : 0)
    const ask = ends ? null : { count, subject, need: Math.min(need, limit), want: Math.min(want, limit) }
    return {
      ask,
      settles: settles.map((settle) => ({ ...settle, amount: Math.min(settle.amount, limit) })),
      share: {
        count,
        subject,
        share: this.leased.share,
        usual: Math.min(Math.ceil(this.#usual), limit),
      },
    }
  }

  /** Takes the answer to the last request; null when the hub refused what it says. */
  take(grant: LeaseGrant | null, hubMs: Milliseconds, moment: Moment): void {
    const sent = this.#sent
    this.#sent = null
    if (sent === null) return
    this.leased.reported(sent.settles, hubMs)
    if (grant === null) {
      this.#rounds.end()
      return
    }
    const { size, bucket, expires_at, left, limit, reset_at, share } = grant
    this.#heardMs = moment.nowMs
    this.#others.heard(limit - left - size - sent.held, moment.nowMs)
    this.#left = left
    this.#limit = limit
    this.#resetAtMs = reset_at
    this.#rounds.heard(share !== this.leased.share, moment.nowMs)
    this.leased.share = share
    if (size < sent.need) this.#refusedUntilMs = moment.nowMs + REFUSED_MS
    // A lease for a window that the rule no longer has is not used.
    if (size === 0 || bucket !== leaseTime(this.leased.windowMs, hubMs).bucket) return
    this.#size = size
    this.leased.add({ bucket, size, endMs: sent.atMs + expires_at - hubMs })
  }

  /** The answer was lost: what the hub has is not known, and it may have lent something. */
  lost({ hub, nowMs }: Moment): void {
    const sent = this.#sent
    this.#sent = null
    if (sent === null) return
    const { windowMs } = this.leased
    const first = leaseTime(windowMs, hub.earliestMs - (nowMs - sent.atMs)).bucket
    const last = leaseTime(windowMs, hub.latestMs).bucket
    const count = last - first + 1
    const doubted = count > MAXIMUM_DOUBTED ? [] : Array.from({ length: count }, (_, n) => first + n)
    this.leased.forgetReports(doubted)
  }

  /** The process ends: nothing is used any more. */
  end(): void {
    this.leased.giveBack()
    this.leased.share = 0
    this.#usedMs = Number.NEGATIVE_INFINITY
  }

  #takeExpected({ expected }: LimitDemand, { nowMs }: Moment): Taken {
    const reached = Math.min(expected, this.leased.left(nowMs))
    return reached > 0 ? (this.leased.take(reached, nowMs) ?? []) : []
  }

  #covered(source: Cover['source'], taken: Taken, moment: Moment): Cover {
    const resetMs = Math.max(0, this.#resetAtMs - moment.hub.latestMs)
    return { source, taken, isWithin: true, remaining: this.#remaining(moment), resetMs, retryAfterMs: 0 }
  }

  #refused(source: 'refused' | 'away', moment: Moment): Cover {
    const fitsMs = Math.max(1, this.#resetAtMs - moment.hub.latestMs)
    return {
      source,
      taken: [],
      isWithin: false,
      remaining: this.#remaining(moment),
      resetMs: fitsMs,
      retryAfterMs: fitsMs,
    }
  }

  #remaining({ nowMs, hub }: Moment): number {
    const known = this.#left ?? Math.max(0, this.leased.share - this.leased.held(hub.earliestMs, nowMs))
    return known + this.leased.left(nowMs)
  }

  #isUnused(nowMs: Milliseconds): boolean {
    return nowMs - this.#usedMs >= UNUSED_MS
  }

  #bucket(hubMs: Milliseconds): number {
    return bucketAt(bucketLength(this.leased.windowMs), hubMs)
  }
}
