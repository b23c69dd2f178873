// Settles what a call did to an answer that a provider keeps: whose it is from now on, and which
// entry has its tokens. The changes belong in the transaction of the call's entry.

import type { RequestDraft } from '../../audit/entry.ts'
import type { Outcome } from '../../audit/entry-fields.ts'
import type { StoredFormat } from '../../chat/stored-format.ts'
import type { JsonObject } from '../../core/json.ts'
import type { AnswerLookup } from '../../fleet/answer-lookup.ts'
import {
  type HighestNumbers,
  higherNumbers,
  MAXIMUM_STORED_MODELS,
  type StoredAnswer,
  type StoredChange,
} from '../../keys/stored-answer.ts'
import type { CounterChange } from '../../store/limits/counter-changes.ts'
import type { Counters } from '../../store/limits/counters.ts'
import type { StoredAnswers } from '../../store/log/stored-answers.ts'
import type { Call } from '../call/call.ts'
import { type AskedAnswer, type CallRecord, isAnswered, type MadeAnswer } from '../call/call-record.ts'
import { spendingOf } from '../limits/quota.ts'

/** The parts of the store that settling reads. */
export interface StoredParts {
  readonly stored: Pick<StoredAnswers, 'find' | 'claim'>
  readonly sharedAnswers: Pick<AnswerLookup, 'claim' | 'sealed'> | null
  readonly counters: Pick<Counters, 'charge'>
}

export interface StoredSettlement {
  /** False when another entry has the tokens of the answer, or will have them. */
  readonly usesTokens: boolean
  /** True when limits keep what the call reserved, until another entry has its tokens. */
  readonly keepsReserved: boolean
  readonly changes: readonly StoredChange[]
  /** Counts what an answer used that no reservation holds. Call it once. */
  charge(used: Pick<RequestDraft, 'total_tokens' | 'cost'>): readonly CounterChange[]
}

const NO_CHARGES: readonly CounterChange[] = []
const ORDINARY: StoredSettlement = {
  usesTokens: true,
  keepsReserved: false,
  changes: [],
  charge: () => NO_CHARGES,
}

/**
 * Claims the tokens of an answer that has ended for the call that reads it, over all gateways of
 * the fleet; the claim ends with the call. @returns a promise only for an answer whose tokens no
 * entry has, in a fleet
 */
export function claimTokens({ stored, sharedAnswers }: StoredParts, call: Call): boolean | Promise<boolean> {
  const { stored: role, response } = call.record
  const format = call.api.stored
  if (role?.type !== 'asks' || role.effect !== 'reads' || format === undefined) return false
  const { id, answer } = role
  if (!isAnswered(call.record) || endedIds(format, response)?.id !== id) return false
  const release = stored.claim(id, answer)
  if (release === null) return false
  call.hold(release)
  // The hub may know of an entry that has them.
  return answer.isCounted ? false : (sharedAnswers?.claim(call.key, id, call.id) ?? true)
}

/**
 * Settles a call that is about to be sealed.
 * @param isClaimed the result of `claimTokens`
 */
export function settleStored(
  parts: StoredParts,
  call: Call,
  outcome: Outcome,
  isClaimed: boolean,
): StoredSettlement {
  const { stored: role } = call.record
  const format = call.api.stored
  if (role === null || format === undefined) return ORDINARY
  if (role.type === 'makes') return settleMade(parts, call, outcome, format, role)
  const settlement = settleAsked(parts, call, format, role, isClaimed)
  // Neither its tokens nor its cost belong to this entry.
  if (!settlement.usesTokens) call.record.usage = null
  return settlement
}

