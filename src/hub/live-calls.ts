// The newest calls of the fleet for those who watch the log: what this hub stores within OWN_MS,
// what the others store within POLL_MS. While nobody watches it reads nothing and keeps nothing.

import type { Clock, Milliseconds } from '../core/clock.ts'
import type { Timers } from '../core/timers.ts'
import {
  type ArrivalReading,
  type ArrivedCalls,
  type EntryByLog,
  receivedBefore,
  type WatchedCall,
} from '../ledger/arrived-calls.ts'
import type { TailedCalls } from '../server/live-tail.ts'

/** Interval of readings of what this hub stored, if it stored something. */
const OWN_MS: Milliseconds = 100
/** Interval of readings of what all hubs stored. */
const POLL_MS: Milliseconds = 1000
/** Maximum calls of one reading, and that are kept for readers; the oldest of more are left out. */
export const MAXIMUM_KEPT_CALLS = 256
/** Longest time that a call is kept, because an erasure may change it. */
const KEPT_MS: Milliseconds = 10_000
/** Time before an event of which a reader that resumes gets the calls again. */
const OVERLAP_MS: Milliseconds = 5000
/** Longest time after which a reader resumes. */
const MAXIMUM_RESUMED_MS: Milliseconds = 60_000
/** Logs of own entries that wait for a reading; the next poll finds what comes to more. */
const MAXIMUM_NOTED_LOGS = 10_000

interface LiveCallsParts {
  readonly reading: Pick<ArrivalReading, 'grown' | 'lastBefore' | 'calls'>
  readonly clock: Clock
  readonly timers: Timers
  /** Called when there is more to send. */
  readonly onNews: () => void
  /** Called when readings begin to fail. */
  readonly onFailure: (error: unknown) => void
}

/** Ids of its events are times of the database, up to which their readers have all calls. */
export class LiveCalls implements TailedCalls {
  readonly #parts: LiveCallsParts
  #watchers = 0
  #following: Following | null = null

  constructor(parts: LiveCallsParts) {
    this.#parts = parts
  }

  /**
   * Resolves once calls are followed that are stored from now on.
   * @param sinceMs id of an event that a reader has; null to begin now
   * @returns what to call once when the reader leaves
   * @throws GatewayError (rejects) `fleet_unavailable`
   */
  async watch(sinceMs: number | null): Promise<() => void> {
    this.#watchers++
    const leave = () => {
      this.#watchers--
      if (this.#watchers > 0) return
      this.#following?.end()
      this.#following = null
    }
    this.#following ??= new Following(this.#parts, sinceMs)
    try {
      await this.#following.begun
      return leave
    } catch (error) {
      leave()
      throw error
    }
  }

  /** Notes the newest entry of a log that this hub has stored. Returns at once. */
  note(log: string, seq: number): void {
    this.#following?.note(log, seq)
  }

  stored() {
    return this.#following?.kept.stored() ?? { first: 0, end: 0, headSeq: 0 }
  }

  positionAfter(): number {
    return this.stored().first
  }

  isWholeAfter(sinceMs: number): boolean {
    return sinceMs >= (this.#following?.kept.wholeSinceMs ?? 0)
  }

  call(position: number): WatchedCall | null {
    return this.#following?.kept.at(position)?.call ?? null
  }

  idOf(position: number): number {
    return this.#following?.kept.at(position)?.id ?? 0
  }

  lostSinceMs(): Milliseconds | null {
    return this.#following?.lostSinceMs ?? null
  }
}

/** The readings from the first watcher to the last. */
class Following {
  readonly #parts: LiveCallsParts
  readonly kept = new KeptCalls()
  /** Rejects when the first reading fails. */
  readonly begun: Promise<void>
  /** Time since which the database cannot be read; null while it can. */
  lostSinceMs: Milliseconds | null = null
  #isOver = false
  #timer: unknown = null
  /** By log that grew lately, the newest entry that was read. */
  #read: EntryByLog = new Map()
  /** By log, the newest entry that this hub has stored since the last reading. */
  readonly #noted = new Map<string, number>()
  /** When this process began the last poll. */
  #pollStartMs: Milliseconds = 0

  constructor(parts: LiveCallsParts, sinceMs: number | null) {
    this.#parts = parts
    this.begun = this.#begin(sinceMs)
  }

  end(): void {
    this.#isOver = true
    this.#parts.timers.clear(this.#timer)
  }

  note(log: string, seq: number): void {
    if (this.#noted.size >= MAXIMUM_NOTED_LOGS) this.#noted.clear()
    this.#noted.set(log, seq)
  }

  async #begin(sinceMs: number | null): Promise<void> {
    const { reading, clock } = this.#parts
    this.#pollStartMs = clock.monotonic()
    const { atMs, heads } = await reading.grown(null)
    this.#read = heads
    const isRecent = sinceMs !== null && sinceMs <= atMs && atMs - sinceMs <= MAXIMUM_RESUMED_MS
    this.kept.begin(atMs, isRecent ? sinceMs : atMs)
    if (isRecent) {
      const since = await reading.grown(sinceMs)
      await this.#take(since.heads, await reading.lastBefore(since.heads, sinceMs))
      this.#read = since.heads
    }
    this.#arm()
  }

  #arm(): void {
    if (this.#isOver) return
    this.#timer = this.#parts.timers.set(() => {
      void this.#step().finally(() => this.#arm())
    }, OWN_MS)
  }

