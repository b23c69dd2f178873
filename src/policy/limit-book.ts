// One limit for one subject while its row is locked: takes what sidecars report and lends to them.
// Pure: the rows are read before and written after.

import type { Milliseconds } from '../core/clock.ts'
import {
  Holdings,
  type LeaseAsk,
  type LeaseTime,
  leaseLife,
  leaseTime,
  placeOf,
  type ShareTerms,
} from './lease.ts'
import { bucketAt, bucketLength, bucketStart, CALENDAR_MONTH, countsUntil, isLive } from './limit.ts'

export interface BookTerms extends ShareTerms {
  readonly windowMs: Milliseconds
  readonly nowMs: Milliseconds
}

/** A bucket of one sidecar. */
export interface BookedBucket {
  readonly sidecar: string
  readonly bucket: number
  readonly amount: number
}

/** What is stored of a sidecar. */
interface StoredHolding {
  /** Null without one. */
  readonly share: number | null
  /** The row of the share is to be written again, so that it is known to be in use. */
  readonly isOld: boolean
  readonly live: number
}

/** A lease and what is left of the limit after it. */
export interface Grant extends LeaseTime {
  readonly size: number
  readonly left: number
}

/** Furthest that the time of windows is ahead of a clock. Beyond it, one of them was wrong. */
const MAXIMUM_AHEAD_MS: Milliseconds = 3_600_000

/**
 * The time at which windows slide at one hub: that of the database, or a later one that a grant has
 * seen. A clock that is set back does not empty a window, and windows slide meanwhile.
 */
export class BookClock {
  #latestMs = Number.NEGATIVE_INFINITY
  #readAtMs = 0

  /** Returns the time by the clock of the database, at a monotonic time of the hub. */
  at(clockMs: Milliseconds, monotonicMs: Milliseconds): Milliseconds {
    const passedMs = Math.max(0, monotonicMs - this.#readAtMs)
    this.#readAtMs = monotonicMs
    this.#latestMs = later(clockMs, this.#latestMs + passedMs)
    return this.#latestMs
  }

  /** Takes the newest bucket of a window: it was lent at a time that must not come again. */
  saw(windowMs: Milliseconds, newestBucket: number): void {
    const aheadMs = windowMs === CALENDAR_MONTH ? 0 : leaseLife(windowMs)
    this.#latestMs = later(this.#latestMs, bucketStart(bucketLength(windowMs), newestBucket) - aheadMs)
  }
}

/** The later of two times, unless one of them was wrong. */
const later = (clockMs: Milliseconds, seenMs: Milliseconds): Milliseconds =>
  seenMs > clockMs && seenMs < clockMs + MAXIMUM_AHEAD_MS ? seenMs : clockMs

export class LimitBook {
  readonly #terms: BookTerms
  readonly #holdings = new Holdings()
  /** Buckets of the sidecars whose requests are answered. */
  readonly #buckets = new Map<string, BookedBucket>()
  /** Sidecars that reported a bucket before its time. */
  readonly #early = new Set<string>()
  readonly #changedBuckets = new Set<string>()
  readonly #storedShares = new Map<string, number>()
  readonly #changedShares = new Set<string>()
  /** Sidecars that hold the limit no more. */
  readonly #ended = new Set<string>()

  constructor(terms: BookTerms) {
    this.#terms = terms
  }

  /** Enters what a sidecar has: its share, and the sum of its buckets that count. */
  enter(sidecar: string, { share, live, isOld }: StoredHolding): void {
    this.#holdings.set(sidecar, { share: share ?? 0, live })
    if (share !== null && !isOld) this.#storedShares.set(sidecar, share)
  }

  /** Enters a stored bucket that counts, of a sidecar whose request is answered. */
  enterBucket(bucket: BookedBucket): void {
    this.#buckets.set(nameOf(bucket), bucket)
  }

