// Counts tokens, requests and money by rule and by what shares the count, such as a key.
// Reservations are synchronous and in memory; actual use is committed in the transaction of the
// call's entry, so counts and log agree after a crash.

import type { Clock, Milliseconds } from '../../core/clock.ts'
import {
  bucketAt,
  bucketLength,
  bucketStart,
  charge,
  countsUntil,
  expire,
  gatherRun,
  isLive,
  learn,
  learnHighest,
  type MovedTokens,
  openWindow,
  type QuotaWindow,
  RUN_WINDOW,
  reserveTokens,
  type WindowUse,
  windowUse,
} from '../../policy/limit.ts'
import { isUnbounded } from '../../policy/limit-scope.ts'
import type { Environment } from '../environment/journaled.ts'
import { readU64 } from '../tables/layout.ts'
import {
  type CountedBucket,
  type CounterChange,
  CounterChanges,
  HUB_COUNT,
  readKey,
  readWindowName,
  windowName,
} from './counter-changes.ts'

/**
 * Maximum pairs of rule and subject counted at a time. Beyond it, limits refuse calls rather than
 * stop counting.
 */
export const MAXIMUM_COUNTERS = 50_000
/** Maximum counts of runs and end users; the one that was idle the longest is forgotten first. */
const MAXIMUM_RUNS = 100_000
/** When a call that found no room for its counter may try again. */
const RETRY_WHEN_FULL_MS: Milliseconds = 1000
/** How much later the clock of a hub may be than this one. */
const HUB_CLOCK_MS: Milliseconds = 86_400_000
/** Rows that one sweep checks, so the event loop is not blocked. */
const SWEEP_ROWS = 2000

export interface ReserveRequest {
  /** Id of the rule, with the unit unless it is tokens. */
  readonly ruleId: string
  /** What shares the count: a line of keys, the value of a label, or all keys. */
  readonly subject: string
  readonly limitTokens: number
  readonly windowMs: Milliseconds
  /** Estimated prompt tokens plus the requested completion tokens. */
  readonly tokens: number
  /** Answers of the call whose length it does not limit; 0 when it limits them. */
  readonly unlimitedChoices: number
  /** As in QuotaRequest. */
  readonly expectedAnswer: number
  /** Whether the highest answer is expected next, in place of the average. */
  readonly expectsHighest?: boolean
  readonly nowMs: Milliseconds
  /** Counts tokens even over the limit, for a limit that only monitors. */
  readonly force: boolean
}

/** Tokens reserved for a running call. Settle it exactly once. */
export interface Reservation {
  readonly allowed: boolean
  /** Tokens left after this reservation. */
  readonly remaining: number
  /** Time until no current use counts any more. */
  readonly resetMs: Milliseconds
  /** As in QuotaAnswer. */
  readonly retryAfterMs: Milliseconds
  /** As in QuotaAnswer. */
  readonly isHeld: boolean
  /** True when no hub answered, so that less than the limit may be in use. */
  readonly isAway?: boolean
}

/** Tokens used without a reservation, or given back. */
export interface Spending {
  readonly ruleId: string
  readonly subject: string
  readonly windowMs: Milliseconds
  /** Negative to give back. */
  readonly tokens: number
  readonly atMs: Milliseconds
}

/** What counts of a limit for one subject. */
export interface CountInUse extends Pick<Spending, 'ruleId' | 'subject' | 'windowMs'>, WindowUse {}

interface HeldTokens {
  readonly request: ReserveRequest
  /** Kept here because the window may be forgotten once all its buckets have expired. */
  readonly window: QuotaWindow
  readonly bucketIndex: number
  readonly tokens: number
}

export class Counters {
  readonly #environment: Environment
  readonly #time: WindowTime
  readonly #windows = new Map<string, QuotaWindow>()
  /** Counts of runs and end users, the longest idle first. */
  readonly #runs = new Map<string, QuotaWindow>()
  /** What moved within the window of a run and is not written yet. */
  readonly #gathered = new WeakMap<QuotaWindow, MovedTokens[]>()
  readonly #held = new WeakMap<Reservation, HeldTokens>()
  /** What the last process used of limits that a hub keeps. */
  readonly hubCounts: readonly CounterChange[]
  #sweepFrom: Buffer | undefined
  /** Rows that a clock dated ahead, with their new places. The next sweep moves them. */
  #moved: { readonly key: Buffer; readonly to: CountedBucket }[] = []

