// How old the word of the hub is: the time since its last heartbeat whose revision is applied here.
// Measured on the monotonic clock, and kept over restarts by the wall clock.

import type { Clock, Milliseconds } from '../core/clock.ts'
import type { KeptState } from '../keys/fleet-state.ts'
import { BEAT_MS } from './protocol.ts'

/** Heartbeats whose delays are compared: a minute. */
const COMPARED_BEATS = 60

/** When a heartbeat was made and read, monotonic but for `t`. */
export interface BeatTimes {
  /** By the clock of the database, Unix milliseconds. */
  readonly t: Milliseconds
  readonly receivedMs: Milliseconds
  /** When the request for its feed left: no heartbeat of the feed is older. */
  readonly openedMs: Milliseconds
}

export class Freshness {
  readonly #clock: Clock
  readonly #maxStaleMs: Milliseconds
  /** Limit until the hub knows the configured one. */
  #limitMs: Milliseconds
  /** When the newest heartbeat was made, monotonic; null when it is not known. */
  #freshMs: Milliseconds | null
  /** Reading by this clock minus making by the clock of the database, of the last heartbeats. */
  #offsets: Milliseconds[] = []
  /** The clock of the hub minus the wall clock, as the last process knew it; null for unknown. */
  readonly #keptAheadMs: Milliseconds | null
  /** When the newest of them was read. */
  #comparedMs: Milliseconds = Number.NEGATIVE_INFINITY

  /** @param remembered of the last process; after a goodbye its age counts for nothing */
  constructor(
    clock: Clock,
    maxStaleSeconds: number,
    {
      freshAtMs,
      toldMaxStaleSeconds,
      left,
      hubAheadMs,
    }: Pick<KeptState, 'freshAtMs' | 'toldMaxStaleSeconds' | 'left' | 'hubAheadMs'>,
  ) {
    this.#keptAheadMs = hubAheadMs
    this.#clock = clock
    this.#maxStaleMs = maxStaleSeconds * 1000
    this.#limitMs = Math.min(maxStaleSeconds, toldMaxStaleSeconds ?? maxStaleSeconds) * 1000
    const ageMs = freshAtMs === null ? -1 : clock.now() - freshAtMs
    // A negative age means that the wall clock was set back, by an unknown time.
    this.#freshMs = left || ageMs < 0 ? null : clock.monotonic() - ageMs
  }

  /** Age from which the keys of hubs are refused. */
  get limitMs(): Milliseconds {
    return this.#limitMs
  }

  /** Milliseconds since the newest applied heartbeat was made; infinite when it is not known. */
  get ageMs(): Milliseconds {
    return this.#freshMs === null ? Number.POSITIVE_INFINITY : this.#clock.monotonic() - this.#freshMs
  }

  get isStale(): boolean {
    return this.ageMs > this.#limitMs
  }

  /** Milliseconds until keys are refused; 0 when they are. */
  get remainingMs(): Milliseconds {
    return Math.max(0, this.#limitMs - this.ageMs)
  }

  /** The age as a wall time, for the next process; null when it is not known. */
  get freshAtMs(): Milliseconds | null {
    return this.#freshMs === null ? null : Math.floor(this.#clock.now() - this.ageMs)
  }

  /**
   * The time by the clock of the hubs, also while they are away: by the monotonic clock since the
   * last heartbeats, and before the first one of this process by the wall clock.
   */
  get hubNowMs(): Milliseconds {
    const [first] = this.#offsets
    if (first === undefined) return this.#clock.now() + (this.#keptAheadMs ?? 0)
    return this.#clock.monotonic() - Math.min(...this.#offsets)
  }

  /** The clock of the hubs minus the wall clock, for the next process; null for unknown. */
  get hubAheadMs(): Milliseconds | null {
    if (this.#offsets.length === 0) return this.#keptAheadMs
    return Math.round(this.hubNowMs - this.#clock.now())
  }

  /** The hub knows the configured limit. */
  contacted(): void {
    this.#limitMs = this.#maxStaleMs
  }

  /** The hub does not count this sidecar: nothing is fresh before the next heartbeat. */
  forget(): void {
    this.#freshMs = null
  }

  /** The clock of the database may be another one. */
  forgetDelays(): void {
    this.#offsets = []
  }

  /**
   * Takes a heartbeat whose revision is applied. Its age is the time that it took beyond that of
   * the fastest recent one, so a heartbeat that waited while this process was frozen counts as old.
   */
  applied({ t, receivedMs, openedMs }: BeatTimes): void {
    const offsetMs = receivedMs - t
    const longestMs = receivedMs - openedMs
    const fastestMs = Math.min(offsetMs, ...this.#offsets)
    const ageMs = this.#offsets.length === 0 ? longestMs : Math.min(longestMs, offsetMs - fastestMs)
    this.#compare(offsetMs, receivedMs)
    this.#freshMs = Math.max(this.#freshMs ?? Number.NEGATIVE_INFINITY, receivedMs - ageMs)
  }

  /** Heartbeats that come together have waited: they must not replace those that did not. */
  #compare(offsetMs: Milliseconds, receivedMs: Milliseconds): void {
    const isFastest = this.#offsets.every((one) => offsetMs < one)
    if (!isFastest && receivedMs - this.#comparedMs < BEAT_MS / 2) return
    this.#comparedMs = receivedMs
    this.#offsets.push(offsetMs)
    if (this.#offsets.length > COMPARED_BEATS) this.#offsets.shift()
  }
}
