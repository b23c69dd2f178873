// Limits how often something of sign-ins is tried, for each address and for all together.

import { isIPv4 } from 'node:net'
import type { Clock, Milliseconds } from '../core/clock.ts'
import { formatIPv6 } from './host.ts'

const SECOND_MS: Milliseconds = 1000

export interface SignInLimits {
  /** Attempts of one address in a row. */
  readonly addressBurst: number
  /** Attempts of one address that are free again each second. */
  readonly addressRate: number
  /** Attempts of all addresses in a row; as many are free each second. */
  readonly totalBurst: number
}

/** For what an entry is sealed of: a sign-in, or a wrong token. */
export const ATTEMPTS: SignInLimits = { addressBurst: 5, addressRate: 1, totalBurst: 20 }

/**
 * For comparisons of tokens. A process that sends wrong tokens shuts its address out only beyond
 * these, and a token of 16 random characters is not found within years.
 */
export const COMPARISONS: SignInLimits = { addressBurst: 200, addressRate: 200, totalBurst: 1000 }

/** Permits that are refilled at a constant rate, up to `burst`. */
export class PermitBucket {
  readonly #burst: number
  readonly #refillMs: Milliseconds
  #permits: number
  #updatedMs: Milliseconds

  /** @param refillMs time for one permit */
  constructor(burst: number, refillMs: Milliseconds, nowMs: Milliseconds) {
    this.#burst = burst
    this.#refillMs = refillMs
    this.#permits = burst
    this.#updatedMs = nowMs
  }

  get updatedMs(): Milliseconds {
    return this.#updatedMs
  }

  /** Whether a permit is free. */
  has(nowMs: Milliseconds): boolean {
    this.#permits = Math.min(this.#burst, this.#permits + (nowMs - this.#updatedMs) / this.#refillMs)
    this.#updatedMs = nowMs
    return this.#permits >= 1
  }

  /** Takes a permit if one is free. @returns whether it was */
  take(nowMs: Milliseconds): boolean {
    if (!this.has(nowMs)) return false
    this.#permits--
    return true
  }
}

export class SignInThrottle {
  readonly #clock: Clock
  readonly #limits: SignInLimits
  /** Time in which an idle address gets its whole burst back. */
  readonly #forgetMs: Milliseconds
  readonly #all: PermitBucket
  /**
   * Buckets that may not be full, by network, the one tried longest ago first. Only attempts within
   * the total limit add one, so there are at most as many as are free in `forgetMs` and a second.
   */
  readonly #buckets = new Map<string, PermitBucket>()

  constructor(clock: Clock, limits: SignInLimits) {
    this.#clock = clock
    this.#limits = limits
    this.#forgetMs = (limits.addressBurst * SECOND_MS) / limits.addressRate
    this.#all = new PermitBucket(limits.totalBurst, SECOND_MS / limits.totalBurst, clock.monotonic())
  }

  /** Number of addresses in memory. */
  get size(): number {
    return this.#buckets.size
  }

  /** Counts an attempt. Returns whether it may go ahead; one that may not is not counted. */
  admit(address: string): boolean {
    const nowMs = this.#clock.monotonic()
    this.#forget(nowMs)
    const network = networkOf(address)
    const { addressBurst, addressRate } = this.#limits
    const bucket =
      this.#buckets.get(network) ?? new PermitBucket(addressBurst, SECOND_MS / addressRate, nowMs)
    // An address over its own limit takes nothing from the others.
    if (!bucket.has(nowMs) || !this.#all.take(nowMs)) return false
    bucket.take(nowMs)
    this.#buckets.delete(network)
    this.#buckets.set(network, bucket)
    return true
  }

  #forget(nowMs: Milliseconds): void {
    for (const [network, { updatedMs }] of this.#buckets) {
      if (nowMs - updatedMs < this.#forgetMs) return
      this.#buckets.delete(network)
    }
  }
}

/**
 * An IPv4 address is a network of its own, also in its IPv6 form. An IPv6 network is a /64, whose
 * addresses one host can use at will.
 */
function networkOf(address: string): string {
  const mapped = address.replace(/^::ffff:/i, '')
  if (isIPv4(mapped)) return mapped
  const formatted = formatIPv6(address.replace(/%.*$/, ''))
  if (formatted === null) return address
  const [head = '', tail] = formatted.split('::')
  const groups = head.split(':').filter((group) => group !== '')
  if (tail !== undefined) {
    const after = tail.split(':').filter((group) => group !== '')
    while (groups.length + after.length < 8) groups.push('0')
    groups.push(...after)
  }
  return groups.slice(0, 4).join(':')
}