  /**
   * Restores the counts of earlier runs. Those that a clock dated ahead, by an hour or by years,
   * count from now on: for at most one window.
   */
  constructor(environment: Environment, clock: Clock) {
    this.#environment = environment
    const stored = environment.tables.counters.rows()
    const rows = stored.filter(({ key }) => !isOfHub(key))
    this.hubCounts = stored
      .filter(({ key }) => isOfHub(key))
      .map(({ key, value }) => ({ ...readKey(key), tokens: readU64(value) }))
    this.#time = new WindowTime(clock)
    const nowMs = this.#time.now()
    const aheadMs = Math.max(0, newestCount(rows) - nowMs)
    for (const { key, value } of rows) {
      const counted = readKey(key)
      const { ruleId, subject, windowMs } = counted
      const bucketIndex = aheadMs === 0 ? counted.bucketIndex : indexBehind(counted, nowMs, aheadMs)
      if (bucketIndex !== counted.bucketIndex) this.#moved.push({ key, to: { ...counted, bucketIndex } })
      if (isCounted(windowMs, bucketIndex, nowMs)) {
        charge(this.#window(ruleId, subject, windowMs), bucketIndex, readU64(value))
      }
    }
  }

  /** Number of counters in memory. */
  get size(): number {
    return this.#windows.size + this.#runs.size
  }

  /** Returns the most that one subject has used of a limit, what running calls reserve included. */
  highestUse(ruleId: string, windowMs: Milliseconds): number {
    const nowMs = this.#time.now()
    let highest = 0
    for (const [name, window] of this.#all()) {
      if (!name.startsWith(`${ruleId}\0`) || !name.endsWith(`\0${windowMs}`)) continue
      highest = Math.max(highest, windowUse(window, nowMs).used)
    }
    return highest
  }

  /**
   * Returns all counts above 0, in no order, what running calls reserve included. Changes none, and
   * visits each counter once.
   */
  inUse(nowMs: Milliseconds): CountInUse[] {
    const atMs = this.#time.at(nowMs)
    const counts: CountInUse[] = []
    for (const [name, window] of this.#all()) {
      const use = windowUse(window, atMs)
      if (use.used > 0) counts.push({ ...readWindowName(name), ...use })
    }
    return counts
  }

  /**
   * Reserves tokens if they fit. Atomic: parallel calls cannot exceed a limit that sequential calls
   * would meet.
   */
  reserve(request: ReserveRequest): Reservation {
    const { ruleId, subject, windowMs, force } = request
    const nowMs = this.#time.at(request.nowMs)
    const isNew = !isUnbounded(subject) && !this.#windows.has(windowName(ruleId, subject, windowMs))
    if (isNew && this.#windows.size >= MAXIMUM_COUNTERS) {
      this.#forgetExpired(nowMs)
      if (this.#windows.size >= MAXIMUM_COUNTERS) {
        return {
          allowed: false,
          remaining: 0,
          resetMs: windowMs,
          retryAfterMs: RETRY_WHEN_FULL_MS,
          isHeld: false,
        }
      }
    }
    const window = this.#window(ruleId, subject, windowMs)
    if (windowMs === RUN_WINDOW) this.#gather(window, nowMs)
    const answer = reserveTokens(window, { ...request, nowMs, enforced: !force })
    const { bucketIndex, charged, ...reservation } = answer
    if (bucketIndex !== null) this.#held.set(reservation, { request, window, bucketIndex, tokens: charged })
    return reservation
  }

  /**
   * Replaces a reservation with the tokens used, in the charged bucket. Pass the changes to the
   * entry's append. Returns none if nothing was reserved or the reservation is already settled.
   * @param answerTokens the part of `usedTokens` that the answer took
   * @param keepsReserved whether at least what was reserved counts
   */
  settle(
    reservation: Reservation,
    usedTokens: number,
    answerTokens: number,
    keepsReserved = false,
  ): CounterChange[] {
    const held = this.#held.get(reservation)
    if (held === undefined) return []
    this.#held.delete(reservation)
    const { ruleId, subject, windowMs, unlimitedChoices, expectsHighest, tokens: least } = held.request
    const { window } = held
    // What a run holds moves with the rest of it.
    const last = windowMs === RUN_WINDOW ? window.buckets.at(-1) : undefined
    const bucketIndex = last?.index ?? held.bucketIndex
    const tokens = keepsReserved ? Math.max(usedTokens, held.tokens) : usedTokens
    charge(window, bucketIndex, tokens - held.tokens, -held.tokens)
    if (expectsHighest === true) {
      if (answerTokens > 0) learnHighest(window, answerTokens - least)
    } else if (unlimitedChoices > 0) learn(window, answerTokens, unlimitedChoices)
    if (tokens === 0) return []
    return [{ bucketIndex, tokens }, ...this.#takeGathered(window, bucketIndex)].map((change) => ({
      ...{ ruleId, subject, windowMs },
      ...change,
    }))
  }

  /**
   * Counts tokens without a reservation, or gives some back, in the bucket of their time; none if
   * that has expired. Pass the changes to the entry's append.
   */
  charge({ ruleId, subject, windowMs, tokens, atMs }: Spending): CounterChange[] {
    const bucketMs = bucketLength(windowMs)
    const bucketIndex = bucketAt(bucketMs, this.#time.ofEvent(atMs))
    if (tokens === 0 || !isCounted(windowMs, bucketIndex, this.#time.now())) return []
    charge(this.#window(ruleId, subject, windowMs), bucketIndex, tokens)
    return [{ ruleId, subject, windowMs, bucketIndex, tokens }]
  }

  /** Forgets expired windows, in memory and step by step on disk. Call it every minute. */
  async sweep(): Promise<void> {
    const nowMs = this.#time.now()
    this.#forgetExpired(nowMs)
    const { counters } = this.#environment.tables
    if (this.#moved.length > 0) await this.#moveRows()
    const range = { limit: SWEEP_ROWS, ...(this.#sweepFrom === undefined ? {} : { start: this.#sweepFrom }) }
    const keys = counters.keys(range)
    this.#sweepFrom = keys.length === SWEEP_ROWS ? keys.at(-1) : undefined
    const dead = keys.filter((key) => {
      const { windowMs, bucketIndex } = readKey(key)
      if (isOfHub(key)) return countsUntil(bucketLength(windowMs), bucketIndex) < nowMs - HUB_CLOCK_MS
      return !isCounted(windowMs, bucketIndex, nowMs)
    })
    if (dead.length === 0) return
    await this.#environment.transaction(() => {
      for (const key of dead) counters.remove(key)
    })
  }

  async #moveRows(): Promise<void> {
    const { counters } = this.#environment.tables
    const moved = this.#moved
    await this.#environment.transaction(() => {
      const changes = new CounterChanges()
      for (const { key, to } of moved) {
        const row = counters.get(key)
        if (row === undefined) continue
        counters.remove(key)
        changes.add([{ ...to, tokens: readU64(row) }])
      }
      changes.write(counters)
    })
    this.#moved = []
  }

  /** Lets a run count from its first call on, as long as it is not idle. */
  #gather(window: QuotaWindow, nowMs: Milliseconds): void {
    const moved = gatherRun(window, nowMs)
    if (moved.length === 0) return
    this.#gathered.set(window, [...(this.#gathered.get(window) ?? []), ...moved])
  }

  /** Returns the changes that move the written counts of a run to its newest bucket, once. */
  #takeGathered(window: QuotaWindow, to: number): Pick<CounterChange, 'bucketIndex' | 'tokens'>[] {
    const moved = this.#gathered.get(window) ?? []
    this.#gathered.delete(window)
    return moved
      .filter(({ index, tokens }) => index !== to && tokens > 0)
      .flatMap(({ index, tokens }) => [
        { bucketIndex: index, tokens: -tokens },
        { bucketIndex: to, tokens },
      ])
  }

  *#all(): Iterable<[string, QuotaWindow]> {
    yield* this.#windows
    yield* this.#runs
  }

  #window(ruleId: string, subject: string, windowMs: Milliseconds): QuotaWindow {
    const name = windowName(ruleId, subject, windowMs)
    const windows = isUnbounded(subject) ? this.#runs : this.#windows
    let window = windows.get(name)
    if (window === undefined) {
      window = openWindow(windowMs)
      if (windows === this.#runs && windows.size >= MAXIMUM_RUNS) this.#forgetOldestRun()
      windows.set(name, window)
    } else if (windows === this.#runs) {
      windows.delete(name)
      windows.set(name, window)
    }
    return window
  }

  #forgetOldestRun(): void {
    for (const name of this.#runs.keys()) {
      this.#runs.delete(name)
      return
    }
  }

  #forgetExpired(nowMs: Milliseconds): void {
    for (const [name, window] of this.#all()) {
      expire(window, bucketAt(window.bucketMs, nowMs))
      if (window.buckets.length > 0) continue
      this.#windows.delete(name)
      this.#runs.delete(name)
    }
  }
}

