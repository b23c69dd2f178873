// The limits of one call: reserved before it is forwarded, settled to what it used when it is
// sealed. Parallel calls cannot exceed a limit that the same calls in sequence would meet, as far
// as what they may use is known; for the rest they reserve what such calls are expected to use.
// What a call uses beyond its reservation is carried: it counts, and the next calls are refused.

import type { ModelRequest } from '../../chat/model-request.ts'
import type { Milliseconds } from '../../core/clock.ts'
import type { CallKey } from '../../core/key-terms.ts'
import type { NanoUsd } from '../../core/money.ts'
import { RETRY_AWAY_MS } from '../../fleet/hub-limit.ts'
import type { LimitRule, Selection } from '../../policy/compile.ts'
import type { LimitEvidence } from '../../policy/decide.ts'
import { EXPECTED_ANSWER_TOKENS, EXPECTED_TOOL_CALLS, RUN_WINDOW, windowLength } from '../../policy/limit.ts'
import { type Caller, countOf, NO_CALLER, subjectOf } from '../../policy/limit-scope.ts'
import type { UsageLimit } from '../../policy/types/rate-limit.ts'
import type { CounterChange } from '../../store/limits/counter-changes.ts'
import type { Counters, Reservation, ReserveRequest, Spending } from '../../store/limits/counters.ts'
import { type MoneyDemand, NO_COST } from './money-demand.ts'
import type { ParallelCalls, PlaceRequest } from './parallel-calls.ts'

/** The tightest limit of a call in one unit, as its headers report it. */
export interface LimitState {
  readonly unit: 'tokens' | 'requests'
  readonly limit: number
  readonly remaining: number
  /**
   * From now until the limit counts nothing; for a limit that denies a call, until that fits at the
   * latest.
   */
  readonly resetMs: Milliseconds
}

/** The tokens that a call asks of a limit. */
export interface Demand {
  /** Prompt tokens, plus the longest answer that the call allows. */
  readonly tokens: number
  /** Number of answers without a length limit; 0 when the call limits their length. */
  readonly unlimitedChoices: number
  readonly money: MoneyDemand
}

/** What a call asks for that uses no tokens. */
export const NO_DEMAND: Demand = { tokens: 0, unlimitedChoices: 0, money: NO_COST }

/** The tokens that a call is expected to use at most. */
export const expectedTokensOf = ({ tokens, unlimitedChoices }: Demand): number =>
  tokens + unlimitedChoices * EXPECTED_ANSWER_TOKENS

export const demandOf = (
  { maxTokens, choices }: Pick<ModelRequest, 'maxTokens' | 'choices'>,
  promptTokens: number,
  money: MoneyDemand,
): Demand => ({
  tokens: promptTokens + (maxTokens ?? 0),
  unlimitedChoices: maxTokens === null ? choices : 0,
  money,
})

/** What a call used of its limits. */
export interface Used {
  readonly tokens: number
  /** The part of `tokens` that the answer took. */
  readonly answerTokens: number
  /** Cost of the whole call; 0 when it is not known. */
  readonly cost: NanoUsd
  /** Tool calls that the answer asked for. */
  readonly toolCalls: number
  /** Whether the upstream may have read the call; only then it counts as a request. */
  readonly isForwarded: boolean
  /** Whether each limit keeps at least what it reserved, because what was used is not known. */
  readonly keepsReserved: boolean
}

/** A limit that applies to a call; without a rule, the key's own. */
export type AppliedLimit = Omit<LimitRule, 'rule'> & { readonly rule: LimitRule['rule'] | null }

interface HeldLimit {
  readonly limit: AppliedLimit
  readonly reservation: Reservation
}

/** The refusal that the error of a call names. */
export interface Refusal {
  /** The first limit that denies it. */
  readonly limit: AppliedLimit
  /** From now until the call passes all of them at the latest; 0 when no wait helps. */
  readonly retryAfterMs: Milliseconds
  /** True when it may pass earlier, as soon as running calls end that use less than they hold. */
  readonly isHeld: boolean
  /** True when the call asks for more than a whole window allows: waiting is useless. */
  readonly neverFits: boolean
  /** True when the named limit is of a run and used up: the client has to begin another run. */
  readonly isRunOver: boolean
  /** True when the call names its run; the calls of a key without one share a count. */
  readonly hasRun: boolean
  readonly nowMs: Milliseconds
  /** True when the limit counts money and the call's cost cannot be known. */
  readonly hasNoPrice: boolean
  /** True when no hub answered, and the call may be within the limit over the fleet. */
  readonly isAway: boolean
  /** True when this process then counts the limit alone. */
  readonly isAlone: boolean
}

/** What the limits of a call are counted in. */
export interface QuotaParts {
  readonly counters: Pick<Counters, 'reserve' | 'settle'>
  readonly parallel: Pick<ParallelCalls, 'enter'>
  /** True when a limit of the hub is counted in this process alone, because no hub answers. */
  readonly isLocal?: boolean
}