  /**
   * Replaces the amount of a bucket by what its sidecar reports. Nothing is lent to a sidecar that
   * reports a bucket which is early: it counts from its next report on.
   */
  settle(booked: BookedBucket): void {
    const { sidecar, bucket, amount } = booked
    const { windowMs, nowMs } = this.#terms
    const place = placeOf(windowMs, bucket, nowMs)
    if (place === 'early') this.#early.add(sidecar)
    if (place !== 'counted') return
    const before = this.#buckets.get(nameOf(booked))?.amount ?? 0
    const { share, live } = this.#holdings.of(sidecar)
    this.#holdings.set(sidecar, { share, live: live + amount - before })
    this.#put(booked)
  }

  /** @returns the share of a sidecar, as `Holdings.share` */
  share(sidecar: string, declared: number, usual = 0): number {
    const told = this.#holdings.share(this.#terms, sidecar, declared, usual)
    this.#ended.delete(sidecar)
    this.#noteShare(sidecar)
    return told
  }

  /** A sidecar has no use for the limit: it uses no more than this share without a hub. */
  lowerShare(sidecar: string, declared: number): void {
    const { share, live } = this.#holdings.of(sidecar)
    this.#holdings.set(sidecar, { share: Math.min(share, declared), live })
    if (declared === 0) this.#ended.add(sidecar)
    this.#changedShares.add(sidecar)
  }

  shareOf(sidecar: string): number {
    return this.#holdings.of(sidecar).share
  }

  /** @returns what a sidecar can get, as `Holdings.free` */
  free(sidecar: string): number {
    return this.#holdings.free(this.#terms.limit, sidecar)
  }

  grant(sidecar: string, ask: LeaseAsk): Grant {
    const { windowMs, nowMs, limit } = this.#terms
    const time = leaseTime(windowMs, nowMs)
    const size = this.#early.has(sidecar) ? 0 : this.#holdings.grant(limit, sidecar, ask)
    if (size > 0) {
      const { bucket } = time
      const before = this.#buckets.get(nameOf({ sidecar, bucket }))?.amount ?? 0
      this.#put({ sidecar, bucket, amount: before + size })
    }
    return { ...time, size, left: this.#holdings.left(limit, sidecar) }
  }

  /** The buckets that are to be written. */
  changedBuckets(): BookedBucket[] {
    return Array.from(this.#changedBuckets, (name) => this.#buckets.get(name)!)
  }

  /** The shares that are to be written; null for one that is to be removed. */
  changedShares(): { readonly sidecar: string; readonly share: number | null }[] {
    return Array.from(this.#changedShares, (sidecar) => ({
      sidecar,
      share: this.#ended.has(sidecar) ? null : this.shareOf(sidecar),
    }))
  }

  #noteShare(sidecar: string): void {
    if (this.#storedShares.get(sidecar) !== this.shareOf(sidecar)) this.#changedShares.add(sidecar)
  }

  #put(booked: BookedBucket): void {
    const name = nameOf(booked)
    this.#buckets.set(name, booked)
    this.#changedBuckets.add(name)
  }
}

const nameOf = ({ sidecar, bucket }: Pick<BookedBucket, 'sidecar' | 'bucket'>): string =>
  `${bucket} ${sidecar}`

/** How much more one sidecar can get once a bucket of a limit has left the window. */
export type BucketSums = readonly { readonly bucket: number; readonly amount: number }[]

/** Time within which all sidecars ask for their shares again. */
const SHARES_MS: Milliseconds = 60_000

/**
 * The time at which a need of a sidecar fits if nothing else happens. The shares of the others may
 * leave too little even when nothing is used; then the time at which they may have changed.
 * @param free what the sidecar can get now; below zero when more is used than the limit
 */
export function fitsAt(
  { windowMs, nowMs }: Pick<BookTerms, 'windowMs' | 'nowMs'>,
  free: number,
  sums: BucketSums,
  need: number,
): Milliseconds {
  const bucketMs = bucketLength(windowMs)
  const current = bucketAt(bucketMs, nowMs)
  const live = sums
    .filter(({ bucket }) => isLive(bucketMs, bucket, current))
    .sort((a, b) => a.bucket - b.bucket)
  let left = free
  if (need <= left) return nowMs
  for (const { bucket, amount } of live) {
    left += amount
    if (need <= left) return countsUntil(bucketMs, bucket)
  }
  const last = live.at(-1)
  return Math.max(nowMs + SHARES_MS, last === undefined ? 0 : countsUntil(bucketMs, last.bucket))
}
