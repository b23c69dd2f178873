// The calls at a time that a sidecar may run of one limit of the hub for one subject. Knows no
// sockets and no timers.

import type { Milliseconds } from '../core/clock.ts'
import { type CountedSubject, SHARE_MS, type SlotAsk, type SlotGrant } from './lease-protocol.ts'
import { ShareRounds, UNUSED_MS } from './share-rounds.ts'

/** A place that is unused for so long is given back: sooner than the calls elsewhere give up. */
const IDLE_MS: Milliseconds = 50
/** The same while so much of the limit is left that no call elsewhere waits for it. */
const IDLE_WHEN_AMPLE_MS: Milliseconds = 1500
/**
 * Part of the limit beyond which enough is left. All that heard so when they last asked have the
 * rest of it at most, so what they keep without a call does not hold back the calls of the others.
 */
const AMPLE = 3 / 4
/** The hub hears of places that are used when this part of their time is left. */
const RENEWED_AT = 1 / 2
/** Places without a call are not kept when their time is over so soon. */
const LATEST_REPORT_MS: Milliseconds = 5000
/** Time for which the hub's word on other sidecars is believed. */
const OTHERS_MS: Milliseconds = 60_000
/** Time for which the hub's word is believed when it knows a higher limit than the rule here. */
const OLD_LIMIT_MS: Milliseconds = 250
/** Time after which a call that found no place asks again. */
const AGAIN_MS: Milliseconds = 40

export class HubSlots implements CountedSubject {
  readonly count: string
  readonly subject: string
  /** The calls at a time that this sidecar runs without a hub. */
  share = 0
  #limit = 0
  /** The limit that the hub knew at the newest answer. */
  #heardLimit = 0
  #running = 0
  #heardMs: Milliseconds = Number.NEGATIVE_INFINITY
  /** Calls that run at most after one begins; fewer than run when the limit was lowered. */
  #size = 0
  /** Places that count for this sidecar at the hub: those of calls that run, and kept ones. */
  #counted = 0
  #endMs: Milliseconds = Number.NEGATIVE_INFINITY
  #lifeMs: Milliseconds = 0
  /** When all places were last used. */
  #fullMs: Milliseconds = Number.NEGATIVE_INFINITY
  #usedMs: Milliseconds = Number.NEGATIVE_INFINITY
  readonly #rounds = new ShareRounds()
  #idleMs: Milliseconds = IDLE_MS
  #fullUntilMs: Milliseconds = Number.NEGATIVE_INFINITY
  #isMonitored = false
  /** Places that other sidecars had at the newest answer. */
  #others = 0
  #sent: { readonly need: number; readonly held: number; readonly atMs: Milliseconds } | null = null
  /** The hub is to hear of the places, because an answer was lost. */
  #isDoubted = false

  constructor({ count, subject }: CountedSubject) {
    this.count = count
    this.subject = subject
  }

  get running(): number {
    return this.#running
  }

