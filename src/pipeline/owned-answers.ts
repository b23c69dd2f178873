// Finds the stored answers that a call names. All keys share the credential of an upstream, so an
// answer is there only for the key whose call made it.

import type { ModelRequest } from '../chat/model-request.ts'
import { isStoredId, type StoredReference } from '../chat/stored-format.ts'
import type { Steps } from '../core/steps.ts'
import { kindInName } from '../detect/pii/clean-name.ts'
import type { HighestNumbers, StoredAnswer } from '../store/log/stored-answers.ts'
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

/** The id as messages and the log may show it; null for one that they must not. */
export const shownId = (id: string): string | null => (isStoredId(id) && kindInName(id) === null ? id : null)

/** The answer with this id, for the key of the call only; null otherwise. */
export function ownedAnswer(
  { stored }: Pick<Pipeline, 'stored'>,
  { key }: Call,
  id: string,
): StoredAnswer | null {
  const answer = isStoredId(id) ? stored.find(id) : null
  return answer?.keyId === key.line ? answer : null
}

const isOfAnotherKey = ({ stored }: Pick<Pipeline, 'stored'>, { key }: Call, id: string): boolean => {
  const answer = isStoredId(id) ? stored.find(id) : null
  return answer !== null && answer.keyId !== key.line
}

/**
 * Checks the stored answers that a request names, and notes whether its own answer is kept.
 * @returns null for a request that names none
 * @throws GatewayError of the API for an answer that is not the key's, and when two of them are
 *   at different upstreams
 */
export function* continueAnswers(
  pipeline: Pick<Pipeline, 'stored' | 'upstreams'>,
  call: Call,
  { body, model }: ModelRequest,
): Steps<Continuation | null> {
  const { stored: format } = call.api
  if (format === undefined) return null
  const { isKept, isBackground, continued, items, repeated } = yield* format.readRequest(body)
  call.record.stored = { type: 'makes', isKept, isBackground: isKept && isBackground }
  const find = (reference: StoredReference): StoredAnswer => {
    const answer = ownedAnswer(pipeline, call, reference.id)
    if (answer !== null && answer.isItem === (reference !== continued)) return answer
    throw reference.notFound(shownId(reference.id))
  }
  // One that no call of the gateway made may be of a provider that keeps nothing.
  const foreign = repeated.find(({ id }) => isOfAnotherKey(pipeline, call, id))
  if (foreign !== undefined) throw foreign.notFound(shownId(foreign.id))
  const [first, ...others] = continued === null ? items : [continued, ...items]
  if (first === undefined) return null
  const answer = find(first)
  for (const other of others)
    if (find(other).upstream !== answer.upstream) throw other.notFound(shownId(other.id))
  const route = pipeline.upstreams.routeTo(answer.upstream, model)
  if (route === null) throw first.notFound(shownId(first.id))
  return { routes: [route], ...(continued !== null && { numbers: answer.readNumbers }) }
}
