// Records sign-ins: a log line, a counter, and a sealed entry. A flood of failures makes a bounded
// number of lines and entries, and none is uncounted.

import { type Actor, UNKNOWN_ACTOR } from '../core/actor.ts'
import type { Clock, Milliseconds } from '../core/clock.ts'
import type { Metrics } from '../metrics/registry.ts'
import type { Logger } from '../pipeline/record.ts'
import type { Change } from '../store/log/batch.ts'
import type { UsageLog } from '../store/log/log.ts'
import { PermitBucket } from './sign-in-throttle.ts'

/** Why a sign-in failed. `off`: no admin token is configured. */
export type SignInFailure = 'wrong_token' | 'throttled' | 'off'

/**
 * Failures sealed in a row; one more is sealed every six seconds. Throttled ones have permits of
 * their own, so that a flood of them hides no guess.
 */
const SEALED_FAILURES = 10
const SEAL_REFILL_MS: Milliseconds = 6000
/** Failures logged in a row; as many more are logged each second. */
const LOGGED_FAILURES = 20
const LOG_REFILL_MS: Milliseconds = 50

export interface SignInJournalParts {
  readonly log: Pick<UsageLog, 'change'>
  readonly logger: Pick<Logger, 'info' | 'warn'>
  readonly metrics: Pick<Metrics, 'signIns'>
  readonly clock: Clock
}

export class SignInJournal {
  readonly #parts: SignInJournalParts
  readonly #sealable: PermitBucket
  readonly #sealableThrottled: PermitBucket
  readonly #loggable: PermitBucket
  /** Failures without an entry since the newest one. */
  #unsealed = 0
  /** Failures without a line since the newest one. */
  #unlogged = 0

  constructor(parts: SignInJournalParts) {
    this.#parts = parts
    const nowMs = parts.clock.monotonic()
    this.#sealable = new PermitBucket(SEALED_FAILURES, SEAL_REFILL_MS, nowMs)
    this.#sealableThrottled = new PermitBucket(SEALED_FAILURES, SEAL_REFILL_MS, nowMs)
    this.#loggable = new PermitBucket(LOGGED_FAILURES, LOG_REFILL_MS, nowMs)
  }

  /**
   * Records that the token was right. Resolves when the entry is durable.
   * @param address IP address of the client
   * @param actor name of the administrator
   * @throws GatewayError `audit_unavailable` (rejects) when it cannot be sealed
   */
  async succeeded(address: string, actor: Actor): Promise<void> {
    await this.#seal(address, 'ok', actor)
    this.#parts.metrics.signIns.inc({ result: 'ok' })
    this.#parts.logger.info({ address, result: 'ok', actor, ...this.#takeUnlogged() }, 'sign-in')
  }

  /** Records a failure. Without an entry it counts in the next one. Never rejects. */
  async failed(address: string, result: SignInFailure): Promise<void> {
    const nowMs = this.#parts.clock.monotonic()
    this.#parts.metrics.signIns.inc({ result })
    if (this.#loggable.take(nowMs))
      this.#parts.logger.warn({ address, result, ...this.#takeUnlogged() }, 'sign-in refused')
    else this.#unlogged++
    const sealable = result === 'throttled' ? this.#sealableThrottled : this.#sealable
    if (!sealable.take(nowMs)) {
      this.#unsealed++
      return
    }
    await this.#seal(address, result, UNKNOWN_ACTOR).catch(() => {
      this.#unsealed++
    })
  }

  #takeUnlogged(): { readonly omitted?: number } {
    const omitted = this.#unlogged
    this.#unlogged = 0
    return omitted === 0 ? {} : { omitted }
  }

  async #seal(address: string, result: 'ok' | SignInFailure, actor: Actor): Promise<void> {
    const omitted = this.#unsealed
    this.#unsealed = 0
    const draft = { type: 'sign_in', address, result, omitted, actor } as const
    const change: Change<void> = { draft, write: () => {}, result: undefined }
    try {
      await this.#parts.log.change(() => change)
    } catch (error) {
      this.#unsealed += omitted
      throw error
    }
  }
}
