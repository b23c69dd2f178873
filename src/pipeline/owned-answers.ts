// Finds the stored answers that a call names. All keys share the credential of an upstream, so an
// answer is there only for the key whose call made it. In a fleet the hub knows those that other
// gateways made.

import type { ModelRequest } from '../chat/model-request.ts'
import { isStoredId, type StoredReference, type StoredUse } from '../chat/stored-format.ts'
import { GatewayError } from '../core/errors.ts'
import type { Steps } from '../core/steps.ts'
import { kindInName } from '../detect/pii/clean-name.ts'
import { type NamedAnswer, NOTHING_SHARED, type SharedAnswers } from '../fleet/answer-lookup.ts'
import { type HighestNumbers, type StoredAnswer, updatedAnswer } from '../keys/stored-answer.ts'
import type { Route } from '../upstream/upstreams.ts'
import type { Call } from './call/call.ts'
import type { Pipeline } from './pipeline.ts'

/** What a call continues. */
export interface Continuation {
  /** The only way of the call: to the upstream that keeps the answer. */
  readonly routes: readonly [Route]
  /** Highest placeholders of the answer; absent when the prompt repeats the conversation. */
  readonly numbers?: HighestNumbers
}

/** An answer of the key of a call. */
export interface OwnedAnswer {
  readonly answer: StoredAnswer
  /** Whether only the hub knows it. */
  readonly isElsewhere: boolean
}

type AnswerParts = Pick<Pipeline, 'stored' | 'sharedAnswers'>

/** The id as messages and the log may show it; null for one that they must not. */
export const shownId = (id: string): string | null => (isStoredId(id) && kindInName(id) === null ? id : null)

/** Answers that a call names, as this gateway and the hub know them. */
export class KnownAnswers {
  readonly #stored: AnswerParts['stored']
  readonly #line: string
  readonly #shared: SharedAnswers

  constructor({ stored }: Pick<AnswerParts, 'stored'>, { key }: Call, shared: SharedAnswers) {
    this.#stored = stored
    this.#line = key.line
    this.#shared = shared
  }

  /** The answer with this id, for the key of the call only; null otherwise. */
  own(id: string): OwnedAnswer | null {
    const local = this.#local(id)
    const shared = this.#shared.of(id)
    if (shared === 'removed' || shared === 'foreign') return null
    if (local !== null && local.keyId !== this.#line) return null
    if (local === null) return shared === null ? null : { answer: shared, isElsewhere: true }
    // Each may know what the other does not.
    return { answer: shared === null ? local : updatedAnswer(local, shared), isElsewhere: false }
  }

  /** Reports whether the answer is of another key. */
  isForeign(id: string): boolean {
    const local = this.#local(id)
    return local === null ? this.#shared.of(id) === 'foreign' : local.keyId !== this.#line
  }

  /** Returns the error for an answer that is not there, which says when no hub answered. */
  missing(error: GatewayError): GatewayError {
    if (!this.#shared.isAway) return error
    const { code, message, param, extra } = error
    return new GatewayError(code, `${message} ${NO_HUB}`, { ...(param !== null && { param }), extra })
  }

  #local(id: string): StoredAnswer | null {
    return isStoredId(id) ? this.#stored.find(id) : null
  }
}

const NO_HUB = 'No hub answers whether another gateway of the fleet made it; try again.'

/** Asks the hub for what this gateway does not know. @returns a promise only then */
export function knownAnswers(
  { stored, sharedAnswers }: AnswerParts,
  call: Call,
  references: Pick<StoredUse, 'items' | 'repeated'> & {
    readonly continued: Pick<StoredReference, 'id'> | null
  },
): KnownAnswers | Promise<KnownAnswers> {
  const { continued, items, repeated } = references
  if (sharedAnswers === null) return new KnownAnswers({ stored }, call, NOTHING_SHARED)
  const named = new Map<string, NamedAnswer>()
  const add = ({ id }: Pick<StoredReference, 'id'>, isRepeated: boolean, isKnown: boolean) => {
    if (isStoredId(id)) named.set(id, { id, isKnown, isRepeated })
  }
  const isKnown = (id: string): boolean => isStoredId(id) && stored.find(id) !== null
  for (const one of repeated) if (!isKnown(one.id)) add(one, true, false)
  for (const one of items) if (!isKnown(one.id)) add(one, false, false)
  // What others did to an answer counts also for the gateway that made it.
  if (continued !== null) add(continued, false, isKnown(continued.id))
  if (named.size === 0) return new KnownAnswers({ stored }, call, NOTHING_SHARED)
  return sharedAnswers
    .find(call.key, [...named.values()])
    .then((shared) => new KnownAnswers({ stored }, call, shared))
}

/** Reads what a request says of stored answers, and notes whether its own answer is kept. */
export function* readStoredUse(call: Call, { body }: ModelRequest): Steps<StoredUse | null> {
  const { stored: format } = call.api
  if (format === undefined) return null
  const use = yield* format.readRequest(body)
  const { isKept, isBackground } = use
  call.record.stored = { type: 'makes', isKept, isBackground: isKept && isBackground }
  return use
}

/**
 * Checks the stored answers that a request names.
 * @returns null for a request that names none
 * @throws GatewayError of the API for an answer that is not the key's, and when two of them are
 *   at different upstreams
 */
export function continueAnswers(
  { upstreams }: Pick<Pipeline, 'upstreams'>,
  known: KnownAnswers,
  { continued, items, repeated }: StoredUse,
  model: string,
): Continuation | null {
  const find = (reference: StoredReference): StoredAnswer => {
    const answer = known.own(reference.id)?.answer
    if (answer !== undefined && answer.isItem === (reference !== continued)) return answer
    throw known.missing(reference.notFound(shownId(reference.id)))
  }
  // One that no call of the gateway made may be of a provider that keeps nothing.
  const foreign = repeated.find(({ id }) => known.isForeign(id))
  if (foreign !== undefined) throw foreign.notFound(shownId(foreign.id))
  const [first, ...others] = continued === null ? items : [continued, ...items]
  if (first === undefined) return null
  const answer = find(first)
  for (const other of others)
    if (find(other).upstream !== answer.upstream) throw other.notFound(shownId(other.id))
  const route = upstreams.routeTo(answer.upstream, model)
  if (route === null) throw first.notFound(shownId(first.id))
  return { routes: [route], ...(continued !== null && { numbers: answer.readNumbers }) }
}
