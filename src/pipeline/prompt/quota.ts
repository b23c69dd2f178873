// Token limits of one call: reserved before it is forwarded, settled to the real usage when it is
// sealed. Parallel calls cannot exceed a limit that the same calls in sequence would meet.

import type { ModelRequest } from '../../chat/model-request.ts'
import type { KeyIdentity } from '../../core/apikey.ts'
import type { Milliseconds } from '../../core/clock.ts'
import type { Selection } from '../../policy/compile.ts'
import type { RuleReference } from '../../policy/rule.ts'
import type { CounterChange, Counters, Reservation } from '../../store/counters.ts'

/** The tightest token limit of a call, as its headers report it. */
export interface LimitState {
  readonly limitTokens: number
  readonly remainingTokens: number
  /** From now until the limit has room again. */
  readonly resetMs: Milliseconds
}

interface ReservedLimit {
  readonly rule: RuleReference
  readonly limitTokens: number
  readonly reservation: Reservation
}

/** The tokens that a call asks of a limit. */
export interface Demand {
  /** Prompt tokens, plus the longest answer that the call allows. */
  readonly tokens: number
  /** Number of answers without a length limit; 0 when the call limits their length. */
  readonly unlimitedChoices: number
}

/** What a call asks for that uses no tokens. */
export const NO_DEMAND: Demand = { tokens: 0, unlimitedChoices: 0 }

export const demandOf = ({ maxTokens, choices }: ModelRequest, promptTokens: number): Demand => ({
  tokens: promptTokens + (maxTokens ?? 0),
  unlimitedChoices: maxTokens === null ? choices : 0,
})

export class Quota {
  /** Evidence for the decision: which limits this call exceeds. */
  readonly evidence: readonly { readonly rule: RuleReference; readonly exceeded: boolean }[]
  /**
   * The limit with the least left, among those that deny the call if any do; null when none
   * applies.
   */
  readonly tightest: LimitState | null
  /** From now until the call would pass, for `retry-after`; 0 when nothing denies it. */
  readonly retryAfterMs: Milliseconds
  /**
   * True when the call asks for more than a denying limit allows in a whole window: waiting is
   * useless.
   */
  readonly neverFits: boolean
  readonly #counters: Counters
  readonly #held: readonly ReservedLimit[]

  /**
   * Reserves with every limit of the selection; releases everything when a blocking limit has no
   * room.
   */
  constructor(
    counters: Counters,
    selection: Selection,
    key: KeyIdentity,
    demand: Demand,
    nowMs: Milliseconds,
  ) {
    this.#counters = counters
    const held = selection.limits.map(({ rule, tokens: limitTokens, windowMs }) => ({
      rule,
      limitTokens,
      reservation: counters.reserve({
        ruleId: rule.id,
        keyId: key.id,
        limitTokens,
        windowMs,
        ...demand,
        nowMs,
        force: rule.action === 'monitor',
      }),
    }))
    this.evidence = held.map(({ rule, reservation }) => ({ rule, exceeded: !reservation.allowed }))
    const refusing = held.filter(({ rule, reservation }) => rule.action === 'block' && !reservation.allowed)
    this.retryAfterMs = Math.max(0, ...refusing.map(({ reservation }) => reservation.retryAfterMs))
    this.neverFits = refusing.some(({ limitTokens }) => demand.tokens > limitTokens)
    // When the call is denied, the limits that allow it release their share; what they have left
    // says nothing.
    const least = (refusing.length > 0 ? refusing : held).toSorted(
      (a, b) => a.reservation.remaining - b.reservation.remaining,
    )[0]
    this.tightest =
      least === undefined
        ? null
        : {
            limitTokens: least.limitTokens,
            remainingTokens: least.reservation.remaining,
            resetMs: least.reservation.resetMs,
          }
    this.#held = held
    // A denied call uses nothing; release at once, so that parallel calls need not wait for its
    // entry.
    if (refusing.length > 0) this.settle(0, 0)
  }

  /**
   * Ends every reservation with the tokens used. The changes belong in the entry's own transaction.
   * @param answerTokens the part of `usedTokens` that the answer took
   */
  settle(usedTokens: number, answerTokens: number): CounterChange[] {
    const changes: CounterChange[] = []
    for (const { reservation } of this.#held)
      changes.push(...this.#counters.settle(reservation, usedTokens, answerTokens))
    return changes
  }
}
