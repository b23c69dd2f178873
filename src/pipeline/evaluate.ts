// A dry run: inspects and judges a request without forwarding, counting, logging or sealing it.

import type { Api } from '../chat/api-format.ts'
import { APIS, apiNamed } from '../chat/apis.ts'
import { CHAT } from '../chat/chat-api.ts'
import type { ModelRequest } from '../chat/model-request.ts'
import { parseReceived } from '../chat/strict-json.ts'
import type { Texts } from '../chat/texts.ts'
import { tierOf } from '../chat/token-usage.ts'
import { GatewayError } from '../core/errors.ts'
import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import type { KeyLabels } from '../core/key-terms.ts'
import { toUsd } from '../core/money.ts'
import { atOnce, nowOrInSlices } from '../core/steps.ts'
import type { Selection } from '../policy/compile.ts'
import type { PriceBook } from '../prices/price-book.ts'
import type { InjectionEvidence } from './call/call-record.ts'
import { countImages, expectedCost, moneyDemand } from './limits/money-demand.ts'
import type { Pipeline } from './pipeline.ts'
import { readCleanRequest } from './prompt/clean-model.ts'
import { judgePrompt } from './prompt/decide-prompt.ts'
import { inspect } from './prompt/inspect.ts'
import { maxFindings } from './prompt/memory-turn.ts'
import { recognisePrompt } from './prompt/recognise-prompt.ts'
import { countDefinitions, judgeTools, readTools, removeTools } from './prompt/request-tools.ts'

/** Key name for a request that names none. */
const DEFAULT_KEY_NAME = 'evaluate'

/**
 * Judges a request body as its endpoint would. `api` among its fields names the API, `chat` by
 * default, `key_name` the key and `key_labels` its labels. The terms of a key are left out, and so
 * are limits: they depend on traffic, not on the request. The injection score is reported even
 * when no rule asks for it, so that people can see it before they write the rule.
 *
 * Offsets of findings refer to the strings in `input`. The injection span refers to the strings in
 * `redacted`, which are the ones that are scored.
 * @throws GatewayError (rejects) as the endpoint would, and for an unknown API
 */
export async function evaluate(pipeline: Pipeline, input: JsonValue): Promise<JsonObject> {
  if (!isObject(input)) throw new GatewayError('invalid_body', 'The body must be a JSON object.')
  const {
    key_name: keyName = DEFAULT_KEY_NAME,
    key_labels: labels = {},
    api: name = CHAT.name,
    ...body
  } = input
  if (typeof keyName !== 'string') {
    throw new GatewayError('invalid_body', 'key_name must be a string.', { param: 'key_name' })
  }
  if (!isObject(labels) || Object.values(labels).some((value) => typeof value !== 'string')) {
    throw new GatewayError('invalid_body', 'key_labels must be an object of strings.', {
      param: 'key_labels',
    })
  }
  const api = apiNamed(name)
  if (api === null) {
    const names = APIS.map((one) => one.name).join(', ')
    throw new GatewayError('invalid_body', `api: must be one of ${names}.`, { param: 'api' })
  }
  const request = readCleanRequest(api, body)
  const { clock, kinds, injection, searches, identifiers, placeholderStyle, pseudonyms } = pipeline
  const selection = pipeline
    .rules()
    .select(request.models, { name: keyName, labels: labels as KeyLabels }, api.name)
  const defined = readTools(api, request.body, selection)
  const walk = atOnce(api.requestTexts(request.body, selection.readsNumbers('request')))
  const outside = await recogniseDryRun(pipeline, walk.texts)
  const steps = inspect(walk, selection, {
    outside,
    kinds,
    injection,
    identifiers,
    placeholderStyle,
    pseudonyms,
    scored: true,
    maxFindings: maxFindings(searches),
  })
  const inspection = await nowOrInSlices(steps, clock)
  const tools = await nowOrInSlices(judgeTools(defined, selection, inspection.facts), clock)
  removeTools(defined, tools)
  const use = await nowOrInSlices(countDefinitions(defined, tools, kinds), clock)
  const decision = judgePrompt(
    { ...inspection, tools, models: request.models, keyModels: null },
    selection,
    pipeline,
  )
  return {
    decision: decision.outcome === 'denial' ? 'block' : 'allow',
    rules: decision.hits.map(({ rule, direction }) => ({ ...rule, direction })),
    findings: inspection.findings.map(({ place, decision: _, ...finding }) => ({
      ...finding,
      part: place,
      direction: 'request',
    })),
    tools: (use?.sealed() ?? []).map(({ name, refused }) => ({ name, refused: refused > 0 })),
    injection: describeInjection(inspection.injection!, selection, pipeline),
    estimated_cost: estimatedCost(pipeline.prices(), api, request),
    redacted: parseReceived(String(bodyToSend(api, request))),
  }
}

const NEVER = new AbortController().signal

/** Asks the recognisers as for a call; null without any. */
const recogniseDryRun = ({ recognisers, clock }: Pipeline, texts: Texts['texts']) =>
  recognisers === null ? null : recognisePrompt(recognisers, texts, { keyId: '', left: NEVER }, clock)

/** What the call would cost with its longest or expected answer, USD; null without a price. */
function estimatedCost(book: PriceBook, api: Api, { body, models, maxTokens, choices }: ModelRequest) {
  if (!api.usesTokens) return 0
  const promptTokens = api.estimatePromptTokens(body)
  const images = countImages(body)
  const money = moneyDemand(book, 'ignore', { models, promptTokens, maxTokens, images, tier: tierOf(body) })
  return money.type === 'priced' ? toUsd(expectedCost(money, { maxTokens, choices })) : null
}

const bodyToSend = (api: Api, request: ModelRequest): Buffer =>
  api.upstreamBodies(request, Buffer.from(JSON.stringify(request.body)), 'auto')[0]

function describeInjection(
  { score, path, span, reasons }: InjectionEvidence,
  selection: Selection,
  { injection }: Pick<Pipeline, 'injection'>,
): JsonObject {
  const thresholds = selection.injection.map(({ threshold }) => threshold ?? injection.threshold)
  return {
    score,
    // The lowest score at which a rule fires.
    threshold: thresholds.length === 0 ? injection.threshold : Math.min(...thresholds),
    path,
    span: span === null ? null : { ...span },
    reasons: [...reasons],
    model: injection.version,
  }
}
