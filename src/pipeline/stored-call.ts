// A call about an answer that the provider keeps: to read it, to cancel it, to remove it. Has no
// prompt; its answer is scanned and sealed as that of any other call.

import type { Api } from '../chat/api-format.ts'
import type { StoredFormat, StoredOperation } from '../chat/stored-format.ts'
import { matchedKey, type Selection } from '../policy/compile.ts'
import type { Client } from './call/client.ts'
import { decideUnscanned } from './decide-unscanned.ts'
import { carryOut } from './handle.ts'
import { NO_DEMAND } from './limits/quota.ts'
import { knownAnswers, shownId } from './owned-answers.ts'
import type { Admitted, Permitted, Pipeline } from './pipeline.ts'
import { Placeholders } from './scan/placeholders.ts'

/** An API whose answers are kept. */
export type StoringApi = Api & { readonly stored: StoredFormat }

/** What a client asks for. */
export interface StoredTarget {
  readonly operation: StoredOperation
  /** The id in the path, percent-encoded or not. */
  readonly id: string
  /** The query without `?`. */
  readonly search: string
}

/** In the place of an id that the log must not keep. */
const HIDDEN_ID = '[ID]'

/** Handles one call about a stored answer. Never rejects. */
export const handleStored = (
  pipeline: Pipeline,
  client: Client,
  api: StoringApi,
  target: StoredTarget,
): Promise<void> =>
  carryOut(pipeline, client, api, async (admitted) => readAndPermit(pipeline, admitted, api, target))

/**
 * Makes the permit of a call. The rules for the models of the stored answer apply.
 * @throws GatewayError (rejects) of the API when the answer is not the key's
 */
async function readAndPermit(
  pipeline: Pipeline,
  { call, admission }: Admitted,
  api: StoringApi,
  { operation, id: written, search }: StoredTarget,
): Promise<Permitted> {
  if (admission.refusal !== null) throw admission.refusal
  const { method, path, effect } = operation
  const id = decoded(written)
  const shown = shownId(id)
  const known = await knownAnswers(pipeline, call, { continued: { id }, items: [], repeated: [] })
  const own = known.own(id)
  if (own === null || own.answer.isItem) throw known.missing(api.stored.notFound(shown))
  const { answer, isElsewhere } = own
  const [model = ''] = answer.models
  const route = pipeline.upstreams.routeTo(answer.upstream, model)
  if (route === null) throw api.stored.notFound(shown)
  const { query, stream, after } = operation.readQuery(search)
  const selection = pipeline.rules().select(answer.models, matchedKey(call.key), api.name)
  const { openLabels } = selection
  const { key: nameKey } = pipeline.pseudonyms
  const placeholders = new Placeholders(null, answer.numbers, false, openLabels, nameKey)
  const { models, asksForJson } = answer
  Object.assign(call.record, { model, models, stream, asksForJson, placeholders })
  call.record.policyRevision = selection.revision
  call.record.ruleCapture = selection.capture
  call.record.stored = { type: 'asks', id, effect, answer, isElsewhere, limits: selection.limits }
  call.record.request = Buffer.from(
    JSON.stringify({ method, path: `/v1${api.target}/${shown ?? HIDDEN_ID}${path}` }),
  )
  const target = `${api.target}/${encodeURIComponent(id)}${path}${query === '' ? '' : `?${query}`}`
  const request = { ...route, method, target, body: null, defaults: api.headers } as const
  const judged = { selection: withoutUsage(selection), demand: NO_DEMAND, models }
  const permit = await decideUnscanned(pipeline, call, judged, request)
  return {
    permit,
    selection,
    // The conversation is not known, so a rule that asks about it applies.
    calls: selection.tools?.callsOfUnknown() ?? null,
    placeholders,
    restoration: null,
    documents: [],
    stream,
    includeUsage: true,
    after,
  }
}

/**
 * The rules for a call about a stored answer. Limits of tokens and money do not refuse it: the
 * model has used them already, and an answer that nobody could read would never be counted.
 */
const withoutUsage = (selection: Selection): Selection => ({
  ...selection,
  limits: selection.limits.filter(({ unit }) => unit !== 'tokens' && unit !== 'usd'),
})

function decoded(id: string): string {
  try {
    return decodeURIComponent(id)
  } catch {
    return ''
  }
}