/** The answer of a call belongs to its key once the client has its id. */
function settleMade(
  parts: StoredParts,
  { key, createdAtMs, record: noted }: Call,
  outcome: Outcome,
  format: StoredFormat,
  { isKept, isBackground }: MadeAnswer,
): StoredSettlement {
  const { response, upstream, models, asksForJson, estimatedPromptTokens: promptTokens } = noted
  if (response === null || upstream === null || !isAnswered(noted) || outcome === 'blocked') return ORDINARY
  const ids = isKept && models.length <= MAXIMUM_STORED_MODELS ? format.idsOf(response) : null
  const usesTokens = !(ids !== null && isBackground && format.isPending(response))
  const numbers = highestOf(noted)
  const answer: StoredAnswer = {
    ...{ keyId: key.line, upstream, createdAtMs, models, asksForJson, promptTokens, numbers },
    isItem: false,
    isCounted: usesTokens,
    readNumbers: numbers,
    ...(!usesTokens && { reserved: { tokens: noted.mostTokens, cost: noted.mostCost } }),
  }
  const containers = itemsOf(ownContainers(parts, key.line, format.containersOf(response)), answer)
  const changes =
    ids === null ? containers : [keep(ids.id, answer), ...itemsOf(ids.items, answer), ...containers]
  return { ...ORDINARY, usesTokens, keepsReserved: !usesTokens, changes }
}

/** The containers that no other key has: an answer may quote one that it did not use. */
const ownContainers = (
  { stored }: Pick<StoredParts, 'stored'>,
  keyId: string,
  ids: readonly string[],
): string[] => ids.filter((id) => (stored.find(id)?.keyId ?? keyId) === keyId)

function settleAsked(
  parts: StoredParts,
  call: Call,
  format: StoredFormat,
  { id, effect, answer, isElsewhere, limits }: AskedAnswer,
  usesTokens: boolean,
): StoredSettlement {
  const { counters } = parts
  const { record: noted, key } = call
  const nothing = { ...ORDINARY, usesTokens: false }
  if (!isAnswered(noted)) return nothing
  if (effect === 'removes') return { ...nothing, changes: [{ type: 'remove', id }] }
  const ids = effect === 'reads' ? endedIds(format, noted.response) : null
  // For an upstream that counts none.
  if (usesTokens) noted.estimatedPromptTokens = answer.promptTokens
  const containers = ownContainers(parts, key.line, format.containersOf(noted.response ?? {}))
  const readNumbers = higherNumbers(answer.readNumbers, highestOf(noted))
  const isCounted = answer.isCounted || usesTokens
  // Known here from now on, before the hub has this entry.
  const made = isElsewhere && isCounted ? { made: answer } : {}
  const update: StoredChange = { type: 'update', id, isCounted, readNumbers, ...made }
  return {
    ...ORDINARY,
    usesTokens,
    changes: usesTokens ? [update, ...itemsOf([...(ids?.items ?? []), ...containers], answer)] : [update],
    charge: ({ total_tokens, cost }) =>
      limits
        .filter(({ unit }) => unit === 'tokens' || unit === 'usd')
        .flatMap((limit) => {
          const [used, reserved] =
            limit.unit === 'usd'
              ? [cost ?? 0, answer.reserved?.cost ?? 0]
              : [total_tokens, answer.reserved?.tokens ?? 0]
          const rest = usesTokens ? used - reserved : 0
          // The gateway that counted what was reserved alone can give it back.
          const more = isElsewhere ? Math.max(0, rest) : rest
          // What was reserved in vain is given back where it was counted.
          const atMs = more > 0 ? call.createdAtMs : answer.createdAtMs
          const { run, user } = noted
          const caller = { run, user: user?.hash.toString('hex') ?? null }
          return counters.charge(spendingOf(limit, key, more, atMs, caller))
        }),
  }
}

/** The ids of an answer that is not being made any more. */
const endedIds = (format: StoredFormat, answer: JsonObject | null): ReturnType<StoredFormat['idsOf']> =>
  answer === null || format.isPending(answer) ? null : format.idsOf(answer)

const highestOf = ({ placeholders }: CallRecord): HighestNumbers => placeholders?.highest ?? {}

const keep = (id: string, answer: StoredAnswer): StoredChange => ({ type: 'keep', id, answer })

const itemsOf = (ids: readonly string[], { reserved: _, ...answer }: StoredAnswer): StoredChange[] =>
  ids.map((id) =>
    keep(id, { ...answer, isItem: true, isCounted: true, models: [], numbers: {}, readNumbers: {} }),
  )
