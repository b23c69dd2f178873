// Keeps the usage of the last day in memory, minute by minute. Begins empty with the process; the
// caller gives the time.

import type { Milliseconds } from '../core/clock.ts'
import type { NanoUsd } from '../core/money.ts'
import { type UsageSeries, type UsageStep, usageSeries } from '../core/usage-series.ts'
import { type EndedCall, RecentCalls, type RecentSummary, SLICE_MS } from './recent-calls.ts'

/** Minutes that are kept, the current one included. */
export const RING_MINUTES = 1440
const MINUTE_SECONDS = 60
const MINUTE_MS: Milliseconds = MINUTE_SECONDS * 1000
const HOUR_MS: Milliseconds = 60 * MINUTE_MS
/** In the place of a minute in a slot that holds none. */
const NO_MINUTE = -1

/** What one sealed call adds to its minute, and to its slice of RecentCalls. */
export interface SealedUse extends EndedCall {
  /** What stopped the call; null when nothing did. */
  readonly stopped: 'blocked' | 'refused' | null
  readonly tokens: number
  /** Null when it is not known. */
  readonly cost: NanoUsd | null
}

/**
 * A ring of minutes. A minute is known once time has reached or passed it. A clock that is set back
 * adds to the minutes that it shows again.
 */
export class UsageMinutes {
  /** The minute that each slot holds, counted from the epoch. */
  readonly #minutes = new Float64Array(RING_MINUTES).fill(NO_MINUTE)
  readonly #requests = new Uint32Array(RING_MINUTES)
  readonly #blocked = new Uint32Array(RING_MINUTES)
  readonly #refused = new Uint32Array(RING_MINUTES)
  readonly #tokens = new Float64Array(RING_MINUTES)
  readonly #cost = new Float64Array(RING_MINUTES)
  readonly #addedMs = new Float64Array(RING_MINUTES)
  /** Maximum streams at a time. */
  readonly #streams = new Uint32Array(RING_MINUTES)
  readonly #recent: RecentCalls
  #current: number
  /** Streams in flight now. */
  #level = 0

  /** @param nowMs when the process began */
  constructor(nowMs: Milliseconds) {
    this.#current = Math.floor(nowMs / MINUTE_MS)
    this.#recent = new RecentCalls(nowMs)
    this.#open(this.#current)
  }

  /** Counts a call in the minute in which it is sealed. */
  addCall(nowMs: Milliseconds, use: SealedUse): void {
    const { stopped, tokens, cost, addedMs } = use
    this.#recent.addCall(nowMs, use)
    const slot = this.#slotAt(nowMs)
    this.#requests[slot]! += 1
    if (stopped === 'blocked') this.#blocked[slot]! += 1
    if (stopped === 'refused') this.#refused[slot]! += 1
    this.#tokens[slot]! += tokens
    this.#cost[slot]! += cost ?? 0
    this.#addedMs[slot]! += addedMs
  }

  streamBegan(nowMs: Milliseconds): void {
    const slot = this.#slotAt(nowMs)
    this.#level++
    if (this.#level > this.#streams[slot]!) this.#streams[slot] = this.#level
  }

  streamEnded(nowMs: Milliseconds): void {
    // The minutes since the last event had the stream too.
    this.#slotAt(nowMs)
    this.#level--
  }

  /** Returns the last minutes, the current one included. @param count at most RING_MINUTES */
  read(nowMs: Milliseconds, count: number): UsageSeries {
    this.#slotAt(nowMs)
    const first = this.#current - count + 1
    const steps = Array.from({ length: count }, (_, index) => this.#stepOf(first + index))
    return usageSeries(MINUTE_SECONDS, first, steps)
  }

  /** Says how the calls of the last hours ended, and how long they took. @param hours at most 24 */
  summary(nowMs: Milliseconds, hours: number): RecentSummary {
    return this.#recent.read(nowMs, (hours * HOUR_MS) / SLICE_MS)
  }

  /** Returns null for a minute that is not known. */
  #stepOf(minute: number): UsageStep | null {
    const slot = minute % RING_MINUTES
    if (this.#minutes[slot] !== minute) return null
    const requests = this.#requests[slot]!
    return {
      requests,
      blocked: this.#blocked[slot]!,
      refused: this.#refused[slot]!,
      tokens: this.#tokens[slot]!,
      cost: this.#cost[slot]!,
      addedMs: requests === 0 ? null : this.#addedMs[slot]! / requests,
      streams: this.#streams[slot]!,
    }
  }

  #slotAt(nowMs: Milliseconds): number {
    const minute = Math.floor(nowMs / MINUTE_MS)
    if (minute !== this.#current) this.#moveTo(minute)
    return minute % RING_MINUTES
  }

  /**
   * Opens a minute, and those that passed since the current one. Two rounds of the ring suffice:
   * the first clears what a clock that was set back has left of later minutes.
   */
  #moveTo(minute: number): void {
    const isLater = minute > this.#current
    const first = isLater ? Math.max(this.#current + 1, minute - 2 * RING_MINUTES + 1) : minute
    for (let one = first; one <= minute; one++) this.#open(one)
    this.#current = minute
  }

  #open(minute: number): void {
    const slot = minute % RING_MINUTES
    if (this.#minutes[slot] !== minute) {
      this.#minutes[slot] = minute
      this.#requests[slot] = 0
      this.#blocked[slot] = 0
      this.#refused[slot] = 0
      this.#tokens[slot] = 0
      this.#cost[slot] = 0
      this.#addedMs[slot] = 0
      this.#streams[slot] = 0
    }
    if (this.#level > this.#streams[slot]!) this.#streams[slot] = this.#level
  }
}