/**
 * Retry time for a limit of parallel calls. One of them may end at any moment, but SDKs give up
 * after two retries.
 */
const RETRY_WHILE_RUNNING_MS: Milliseconds = 5000

/**
 * What a call of the key spends of a limit without a reservation.
 * @param tokens 1 for a limit of requests; 10⁻⁹ USD for a limit of money
 */
export const spendingOf = (
  limit: LimitRule,
  key: Pick<CallKey, 'line' | 'terms'>,
  tokens: number,
  atMs: Milliseconds,
  caller: Caller = NO_CALLER,
): Spending => ({
  ruleId: countOf(limit),
  subject: subjectOf(limit.scope, key, caller),
  windowMs: limit.windowMs,
  tokens,
  atMs,
})

export class Quota {
  /** Evidence for the decision: which limits this call exceeds. */
  readonly evidence: readonly LimitEvidence[]
  /**
   * The limit of each unit with the least left, among those that deny the call if any do. At most
   * one for tokens and one for requests.
   */
  readonly states: readonly LimitState[]
  /** Null when no limit denies the call. */
  readonly refusal: Refusal | null
  readonly #counters: QuotaParts['counters']
  readonly #held: readonly HeldLimit[]
  /** Each ends one of the call's places among parallel calls. */
  readonly #places: (() => void)[] = []

  /**
   * Reserves with every limit of the selection and of the key; releases everything when a blocking
   * limit has no room.
   */
  constructor(
    { counters, parallel, isLocal = false }: QuotaParts,
    selection: Selection,
    key: CallKey,
    demand: Demand,
    nowMs: Milliseconds,
    caller: Caller = NO_CALLER,
  ) {
    this.#counters = counters
    const reserve = (limit: AppliedLimit): Reservation => {
      const subject = subjectOf(limit.scope, key, caller)
      const force = limit.rule?.action === 'monitor'
      if (limit.unit === 'parallel' || limit.rule === null)
        return this.#reserveParallel(parallel, { ...limit, subject, force })
      const { rule, unit, amount: limitTokens, windowMs } = limit
      const asked = askedOf(unit, demand)
      if (asked === null) return NO_PRICE
      const ruleId = countOf({ rule, unit })
      return counters.reserve({ ruleId, subject, limitTokens, windowMs, ...asked, nowMs, force })
    }
    const held = limitsOf(selection, key, demand.money).map((limit) => ({
      limit,
      reservation: reserve(limit),
    }))
    this.evidence = held.map(({ limit, reservation }) => ({
      rule: limit.rule,
      exceeded: !reservation.allowed,
    }))
    const refusing = held.filter(
      ({ limit, reservation }) => !reservation.allowed && limit.rule?.action !== 'monitor',
    )
    this.refusal = refusalOf(refusing, { demand, caller, isLocal, nowMs })
    // When the call is denied, the limits that allow it release their share; what they have left
    // says nothing.
    this.states = statesOf(refusing.length > 0 ? refusing : held)
    this.#held = held
    // A denied call uses nothing; release at once, so that parallel calls need not wait for its
    // entry.
    if (refusing.length > 0) this.settle(NOTHING)
  }

  #reserveParallel(parallel: QuotaParts['parallel'], request: PlaceRequest): Reservation {
    const { allowed, remaining, end, isAway = false } = parallel.enter(request)
    this.#places.push(end)
    return {
      allowed,
      remaining,
      resetMs: 0,
      retryAfterMs: allowed ? 0 : isAway ? RETRY_AWAY_MS : RETRY_WHILE_RUNNING_MS,
      isHeld: !allowed,
      isAway,
    }
  }

  /**
   * Ends every reservation with what was used. The changes belong in the entry's own transaction.
   * Further calls return none.
   */
  settle(used: Used): CounterChange[] {
    this.release()
    return this.#held.flatMap(({ limit, reservation }) => {
      const [amount, answer] = usedOf(limit.unit, used)
      const isCounted = limit.unit === 'requests' || limit.unit === 'tool_calls'
      const keepsReserved = used.keepsReserved && !isCounted
      return this.#counters.settle(reservation, amount, answer, keepsReserved)
    })
  }

  /** Ends the call's places among parallel calls; further calls do nothing. */
  release(): void {
    for (const end of this.#places.splice(0)) end()
  }
}

const NOTHING: Used = {
  ...{ tokens: 0, answerTokens: 0, cost: 0, toolCalls: 0 },
  isForwarded: false,
  keepsReserved: false,
}

interface RefusedCall {
  readonly demand: Demand
  readonly caller: Caller
  /** Whether this process counts the limits of the hub alone. */
  readonly isLocal: boolean
  readonly nowMs: Milliseconds
}

