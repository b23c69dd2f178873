// Tells when the wall clock may be wrong, so that nothing is removed because of an age: at a start
// long after the newest entry, and after a jump. A clock that then agrees with the time that passes
// for an hour is believed; NTP has set it by then. So is one of which an administrator says that it
// is right.

import type { Actor } from '../../core/actor.ts'
import type { Clock, Milliseconds } from '../../core/clock.ts'
import { readU64, u64 } from '../tables/layout.ts'
import type { StoreTables } from '../tables/sub-databases.ts'
import type { UsageLog } from './log.ts'

const HOUR_MS: Milliseconds = 3_600_000
/** A jump that raises doubt. */
const JUMP_MS: Milliseconds = 24 * HOUR_MS
/** A difference to the time that passes that prolongs it. */
const DRIFT_MS: Milliseconds = 60_000
/** Time for which the clock must agree. */
const AGREEMENT_MS: Milliseconds = HOUR_MS
/** Row with the sequence number of the newest entry that says that the clock is right. */
const TRUST_KEY = Buffer.from('clock-trusted')

/** Why nothing is removed for its age while the clock is doubted. */
export const CLOCK_DOUBT =
  'the clock is more than a day ahead of the usage log or jumped; nothing is removed for its age until the clock is steady for an hour, or an administrator says that it is right (sidegate audit trust-clock)'

/** Seals that the clock is right. Any doubt that began before ends within a second. */
export const trustClock = (
  log: Pick<UsageLog, 'change'>,
  { meta }: Pick<StoreTables, 'meta'>,
  actor: Actor,
): Promise<void> =>
  log.change(() => ({
    draft: { type: 'clock_trusted', actor },
    write: (seq) => meta.put(TRUST_KEY, u64(seq)),
    result: undefined,
  }))

/** Sequence number of the newest entry that says that the clock is right; -1 without one. */
export function trustedSeq({ meta }: Pick<StoreTables, 'meta'>): number {
  const row = meta.get(TRUST_KEY)
  return row === undefined ? -1 : readU64(row)
}

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

  /** Ends the doubt, until the next jump. */
  end(): void {
    this.#agreesSinceMs = null
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