/** Reports whether a row is a count that a hub keeps. */
const isOfHub = (key: Buffer): boolean => key.toString('latin1', 0, HUB_COUNT.length) === HUB_COUNT

/** Reports whether a bucket counts at a time. */
function isCounted(windowMs: Milliseconds, bucketIndex: number, nowMs: Milliseconds): boolean {
  const bucketMs = bucketLength(windowMs)
  return isLive(bucketMs, bucketIndex, bucketAt(bucketMs, nowMs))
}

/**
 * Returns the bucket of a count as if its clock had been ahead by some time; not later than now.
 */
function indexBehind(
  { windowMs, bucketIndex }: CountedBucket,
  nowMs: Milliseconds,
  aheadMs: Milliseconds,
): number {
  const bucketMs = bucketLength(windowMs)
  const current = bucketAt(bucketMs, nowMs)
  if (bucketIndex <= current) return bucketIndex
  return Math.min(current, bucketAt(bucketMs, bucketStart(bucketMs, bucketIndex) - aheadMs))
}

/** Returns the time of the newest bucket on disk; -Infinity without any. */
function newestCount(rows: readonly { readonly key: Buffer }[]): Milliseconds {
  let newestMs = -Infinity
  for (const { key } of rows) {
    const { windowMs, bucketIndex } = readKey(key)
    newestMs = Math.max(newestMs, bucketStart(bucketLength(windowMs), bucketIndex))
  }
  return newestMs
}

/**
 * The time that token windows slide on. Follows the wall clock forwards and never runs backwards: a
 * clock that is set back must not empty a window.
 */
class WindowTime {
  readonly #clock: Clock
  #latestMs: Milliseconds
  #readAtMs: Milliseconds

  constructor(clock: Clock) {
    this.#clock = clock
    this.#latestMs = clock.now()
    this.#readAtMs = clock.monotonic()
  }

  /**
   * Returns the wall time, or, while that is behind an earlier answer, that answer and the time
   * passed since.
   */
  at(wallMs: Milliseconds): Milliseconds {
    const monotonicMs = this.#clock.monotonic()
    const passedMs = Math.max(0, monotonicMs - this.#readAtMs)
    this.#readAtMs = monotonicMs
    this.#latestMs = Math.max(wallMs, this.#latestMs + passedMs)
    return this.#latestMs
  }

  now(): Milliseconds {
    return this.at(this.#clock.now())
  }

  /** Returns the time of an event whose wall time is known; never later than now. */
  ofEvent(wallMs: Milliseconds): Milliseconds {
    return this.now() - Math.max(0, this.#clock.now() - wallMs)
  }
}
