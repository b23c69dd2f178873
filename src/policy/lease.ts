// Lends parts of one limit for one subject to the sidecars of a fleet. A lease is charged whole to
// the bucket in which it expires, so every use of a window lies in a bucket that the last grant of
// that window has seen. Pure: the time and what each sidecar has are arguments.

import type { Milliseconds } from '../core/clock.ts'
import { bucketAt, bucketLength, bucketStart, CALENDAR_MONTH, isLive } from './limit.ts'

/** Shorter leases would end before they arrive. */
const MINIMUM_LEASE_MS: Milliseconds = 50
/** A lease of a short window lives for a larger part of it, so that one of a busy hub arrives. */
const ARRIVAL_MS: Milliseconds = 250
const SHORT_WINDOW_LEASES = 40
/** What a sidecar that dies cannot give back is bounded by what it leases in this time. */
const MAXIMUM_LEASE_MS: Milliseconds = 60_000
/** The part of what is left that all sidecars together get beyond what their calls need now. */
const LENT_AHEAD = 1 / 4
/** At least so many sidecars share that part, so that the first ones leave some for the others. */
const MINIMUM_HOLDERS = 8
/**
 * A share covers at least this part of a usual call. A smaller one would be lost to all. A sidecar
 * without a share gets one again at a larger part, so that it does not come and go.
 */
const USUAL_CALL_PART = { kept: 1 / 4, begun: 1 / 3 }

/** How long a lease lives: a bucket of its window, and one and a half of a short window. */
export function leaseLife(windowMs: Milliseconds): Milliseconds {
  const shortMs = Math.max(MINIMUM_LEASE_MS, Math.min(ARRIVAL_MS, Math.ceil(windowMs / SHORT_WINDOW_LEASES)))
  return Math.min(MAXIMUM_LEASE_MS, Math.max(shortMs, bucketLength(windowMs)))
}

/** When a lease ends, and the bucket that it is charged to. */
export interface LeaseTime {
  readonly bucket: number
  readonly expiresAtMs: Milliseconds
}

/** The time of a lease that begins now. None crosses the end of a month of the calendar. */
export function leaseTime(windowMs: Milliseconds, nowMs: Milliseconds): LeaseTime {
  const endMs = nowMs + leaseLife(windowMs)
  const bucketMs = bucketLength(windowMs)
  if (bucketMs !== CALENDAR_MONTH) return { bucket: bucketAt(bucketMs, endMs), expiresAtMs: endMs }
  const bucket = bucketAt(bucketMs, nowMs)
  return { bucket, expiresAtMs: Math.min(endMs, bucketStart(bucketMs, bucket + 1)) }
}

/**
 * Says when a bucket is: `over` when no window of now reaches it, and `early` after that of a lease
 * which begins now. The time of a sidecar may be a little ahead.
 */
export function placeOf(
  windowMs: Milliseconds,
  bucket: number,
  nowMs: Milliseconds,
): 'over' | 'counted' | 'early' {
  if (bucket > leaseTime(windowMs, nowMs).bucket) return 'early'
  const bucketMs = bucketLength(windowMs)
  return isLive(bucketMs, bucket, bucketAt(bucketMs, nowMs)) ? 'counted' : 'over'
}

/** What one sidecar has of the limit. */
export interface Holding {
  /** What it may use when it hears nothing. */
  readonly share: number
  /** Sum of its buckets that count; of parallel calls, its slots. */
  readonly live: number
}

const NO_HOLDING: Holding = { share: 0, live: 0 }
const claimOf = ({ share, live }: Holding): number => Math.max(share, live)

/** What a sidecar asks for. */
export interface LeaseAsk {
  /** What its calls need now. */
  readonly need: number
  /** What it would use before it asks again. */
  readonly want: number
}

/** What a sidecar asks for of a limit of calls at a time. */
interface PlaceAsk {
  /** Calls that run, and places that are kept for the next ones. */
  readonly held: number
  /** Calls that wait for a place. */
  readonly need: number
}

/** The part of a limit that is split into shares. */
export interface ShareTerms {
  readonly limit: number
  readonly guaranteedShare: number
}

