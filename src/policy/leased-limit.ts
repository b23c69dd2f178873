// What one sidecar has of one limit for one subject: its leases, its buckets and its share. Takes
// for calls only what is covered, and says what each bucket holds. Pure: times are arguments, those
// of leases by the sidecar's own monotonic clock and those of buckets by the hub's.

import type { Milliseconds } from '../core/clock.ts'
import { placeOf } from './lease.ts'
import { bucketAt, bucketLength, CALENDAR_MONTH, countsUntil, liveRange } from './limit.ts'

/**
 * A use is charged to the latest time that it may be at the hub, which slow answers leave open by
 * more than a short window. A bucket that is ahead by more comes from a wrong clock.
 */
const MAXIMUM_AHEAD_MS: Milliseconds = 120_000

/** A part of the limit lent to this sidecar. */
interface Lease {
  readonly bucket: number
  /** Monotonic. */
  readonly endMs: Milliseconds
  left: number
}

/** What a call took, from one lease or from the share. */
interface TakenPart {
  readonly bucket: number
  /** Null for the share. */
  readonly lease: Lease | null
  readonly amount: number
}

/** What a bucket holds, leases that live included. */
export interface BucketAmount {
  readonly bucket: number
  readonly amount: number
}

/** What a call took of a limit. */
export type Taken = readonly TakenPart[]

/** The time at a hub as a sidecar knows it: between two bounds. */
export interface HubTime {
  readonly earliestMs: Milliseconds
  readonly latestMs: Milliseconds
}

export class LeasedLimit {
  readonly windowMs: Milliseconds
  /** Those that live, the one that ends first at the front. */
  readonly #leases: Lease[] = []
  /** What calls used and hold, by bucket of the hub. */
  readonly #spent = new Map<number, number>()
  /** What the hub is known to have of a bucket. A bucket that is not here has to be reported. */
  readonly #reported = new Map<number, number>()
  /** The most that this sidecar uses without a hub. */
  share = 0
  /** What calls took that no lease covers, since the hub was last sent a report. */
  #uncovered = 0

  constructor(windowMs: Milliseconds) {
    this.windowMs = windowMs
  }

  /** What the leases that live have left. */
  left(monotonicMs: Milliseconds): number {
    this.#end(monotonicMs)
    return this.#leases.reduce((sum, { left }) => sum + left, 0)
  }

  /** When the lease that ends last ends, monotonic; null without one. */
  get endMs(): Milliseconds | null {
    return this.#leases.at(-1)?.endMs ?? null
  }

