// Keeps how the calls of the last day ended and how long they took, in slices of ten minutes, in
// memory. Begins empty with the process; the caller gives the time.

import { OUTCOMES, type Outcome } from '../audit/entry-fields.ts'
import type { Milliseconds } from '../core/clock.ts'

export const SLICE_MS: Milliseconds = 600_000
/** Slices that are kept, the current one included: a day. */
const MAXIMUM_SLICES = 144
/** Each bucket of times ends at this many times the end of the one before it. */
const GROWTH = 2 ** 0.25
/** End of the first bucket. The last one begins at about two hours. */
const FIRST_END_MS: Milliseconds = 0.1
const BUCKETS = 64

/** What one sealed call adds. */
export interface EndedCall {
  readonly outcome: Outcome
  /** Time that the gateway itself added. */
  readonly addedMs: Milliseconds
  /** Time to the first token; null for a call without a stream, and one that had none. */
  readonly firstTokenMs: Milliseconds | null
}

/** Half of the calls took at most `p50`, 95 of 100 at most `p95`, to within a tenth. */
export interface Percentiles {
  readonly p50: Milliseconds
  readonly p95: Milliseconds
}

export interface RecentSummary {
  /** Start of the first slice that is counted. */
  readonly sinceMs: Milliseconds
  readonly outcomes: Readonly<Record<Outcome, number>>
  /** Null without a call. */
  readonly added: Percentiles | null
  readonly firstToken: Percentiles | null
}

class Slice {
  readonly outcomes = new Uint32Array(OUTCOMES.length)
  readonly added = new Uint32Array(BUCKETS)
  readonly firstToken = new Uint32Array(BUCKETS)
}

export class RecentCalls {
  /** By their number since the epoch; at most MAXIMUM_SLICES. */
  readonly #slices = new Map<number, Slice>()
  readonly #beganMs: Milliseconds

  /** @param nowMs when the process began */
  constructor(nowMs: Milliseconds) {
    this.#beganMs = nowMs
  }

  addCall(nowMs: Milliseconds, { outcome, addedMs, firstTokenMs }: EndedCall): void {
    const slice = this.#sliceAt(Math.floor(nowMs / SLICE_MS))
    slice.outcomes[OUTCOMES.indexOf(outcome)]! += 1
    slice.added[bucketOf(addedMs)]! += 1
    if (firstTokenMs !== null) slice.firstToken[bucketOf(firstTokenMs)]! += 1
  }

  /** Sums up the last slices, the current one included. @param count at most MAXIMUM_SLICES */
  read(nowMs: Milliseconds, count: number): RecentSummary {
    const last = Math.floor(nowMs / SLICE_MS)
    const first = last - count + 1
    const sum = new Slice()
    for (const [number, slice] of this.#slices) {
      if (number < first || number > last) continue
      for (const name of ['outcomes', 'added', 'firstToken'] as const)
        for (const [index, calls] of slice[name].entries()) sum[name][index]! += calls
    }
    return {
      sinceMs: Math.max(first * SLICE_MS, this.#beganMs),
      outcomes: Object.fromEntries(
        OUTCOMES.map((outcome, index) => [outcome, sum.outcomes[index]!]),
      ) as RecentSummary['outcomes'],
      added: percentilesOf(sum.added),
      firstToken: percentilesOf(sum.firstToken),
    }
  }

  #sliceAt(number: number): Slice {
    let slice = this.#slices.get(number)
    if (slice === undefined) {
      slice = new Slice()
      this.#slices.set(number, slice)
      // A clock that is set back leaves slices that are not the oldest.
      if (this.#slices.size > MAXIMUM_SLICES)
        this.#slices.delete(Math.min(...[...this.#slices.keys()].filter((one) => one !== number)))
    }
    return slice
  }
}

const bucketOf = (ms: Milliseconds): number => {
  const bucket = Math.ceil(Math.log(Math.max(ms, FIRST_END_MS) / FIRST_END_MS) / Math.log(GROWTH))
  return Math.min(BUCKETS - 1, bucket)
}

/** Returns the middle of the bucket with the call; null without calls. */
function percentilesOf(buckets: Uint32Array): Percentiles | null {
  const calls = buckets.reduce((sum, count) => sum + count, 0)
  if (calls === 0) return null
  const at = (share: number) => {
    let left = Math.ceil(share * calls)
    let bucket = 0
    for (; left > buckets[bucket]!; bucket++) left -= buckets[bucket]!
    return FIRST_END_MS * GROWTH ** (bucket === 0 ? 0 : bucket - 0.5)
  }
  return { p50: at(0.5), p95: at(0.95) }
}
