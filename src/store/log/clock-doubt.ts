// Tells when the wall clock may be wrong, so that nothing is removed because of an age: at a start
// long after the newest entry, and after a jump. A clock that then agrees with the time that passes
// for an hour is believed; NTP has set it by then.

import type { Clock, Milliseconds } from '../../core/clock.ts'

const HOUR_MS: Milliseconds = 3_600_000
/** A jump that raises doubt. */
const JUMP_MS: Milliseconds = 24 * HOUR_MS
/** A difference to the time that passes that prolongs it. */
const DRIFT_MS: Milliseconds = 60_000
/** Time for which the clock must agree. */
const AGREEMENT_MS: Milliseconds = HOUR_MS

export class ClockDoubt {
  readonly #clock: Clock
  /** Wall time less the time that passed, when it was last looked at. */
  #offsetMs: Milliseconds
  /** When the agreement began; null without doubt. */
  #agreesSinceMs: Milliseconds | null = null

  /** @param newestMs wall time of the newest entry; null for an empty log */
  constructor(clock: Clock, newestMs: Milliseconds | null) {
    this.#clock = clock
    this.#offsetMs = clock.now() - clock.monotonic()
    if (newestMs !== null && clock.now() - newestMs > JUMP_MS) this.#agreesSinceMs = clock.monotonic()
  }

  /** Looks at the clock and reports whether it may be wrong. Call it at least every minute. */
  isOpen(): boolean {
    const nowMs = this.#clock.monotonic()
    const offsetMs = this.#clock.now() - nowMs
    const jumpedMs = Math.abs(offsetMs - this.#offsetMs)
    this.#offsetMs = offsetMs
    const isDisturbed = jumpedMs > (this.#agreesSinceMs === null ? JUMP_MS : DRIFT_MS)
    if (isDisturbed) this.#agreesSinceMs = nowMs
    else if (this.#agreesSinceMs !== null && nowMs - this.#agreesSinceMs >= AGREEMENT_MS)
      this.#agreesSinceMs = null
    return this.#agreesSinceMs !== null
  }
}