/** What the sidecars have of one limit for one subject. */
export class Holdings {
  readonly #of = new Map<string, Holding>()
  #claims = 0
  #shares = 0

  of(sidecar: string): Holding {
    return this.#of.get(sidecar) ?? NO_HOLDING
  }

  /** Replaces what a sidecar has. With a holding of nothing it still counts as a holder. */
  set(sidecar: string, holding: Holding): void {
    const before = this.of(sidecar)
    this.#claims += claimOf(holding) - claimOf(before)
    this.#shares += holding.share - before.share
    this.#of.set(sidecar, holding)
  }

  /** The sidecar holds the limit no more. */
  remove(sidecar: string): void {
    this.set(sidecar, NO_HOLDING)
    this.#of.delete(sidecar)
  }

  /** What a sidecar can get: the rest of the limit when each other one uses all that it may. */
  left(limit: number, sidecar: string): number {
    return Math.max(0, this.free(limit, sidecar))
  }

  /** As `left`; below zero when more is used than the limit. */
  free(limit: number, sidecar: string): number {
    return this.#room(limit, sidecar) - this.of(sidecar).live
  }

  /** Lends to a sidecar, as far as the limit reaches. @returns the size of the lease */
  grant(limit: number, sidecar: string, { need, want }: LeaseAsk): number {
    const left = this.left(limit, sidecar)
    const ahead = Math.floor((left * LENT_AHEAD) / Math.max(MINIMUM_HOLDERS, this.#of.size))
    const size = Math.min(left, Math.max(need, Math.min(want, ahead)))
    const { share, live } = this.of(sidecar)
    this.set(sidecar, { share, live: live + size })
    return size
  }

  /**
   * Lends places for calls: for those that run and further ones. All that run count, also where a
   * lowered limit has fewer places.
   * @returns the places below which the sidecar begins calls
   */
  grantPlaces(limit: number, sidecar: string, { held, need }: PlaceAsk): number {
    const { share } = this.of(sidecar)
    this.set(sidecar, { share, live: held })
    const size = Math.max(0, Math.min(held + need, this.#room(limit, sidecar)))
    this.set(sidecar, { share, live: Math.max(held, size) })
    return size
  }

  /** The limit without what the others may use; below zero after the limit was lowered. */
  #room(limit: number, sidecar: string): number {
    return Math.floor(limit - (this.#claims - claimOf(this.of(sidecar))))
  }

  /**
   * Splits the guaranteed part anew for one sidecar. Its share may be less than what counts: the
   * sidecar knows of that only once it says so. Room for one more holder stays, and a sidecar that
   * comes takes half of the room at most, so that each of those that come together gets some. They
   * are even once each has asked again. A sidecar has none when it would cover few of its calls.
   * @param declared the most that the sidecar uses without a hub from now on
   * @param usual what one of its calls needs on average
   * @returns the share of the sidecar
   */
  share({ limit, guaranteedShare }: ShareTerms, sidecar: string, declared: number, usual = 0): number {
    const own = this.of(sidecar)
    this.set(sidecar, own)
    const guaranteed = Math.floor(limit * guaranteedShare)
    const even = evenPart(guaranteed, this.#of.size)
    const part = own.share > 0 ? USUAL_CALL_PART.kept : USUAL_CALL_PART.begun
    const target = even < usual * part ? 0 : even
    const kept = Math.min(declared, own.share)
    const room = Math.min(limit - (this.#claims - claimOf(own)), guaranteed - (this.#shares - own.share))
    const reach = kept + Math.ceil(Math.max(0, Math.floor(room) - kept) / 2)
    const told = target <= kept ? target : Math.min(target, reach)
    this.set(sidecar, { share: Math.max(kept, told), live: own.live })
    return told
  }
}

/** The share of each holder: room for one more stays, unless it would take the last one of each. */
const evenPart = (guaranteed: number, holders: number): number =>
  Math.max(Math.floor(guaranteed / (holders + 1)), Math.min(1, Math.floor(guaranteed / holders)))
