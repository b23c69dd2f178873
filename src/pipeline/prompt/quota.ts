// Token limits of one call: reserved before it is forwarded, settled to what was used when it is sealed, so that
// calls side by side cannot pass a limit that one after the other would meet.

import type { ChatRequest } from '../../chat/request.ts'
import type { KeyIdentity } from '../../core/apikey.ts'
import type { Milliseconds } from '../../core/clock.ts'
import type { Selection } from '../../policy/compile.ts'
import type { RuleReference } from '../../policy/rule.ts'
import type { CounterChange, Counters, Reservation } from '../../store/counters.ts'
import type { LimitState } from '../call.ts'

interface Held {
  readonly rule: RuleReference
  readonly limitTokens: number
  readonly reservation: Reservation
}

/** What a call takes of a limit. */
export interface Demand {
  /** Its prompt, and the answer it allows. */
  readonly tokens: number
  /** Answers whose length it does not limit; 0 where it does. */
  readonly unlimitedChoices: number
}

export const demandOf = ({ maxTokens, choices }: ChatRequest, promptTokens: number): Demand => ({
  tokens: promptTokens + (maxTokens ?? 0),
  unlimitedChoices: maxTokens === null ? choices : 0,
})

export class Quota {
  /** For the policy decision: which limits this call would pass. */
  readonly evidence: readonly { readonly rule: RuleReference; readonly exceeded: boolean }[]
  /** The limit that leaves the least, of those that refuse the call where some do; null where none applies. */
  readonly tightest: LimitState | null
  /** When the call could be let through, for `retry-after`. */
  readonly retryAfterMs: Milliseconds
  /** It asks for more than some limit that refuses it allows in a whole window: waiting is of no use. */
  readonly neverFits: boolean
  readonly #counters: Counters
  readonly #held: readonly Held[]

  /** Reserves with every limit of the selection; all of it is given back when a blocking one has no room. */
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
    // Of a call that is refused, what the others would have left says nothing: they give it back.
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
    // The call goes nowhere, and calls beside it need not wait for its entry to find that room.
    if (refusing.length > 0) this.settle(0, 0)
  }

  /**
   * Ends every reservation with the tokens that were used; the changes belong into the entry's own transaction.
   * @param answerTokens those of `usedTokens` that the answer had
   */
  settle(usedTokens: number, answerTokens: number): CounterChange[] {
    const changes: CounterChange[] = []
    for (const { reservation } of this.#held)
      changes.push(...this.#counters.settle(reservation, usedTokens, answerTokens))
    return changes
  }
}
