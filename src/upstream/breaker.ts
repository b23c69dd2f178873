// Spares an upstream that fails: after some failures in a row calls pass it over, and after a time
// one call tries it again.

import type { Clock, Milliseconds } from '../core/clock.ts'

export interface BreakerSettings {
  /** Failures in a row that open it. */
  readonly failures: number
  readonly openSeconds: number
}

export class CircuitBreaker {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #settings: BreakerSettings | null
  #failures = 0
  /** Monotonic time from which one call may try again; null while it is closed. */
  #probeAtMs: Milliseconds | null = null

  /** @param settings null for one that never opens */
  constructor(settings: BreakerSettings | null, clock: Pick<Clock, 'monotonic'>) {
    this.#settings = settings
    this.#clock = clock
  }

  /** True after too many failures, until a call succeeds. */
  get isOpen(): boolean {
    return this.#probeAtMs !== null
  }

  /** Time until a call may try again; 0 when one may now. */
  get waitMs(): Milliseconds {
    return this.#probeAtMs === null ? 0 : Math.max(0, this.#probeAtMs - this.#clock.monotonic())
  }

  /**
   * Asks to send a call. While it is open, one call gets through each `openSeconds`.
   * @returns whether the call may be sent
   */
  enter(): boolean {
    if (this.#probeAtMs === null) return true
    if (this.waitMs > 0) return false
    this.#open()
    return true
  }

  succeed(): void {
    this.#failures = 0
    this.#probeAtMs = null
  }

  fail(): void {
    if (this.#settings === null) return
    if (++this.#failures >= this.#settings.failures) this.#open()
  }

  #open(): void {
    this.#probeAtMs = this.#clock.monotonic() + (this.#settings?.openSeconds ?? 0) * 1000
  }
}