  /** Begins a call if there is a place. @returns whether it has begun */
  begin(limit: number, nowMs: Milliseconds): boolean {
    this.#limit = limit
    this.#isMonitored = false
    const isLowered = limit < this.#heardLimit && nowMs - this.#heardMs >= OLD_LIMIT_MS
    const size = nowMs < this.#endMs && !isLowered ? this.#size : 0
    if (this.#running >= Math.min(size, limit)) return false
    this.#start(nowMs)
    return true
  }

  /** Whether the hub just had no place, so that there is no use in asking again yet. */
  isFull(nowMs: Milliseconds): boolean {
    return nowMs < this.#fullUntilMs
  }

  /** Whether a place is without a call that calls elsewhere may wait for. */
  get isScarce(): boolean {
    return this.#counted > this.#running && this.#idleMs < IDLE_WHEN_AMPLE_MS
  }

  /** Begins a call without a hub, as far as its share reaches. @returns whether it has begun */
  beginWithout(nowMs: Milliseconds, isAlone: boolean, amount: number): boolean {
    const isHeard = nowMs - this.#heardMs < SHARE_MS
    const most = isAlone ? amount : isHeard ? this.share : 0
    if (this.#running >= most) return false
    this.#start(nowMs)
    return true
  }

  /** Begins a call that no limit holds back. @returns whether there is a place for it */
  monitor(limit: number, nowMs: Milliseconds): boolean {
    this.#isMonitored = true
    const others = nowMs - this.#heardMs < OTHERS_MS ? this.#others : 0
    const isWithin = this.#running + others < limit
    this.#start(nowMs)
    return isWithin
  }

  end(nowMs: Milliseconds): void {
    if (this.#running >= this.#size) this.#fullMs = nowMs
    this.#running--
    this.#usedMs = nowMs
  }

  /** The process ends: places without a call are not kept any longer, nor is the share. */
  giveBack(): void {
    this.#fullMs = Number.NEGATIVE_INFINITY
    this.#usedMs = Number.NEGATIVE_INFINITY
    this.share = 0
  }

  isDue(nowMs: Milliseconds): boolean {
    if (this.#isDoubted || (this.#isMonitored && this.#running !== this.#counted)) return true
    if (this.#isUnused(nowMs)) {
      if (this.share > 0) return true
    } else if (this.#rounds.isDue(nowMs)) return true
    if (this.#counted > this.#running && nowMs - this.#fullMs >= this.#idleMs) return true
    return this.#running > 0 && this.#endMs - nowMs < this.#lifeMs * RENEWED_AT
  }

  /** Whether nothing of it counts any more, here and at the hub. */
  isOver(nowMs: Milliseconds): boolean {
    return this.#isUnused(nowMs) && this.share === 0 && this.#isEmpty
  }

  /** Whether something may become due without a call. */
  isActive(): boolean {
    return this.#rounds.isSoon || !this.#isEmpty
  }

  /**
   * What a request says and asks. Places without a call are given back, and the share is kept.
   * @param waiting calls that wait for a place
   */
  compose(waiting: number, nowMs: Milliseconds): { readonly ask: SlotAsk; readonly share: number | null } {
    const { count, subject } = this
    // The hub refuses to hear of more.
    const need = Math.min(waiting, this.#limit)
    const ends = need === 0 && this.#isUnused(nowMs)
    if (ends) {
      this.share = 0
      this.#rounds.end()
    }
    const isIdle = this.#isMonitored || nowMs - this.#fullMs >= this.#idleMs
    const isKept = (need > 0 || !isIdle) && this.#endMs - nowMs > LATEST_REPORT_MS
    const kept = isKept ? Math.min(this.#size, this.#limit) : 0
    const held = Math.max(this.#running, kept)
    // From now on the others count as given back.
    this.#size = Math.min(this.#size, held)
    this.#counted = held
    this.#sent = { need, held, atMs: nowMs }
    // Without a share it is left out: a share of 0 and no call is what a sidecar says at its end.
    return { ask: { count, subject, need, held }, share: this.share > 0 || ends ? this.share : null }
  }

  /** Takes the answer; null when the hub refused the ask. */
  take(grant: SlotGrant | null, hubMs: Milliseconds, nowMs: Milliseconds): void {
    const sent = this.#sent
    this.#sent = null
    if (sent === null) return
    this.#isDoubted = false
    if (grant === null) {
      this.#rounds.end()
      return
    }
    const { size, expires_at, left, limit } = grant
    this.#rounds.heard(grant.share !== this.share, nowMs)
    this.share = grant.share
    this.#heardMs = nowMs
    this.#heardLimit = limit
    this.#idleMs = left > limit * AMPLE ? IDLE_WHEN_AMPLE_MS : left > 0 ? IDLE_MS : 0
    if (Math.min(size, this.#limit) < sent.held + sent.need) this.#fullUntilMs = nowMs + AGAIN_MS
    this.#others = Math.max(0, limit - left - size)
    this.#size = size
    this.#counted = Math.max(sent.held, size)
    this.#lifeMs = expires_at - hubMs
    this.#endMs = sent.atMs + this.#lifeMs
  }

  lost(): void {
    if (this.#sent !== null) this.#isDoubted = true
    this.#sent = null
  }

  #start(nowMs: Milliseconds): void {
    this.#running++
    this.#usedMs = nowMs
    if (this.#running >= this.#size) this.#fullMs = nowMs
  }

  get #isEmpty(): boolean {
    return this.#running === 0 && this.#counted === 0 && this.#sent === null && !this.#isDoubted
  }

  #isUnused(nowMs: Milliseconds): boolean {
    return this.#running === 0 && nowMs - this.#usedMs >= UNUSED_MS
  }
}
