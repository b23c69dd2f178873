// Records sign-ins: a log line, a counter, and a sealed entry. A flood of failures makes a bounded
// number of lines and entries, and none is uncounted.

import { type Actor, UNKNOWN_ACTOR } from '../core/actor.ts'
import type { SignInMethod } from '../core/admin-role.ts'
import type { Clock, Milliseconds } from '../core/clock.ts'
import type { Metrics } from '../metrics/registry.ts'
import type { Logger } from '../pipeline/record/record.ts'
import type { Change } from '../store/log/batch.ts'
import type { UsageLog } from '../store/log/log.ts'
import { PermitBucket } from './sign-in-throttle.ts'

/**
 * Why a sign-in failed. `off`: no admin token is configured. Single sign-on has three: `no_role`
 * (the person is in no mapped group), `unfit_name` (the person's name cannot be sealed) and
 * `oidc_failed` (the identity provider vouched for nobody).
 */
export type SignInFailure = 'wrong_token' | 'throttled' | 'off' | 'no_role' | 'unfit_name' | 'oidc_failed'

/**
 * Failures sealed in a row; one more is sealed every six seconds. Throttled ones have permits of
 * their own, so that a flood of them hides no guess.
 */
const SEALED_FAILURES = 10
const SEAL_REFILL_MS: Milliseconds = 6000
/** Failures logged in a row; as many more are logged each second. */
const LOGGED_FAILURES = 20
const LOG_REFILL_MS: Milliseconds = 50

interface SignInAttempt {
  readonly address: string
  readonly result: 'ok' | SignInFailure
  readonly via?: 'oidc'
}

/** Entries and lines name the method of single sign-on only. */
const methodOf = (via: SignInMethod): Pick<SignInAttempt, 'via'> => (via === 'oidc' ? { via } : {})

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
   * Records a sign-in. Resolves when the entry is durable.
   * @param address IP address of the client
   * @param actor name of the administrator
   * @throws GatewayError `audit_unavailable` (rejects) when it cannot be sealed
   */
  async succeeded(address: string, actor: Actor, via: SignInMethod): Promise<void> {
    const method = methodOf(via)
    await this.#seal({ address, result: 'ok', ...method }, actor)
    this.#parts.metrics.signIns.inc({ result: 'ok' })
    this.#parts.logger.info({ address, result: 'ok', ...method, actor, ...this.#takeUnlogged() }, 'sign-in')
  }

  /**
   * Records a failure. Without an entry it counts in the next one. Never rejects.
   * @param reason for the log of the process; neither secret nor text of others
   */
  async failed(address: string, result: SignInFailure, via: SignInMethod, reason?: string): Promise<void> {
    const method = methodOf(via)
    const nowMs = this.#parts.clock.monotonic()
    this.#parts.metrics.signIns.inc({ result })
    if (this.#loggable.take(nowMs))
      this.#parts.logger.warn(
        { address, result, ...method, ...(reason && { reason }), ...this.#takeUnlogged() },
        'sign-in refused',
      )
    else this.#unlogged++
    const sealable = result === 'throttled' ? this.#sealableThrottled : this.#sealable
    if (!sealable.take(nowMs)) {
      this.#unsealed++
      return
    }
    await this.#seal({ address, result, ...method }, UNKNOWN_ACTOR).catch(() => {
      this.#unsealed++
    })
  }

  #takeUnlogged(): { readonly omitted?: number } {
    const omitted = this.#unlogged
    this.#unlogged = 0
    return omitted === 0 ? {} : { omitted }
  }

  async #seal(attempt: SignInAttempt, actor: Actor): Promise<void> {
    const omitted = this.#unsealed
    this.#unsealed = 0
    const draft = { type: 'sign_in', ...attempt, omitted, actor } as const
    const change: Change<void> = { draft, write: () => {}, result: undefined }
    try {
      await this.#parts.log.change(() => change)
    } catch (error) {
      this.#unsealed += omitted
      throw error
    }
  }
}