  async #step(): Promise<void> {
    const { clock, onFailure } = this.#parts
    const nowMs = clock.monotonic()
    this.kept.dropReadBefore(nowMs - KEPT_MS)
    const isPoll = nowMs - this.#pollStartMs >= POLL_MS
    if (!isPoll && (this.#noted.size === 0 || this.lostSinceMs !== null)) return
    try {
      await (isPoll ? this.#poll() : this.#readOwn())
      this.lostSinceMs = null
    } catch (error) {
      if (this.lostSinceMs === null && !this.#isOver) onFailure(error)
      this.lostSinceMs ??= clock.now()
    }
  }

  /** Reads what all hubs stored. */
  async #poll(): Promise<void> {
    this.#pollStartMs = this.#parts.clock.monotonic()
    this.#noted.clear()
    const { atMs, heads } = await this.#parts.reading.grown(this.kept.polledMs)
    await this.#take(heads, await this.#readUpTo(heads))
    this.#read = heads
    this.kept.polledMs = atMs
  }

  /** Reads what this hub stored. */
  async #readOwn(): Promise<void> {
    const heads = new Map(this.#noted)
    this.#noted.clear()
    const before = await this.#readUpTo(heads)
    await this.#take(heads, before)
    const read = new Map(before)
    // Another hub may have stored more, which was read.
    for (const [log, seq] of heads) read.set(log, Math.max(seq, read.get(log)!))
    this.#read = read
  }

  /** Returns the newest entries that were read, also those of other logs. */
  async #readUpTo(heads: EntryByLog): Promise<EntryByLog> {
    const unknown = new Map([...heads].filter(([log]) => !this.#read.has(log)))
    const found = await this.#parts.reading.lastBefore(unknown, receivedBefore(this.kept.polledMs))
    return new Map([...this.#read, ...found])
  }

  /** Keeps the calls after some entries of logs, up to others. */
  async #take(heads: EntryByLog, after: EntryByLog): Promise<void> {
    const { reading, clock, onNews } = this.#parts
    const arrived = await reading.calls(after, heads, MAXIMUM_KEPT_CALLS)
    if (this.kept.add(arrived, clock.monotonic())) onNews()
  }
}

interface KeptCall {
  readonly call: WatchedCall
  readonly id: number
  /** A time of the database at which it was stored, and one at which this process read it. */
  readonly storedMs: Milliseconds
  readonly readAtMs: Milliseconds
}

/** The newest calls by position, oldest first. */
class KeptCalls {
  #calls: KeptCall[] = []
  #first = 0
  /** Time of the database of the last poll. */
  polledMs: Milliseconds = 0
  /** No call that was stored since this time of the database was left out. */
  wholeSinceMs: Milliseconds = 0

  begin(polledMs: Milliseconds, wholeSinceMs: Milliseconds): void {
    this.polledMs = polledMs
    this.wholeSinceMs = wholeSinceMs
  }

  stored() {
    return { first: this.#first, end: this.#first + this.#calls.length, headSeq: this.#id }
  }

  at(position: number): KeptCall | undefined {
    return this.#calls[position - this.#first]
  }

  /** Returns whether there is something new. */
  add({ calls, missed }: ArrivedCalls, readAtMs: Milliseconds): boolean {
    const shared = { id: this.#id, storedMs: this.polledMs + POLL_MS, readAtMs }
    if (missed > 0) {
      // The calls before are older still, and left out as well.
      this.#drop(this.#calls.length)
      this.#first += missed
      this.wholeSinceMs = shared.storedMs
    }
    for (const call of calls) this.#calls.push({ call, ...shared })
    this.#drop(Math.max(0, this.#calls.length - MAXIMUM_KEPT_CALLS))
    return calls.length > 0 || missed > 0
  }

  dropReadBefore(timeMs: Milliseconds): void {
    const fresh = this.#calls.findIndex(({ readAtMs }) => readAtMs >= timeMs)
    this.#drop(fresh < 0 ? this.#calls.length : fresh)
  }

  get #id(): number {
    return Math.max(0, this.polledMs - OVERLAP_MS)
  }

  #drop(count: number): void {
    const last = this.#calls.splice(0, count).at(-1)
    this.#first += count
    if (last !== undefined) this.wholeSinceMs = Math.max(this.wholeSinceMs, last.storedMs)
  }
}