  /** Sum of the buckets that count, what leases have left included. */
  held(nowMs: Milliseconds, monotonicMs: Milliseconds): number {
    this.prune(nowMs)
    let sum = this.left(monotonicMs)
    for (const spent of this.#spent.values()) sum += spent
    return sum
  }

  /** When no bucket counts any more, by the hub's time; null without one. */
  get countsUntil(): Milliseconds | null {
    const newest = Math.max(...this.#spent.keys())
    return newest < 0 ? null : countsUntil(bucketLength(this.windowMs), newest)
  }

  /** Number of buckets that count. */
  get buckets(): number {
    return this.#spent.size
  }

  get isEmpty(): boolean {
    return this.#leases.length === 0 && this.#spent.size === 0
  }

  /**
   * Adds a lease that the hub has charged to its bucket. It was lent without what was taken since
   * the request for it left, so that part of it is not used.
   */
  add({ bucket, size, endMs }: Pick<Lease, 'bucket' | 'endMs'> & { readonly size: number }): void {
    const reported = this.#reported.get(bucket)
    if (reported !== undefined || !this.#spent.has(bucket)) this.#reported.set(bucket, (reported ?? 0) + size)
    if (!this.#spent.has(bucket)) this.#spent.set(bucket, 0)
    const left = Math.max(0, size - this.#uncovered)
    const place = this.#leases.findIndex((lease) => lease.endMs > endMs)
    this.#leases.splice(place < 0 ? this.#leases.length : place, 0, { bucket, endMs, left })
  }

  /** Takes an amount from the leases that live. @returns null when they do not cover it */
  take(amount: number, monotonicMs: Milliseconds): Taken | null {
    if (this.left(monotonicMs) < amount) return null
    const parts: TakenPart[] = []
    let open = amount
    for (const lease of this.#leases) {
      const taken = Math.min(open, lease.left)
      if (taken === 0) continue
      lease.left -= taken
      open -= taken
      this.#spend(lease.bucket, taken)
      parts.push({ bucket: lease.bucket, lease, amount: taken })
    }
    return parts
  }

  /**
   * Takes an amount from the share, which counts less what this sidecar has in its buckets.
   * @returns null when that does not cover it
   */
  takeShare(amount: number, time: HubTime, monotonicMs: Milliseconds): Taken | null {
    // What is used at the end of a month belongs to one that is known.
    if (this.windowMs === CALENDAR_MONTH && this.#bucket(time.earliestMs) !== this.#bucket(time.latestMs))
      return null
    if (this.held(time.earliestMs, monotonicMs) + amount > this.share) return null
    return this.spend(amount, this.#bucket(time.latestMs))
  }

  /** Takes an amount that nothing covers. */
  spend(amount: number, bucket: number): Taken {
    this.#spend(bucket, amount)
    this.#uncovered += amount
    return [{ bucket, lease: null, amount }]
  }

  /**
   * Replaces what a call took with what it used. What it did not use goes back to its lease.
   * @returns what it used of each bucket
   */
  settle(taken: Taken, used: number, monotonicMs: Milliseconds): BucketAmount[] {
    this.#end(monotonicMs)
    let open = used
    const uses: { bucket: number; amount: number }[] = []
    for (const { bucket, lease, amount } of taken) {
      const kept = Math.min(open, amount)
      open -= kept
      this.#spend(bucket, kept - amount)
      uses.push({ bucket, amount: kept })
      if (lease !== null && this.#leases.includes(lease)) lease.left += amount - kept
    }
    const last = taken.at(-1)
    if (last === undefined || open === 0) return uses
    this.#spend(last.bucket, open)
    uses.at(-1)!.amount += open
    // What a call used above its reservation is taken from its lease as far as that reaches.
    const rest = last.lease !== null && this.#leases.includes(last.lease) ? last.lease.left : 0
    if (rest > 0) last.lease!.left -= Math.min(open, rest)
    this.#uncovered += Math.max(0, open - rest)
    return uses
  }

  /** Adds what was used in a bucket, or subtracts what is given back. */
  charge(bucket: number, amount: number): void {
    this.#spend(bucket, amount)
  }

  /** Ends all leases before their time. */
  giveBack(): void {
    this.#leases.length = 0
  }

  /** What a request reports: each bucket whose amount the hub does not have. */
  report(monotonicMs: Milliseconds): BucketAmount[] {
    this.#uncovered = 0
    return this.#unreported(monotonicMs)
  }

  /** Whether the hub has everything. */
  isReported(monotonicMs: Milliseconds): boolean {
    return this.#unreported(monotonicMs).length === 0
  }

  #unreported(monotonicMs: Milliseconds): BucketAmount[] {
    this.#end(monotonicMs)
    const amounts = new Map(this.#spent)
    for (const { bucket, left } of this.#leases) amounts.set(bucket, (amounts.get(bucket) ?? 0) + left)
    return Array.from(amounts, ([bucket, amount]) => ({ bucket, amount })).filter(
      ({ bucket, amount }) => this.#reported.get(bucket) !== amount,
    )
  }

  /** The hub has taken a report at this time by its clock. */
  reported(report: readonly BucketAmount[], hubMs: Milliseconds): void {
    for (const { bucket, amount } of report)
      if (placeOf(this.windowMs, bucket, hubMs) !== 'early') this.#reported.set(bucket, amount)
  }

  /**
   * It is not known what the hub has: an answer was lost. What it may have lent in these buckets is
   * to be corrected.
   */
  forgetReports(buckets: readonly number[]): void {
    this.#reported.clear()
    for (const bucket of buckets) if (!this.#spent.has(bucket)) this.#spent.set(bucket, 0)
  }

  /** Forgets buckets that no longer count. */
  prune(nowMs: Milliseconds): void {
    const [first, last] = liveRange(bucketLength(this.windowMs), this.#bucket(nowMs))
    const latest = Math.max(last, this.#bucket(nowMs + MAXIMUM_AHEAD_MS))
    for (const bucket of this.#spent.keys()) {
      if (bucket >= first && bucket <= latest) continue
      this.#spent.delete(bucket)
      this.#reported.delete(bucket)
    }
  }

  #bucket(nowMs: Milliseconds): number {
    return bucketAt(bucketLength(this.windowMs), nowMs)
  }

  #spend(bucket: number, amount: number): void {
    this.#spent.set(bucket, Math.max(0, (this.#spent.get(bucket) ?? 0) + amount))
  }

  #end(monotonicMs: Milliseconds): void {
    while (this.#leases.length > 0 && this.#leases[0]!.endMs <= monotonicMs) this.#leases.shift()
  }
}