/** What the error of a call says that some limits refuse; null for none. */
function refusalOf(
  refusing: readonly HeldLimit[],
  { demand, caller, isLocal, nowMs }: RefusedCall,
): Refusal | null {
  const first =
    refusing.find(({ reservation }) => reservation === NO_PRICE) ??
    refusing.find(isRunOver) ??
    refusing.find(({ reservation }) => reservation.isAway !== true) ??
    refusing[0]
  if (first === undefined) return null
  const isTooMuch = refusing.some(({ limit }) => neverFits(limit, demand))
  const isUseless = isTooMuch || refusing.some(isRunOver)
  return {
    limit: first.limit,
    retryAfterMs: isUseless ? 0 : Math.max(...refusing.map(retryAfterOf)),
    isHeld: refusing.every(({ reservation }) => reservation.isHeld),
    neverFits: isTooMuch,
    isRunOver: isRunOver(first),
    hasRun: caller.run !== null,
    nowMs,
    hasNoPrice: first.reservation === NO_PRICE,
    isAway: first.reservation.isAway === true,
    isAlone: first.reservation.isAway === true && isLocal,
  }
}

/**
 * Whether a limit of a run is used up. It comes back only when the run has been idle for days, so
 * that its client must not wait for it.
 */
const isRunOver = ({ limit, reservation: { isHeld, retryAfterMs } }: HeldLimit): boolean =>
  limit.windowMs === RUN_WINDOW && !isHeld && retryAfterMs >= windowLength(RUN_WINDOW, 0)

/**
 * When a refused call passes at the latest. What running calls hold of a run is free only once they
 * end: it counts for days after that, so that the time of the window says nothing.
 */
const retryAfterOf = ({ limit, reservation: { isHeld, retryAfterMs } }: HeldLimit): Milliseconds =>
  isHeld && limit.windowMs === RUN_WINDOW ? RETRY_WHILE_RUNNING_MS : retryAfterMs

/** In the place of a reservation, for a limit of money on a call without a price. */
const NO_PRICE: Reservation = { allowed: false, remaining: 0, resetMs: 0, retryAfterMs: 0, isHeld: false }

type Asked = Pick<ReserveRequest, 'tokens' | 'unlimitedChoices' | 'expectedAnswer' | 'expectsHighest'>

const ONE_REQUEST: Asked = { tokens: 1, unlimitedChoices: 0, expectedAnswer: 0 }
/** One tool call, and further ones as far as they fit: as many as an answer has had at most. */
const TOOL_CALLS: Asked = {
  ...{ tokens: 1, unlimitedChoices: 1, expectedAnswer: EXPECTED_TOOL_CALLS - 1 },
  expectsHighest: true,
}

/** What a call asks of a limit of a unit; null for money that is not known. */
export function askedOf(unit: UsageLimit['unit'], { tokens, unlimitedChoices, money }: Demand): Asked | null {
  if (unit === 'tokens') return { tokens, unlimitedChoices, expectedAnswer: EXPECTED_ANSWER_TOKENS }
  if (unit === 'tool_calls') return TOOL_CALLS
  if (unit !== 'usd') return ONE_REQUEST
  if (money.type !== 'priced') return null
  return { tokens: money.most, unlimitedChoices, expectedAnswer: money.answer }
}

/** Reports whether a call asks for more than a whole window of a limit allows. */
export const neverFits = ({ unit, amount }: AppliedLimit, demand: Demand): boolean =>
  (askedOf(unit, demand)?.tokens ?? 0) > amount

/** What a call used of a limit of a unit, and the part that the answer took. */
function usedOf(
  unit: UsageLimit['unit'],
  { tokens, answerTokens, cost, toolCalls, isForwarded }: Used,
): [amount: number, answer: number] {
  if (unit === 'tokens') return [tokens, answerTokens]
  if (unit === 'tool_calls') return [toolCalls, toolCalls]
  if (unit !== 'usd') return [Number(isForwarded), 0]
  // A cost without tokens is that of the answer.
  return [cost, tokens === 0 ? cost : Math.round(cost * (answerTokens / tokens))]
}

/** The limits of the rules, and the key's own limit of parallel calls. */
export function limitsOf(
  { limits }: Selection,
  { terms }: CallKey,
  money: MoneyDemand,
): readonly AppliedLimit[] {
  // A rule that monitors lets a call pass whose cost it cannot count.
  const counted =
    money.type === 'priced'
      ? limits
      : limits.filter(
          ({ unit, rule }) => unit !== 'usd' || (money.type === 'refused' && rule.action === 'block'),
        )
  if (terms.maxParallel === null) return counted
  const own = { unit: 'parallel', amount: terms.maxParallel, windowMs: 0, scope: 'key' } as const
  return [...counted, { rule: null, ...own }]
}

function statesOf(held: readonly HeldLimit[]): LimitState[] {
  if (held.length === 0) return []
  return (['tokens', 'requests'] as const).flatMap((unit) => {
    const [least] = held
      .filter(({ limit }) => limit.unit === unit)
      .sort((a, b) => a.reservation.remaining - b.reservation.remaining)
    if (least === undefined) return []
    const { allowed, remaining, resetMs, retryAfterMs } = least.reservation
    const waits = !allowed && retryAfterMs > 0
    return [{ unit, limit: least.limit.amount, remaining, resetMs: waits ? retryAfterMs : resetMs }]
  })
}
