// One call, step by step, in the order of the specification. Nothing else knows this order.

import { isOneLine } from '../audit/content.ts'
import type { Api } from '../chat/api-format.ts'
import { type RemovedItems, rewriteSteps } from '../chat/json-rewrite.ts'
import type { ModelRequest } from '../chat/model-request.ts'
import type { StoredUse } from '../chat/stored-format.ts'
import { parseSteps } from '../chat/strict-json.ts'
import { tierOf } from '../chat/token-usage.ts'
import { settledWith } from '../core/deadline.ts'
import type { JsonObject } from '../core/json.ts'
import { encodeSteps, jsonSteps } from '../core/json-steps.ts'
import { atOnce, endOfTurn, inSlices, type Steps } from '../core/steps.ts'
import { matchedKey } from '../policy/compile.ts'
import type { UpstreamResponse } from '../upstream/response.ts'
import { deliverAnswer } from './answer/deliver-answer.ts'
import { documentEditsOf } from './answer/moved-citations.ts'
import type { Call } from './call/call.ts'
import { checkQuery, cleanQuery } from './call/clean-query.ts'
import { assertWaiting, type Client, leaving } from './call/client.ts'
import { coverLimits, reserveLimits } from './call/reserve-limits.ts'
import { conduct } from './conduct.ts'
import { countImages, expectedCost, moneyDemand, NO_COST, pricedModels } from './limits/money-demand.ts'
import { type Demand, demandOf, expectedTokensOf, NO_DEMAND, type QuotaParts } from './limits/quota.ts'
import { type Continuation, continueAnswers, knownAnswers, readStoredUse } from './owned-answers.ts'
import type { Admitted, Inspected, Permitted, Pipeline, Received, Recognised } from './pipeline.ts'
import { readCleanRequest } from './prompt/clean-model.ts'
import { decidePrompt, injectionJudgement } from './prompt/decide-prompt.ts'
import { countKinds, inspect } from './prompt/inspect.ts'
import { isLongBody, maxFindings, waitToScan } from './prompt/memory-turn.ts'
import { MonitoredScore } from './prompt/monitored-score.ts'
import { permittedRequests } from './prompt/permitted-requests.ts'
import { countDefinitions, judgeTools, removeTools } from './prompt/request-tools.ts'
import { recognise } from './recognise.ts'
import { denialError, restoreInBackground } from './record/failure.ts'
import { type Delivered, recordIntent } from './record/record.ts'
import { OutsideValues } from './scan/outside-values.ts'
import { rulesOfAnswer } from './scan/rules-of-answer.ts'

const DONE = Promise.resolve()

/**
 * Handles one call of an API from its head to the last byte of its answer. Never rejects.
 * @param search the query without `?`
 */
export const handle = (pipeline: Pipeline, client: Client, api: Api, search = ''): Promise<void> =>
  // Read: the body is parsed once, and what was parsed is what is sent. Chained, so that the
  // prompt's texts are free while the upstream works.
  carryOut(pipeline, client, api, (admitted) =>
    read(pipeline, admitted, search)
      // Recognise: the only wait for what is in a prompt. Without recognisers there is none.
      .then((received) => recognise(pipeline, admitted, received))
      // Inspect: personal data leaves the prompt first, so the rules judge what would be forwarded.
      .then((recognised) => inspectPrompt(pipeline, admitted, recognised))
      .then((inspected) =>
        // Decide: the only maker of a permit, which holds the bytes of everything that may leave.
        pipeline.fleetLimits === null
          ? decide(pipeline, admitted, inspected)
          : // Cover, before that: in a fleet the hub lends limits. Only this step waits for it.
            cover(pipeline, admitted, inspected).then((covered) => decide(pipeline, admitted, covered)),
      ),
  )

/** Delivers the answer of a call, except for its end. */
type Deliver<P> = (
  pipeline: Pipeline,
  admitted: Admitted,
  permitted: P,
  response: UpstreamResponse,
) => Promise<Delivered>

/**
 * Carries out a call. Never rejects.
 * @param permit reads what the client asks for and decides on it; may throw as `decide`
 */
export const carryOut = (
  pipeline: Pipeline,
  client: Client,
  api: Api,
  permit: (admitted: Admitted) => Promise<Permitted>,
): Promise<void> => carryOutWith(pipeline, client, api, permit, deliver)

/** As `carryOut`, for an answer that is delivered in another way. */
export const carryOutWith = <P extends Pick<Permitted, 'permit'>>(
  pipeline: Pipeline,
  client: Client,
  api: Api,
  permit: (admitted: Admitted) => Promise<P>,
  deliver: Deliver<P>,
): Promise<void> =>
  conduct(pipeline, client, api, async (admitted) => {
    // Read, inspect, decide: nothing leaves without a permit.
    const permitted = await permit(admitted)
    // Record the intent: a process that is killed from here on leaves a trace of the call.
    await recordIntent(pipeline, admitted.call)
    // Forward: what the permit holds, and nothing else.
    const response = await forward(pipeline, admitted, permitted)
    // Deliver: the answer is scanned by the same rules and sent, except for its end.
    return deliver(pipeline, admitted, permitted, response)
  })

/**
 * @throws GatewayError without room for the call, for a body that is not a request of the API, for
 *   a model that no upstream serves, and for a query that is not forwarded
 */
async function read(
  pipeline: Pipeline,
  { call, client, admission }: Admitted,
  search: string,
): Promise<Received> {
  if (admission.refusal !== null) throw admission.refusal
  const target = call.api.target + cleanQuery(search)
  const { admission: control, bodyBytes, clock, rules, prices, upstreams, endUsers } = pipeline
  const keep = (bytes: number) => control.keep(admission, bytes)
  const bytes = await call.waitForClient(client.readBody(bodyBytes, keep))
  await endOfTurn()
  const startMs = clock.monotonic()
  const isLong = isLongBody(bytes.length)
  const release = isLong ? call.hold(await waitToScan(pipeline, bytes)) : () => {}
  const check = () => assertWaiting(client)
  check()
  const steps = readRequest(call.api, bytes)
  const request = isLong ? await inSlices(steps, clock, check) : atOnce(steps)
  // One rule set for the whole call: a reload does not judge the answer by another policy.
  const selection = rules().select(request.models, matchedKey(call.key), call.api.name)
  checkQuery(search, selection)
  const { model, models, stream, asksForJson } = request
  Object.assign(call.record, { model, models, stream, asksForJson, policyRevision: selection.revision })
  call.record.ruleCapture = selection.capture
  call.record.prices = prices()
  // Before redaction, which would make all users alike.
  call.record.user = endUsers.read(request.body)
  call.record.run = pipeline.runs.read(request.body, client.headers)
  const named = readStoredUse(call, request)
  const use = isLong ? await inSlices(named, clock, check) : atOnce(named)
  const continuation = use === null ? null : await continuationOf(pipeline, call, use, model)
  check()
  const routes = continuation?.routes ?? upstreams.routesFor(call.api.family, model)
  call.addPhase('inspect', clock.monotonic() - startMs)
  return { bytes, request, target, routes, selection, continued: continuation?.numbers, isLong, release }
}

/** Finds what a call continues, also at the hub. @throws as `continueAnswers` (rejects) */
async function continuationOf(
  pipeline: Pipeline,
  call: Call,
  use: StoredUse,
  model: string,
): Promise<Continuation | null> {
  const known = knownAnswers(pipeline, call, use)
  return continueAnswers(pipeline, known instanceof Promise ? await known : known, use, model)
}

/** @throws GatewayError as `parseSteps` and `Api.readRequest` */
function* readRequest(api: Api, bytes: Buffer): Steps<ModelRequest> {
  const body = yield* parseSteps(bytes)
  yield
  return readCleanRequest(api, body)
}

/** @throws GatewayError when the client leaves, or for more findings than a call may hold */
async function inspectPrompt(
  pipeline: Pipeline,
  admitted: Admitted,
  recognised: Recognised,
): Promise<Inspected> {
  const { call, client } = admitted
  const { clock } = pipeline
  const startMs = clock.monotonic()
  const steps = inspectAndCapture(pipeline, admitted, recognised)
  const check = () => assertWaiting(client)
  const { received } = recognised
  const inspected = received.isLong ? await inSlices(steps, clock, check) : atOnce(steps)
  call.addPhase('inspect', clock.monotonic() - startMs)
  return { ...received, ...inspected }
}

function* inspectAndCapture(
  pipeline: Pipeline,
  { call, client }: Admitted,
  { received, walk, servers, thoughts: signed, defined, outside }: Recognised,
): Steps<Pick<Inspected, 'inspection' | 'tools' | 'json'>> {
  const { bytes, request, selection, continued, isLong, release } = received
  const { kinds, injection: model, scanCache, metrics, binaryParts, thoughts, searches } = pipeline
  const noted = call.record
  const inspection = yield* inspect(walk, selection, {
    kinds,
    injection: model,
    identifiers: pipeline.identifiers,
    scanOf: (text, shortest) => scanCache.lookUp(call.key.id, text, shortest),
    continued,
    isGivenId: (id) => pipeline.givenIds.has(call.key.line, id),
    placeholderStyle: pipeline.placeholderStyle,
    pseudonyms: pipeline.pseudonyms,
    ...(selection.watchesInjection && { scored: false }),
    maxFindings: maxFindings(searches),
    outside,
  })
  if (selection.watchesInjection) {
    const steps = inspection.score()
    const { factsWith } = inspection
    call.deferredScore = new MonitoredScore({
      ...{ call, client, steps, selection, model, factsWith, isLong, release },
    })
  }
  noted.placeholders = inspection.placeholders
  if (inspection.binaryParts > 0) metrics.binaryParts.inc({ decision: binaryParts }, inspection.binaryParts)
  noted.addFindings(countKinds(inspection.findings), selection)
  if (inspection.injection !== null)
    noted.injection = injectionJudgement(inspection.injection, selection, model)
  const tools = yield* judgeTools(defined, selection, inspection.facts)
  const gone = removeTools(defined, tools)
  if (tools.removed.size > 0)
    noted.removedTools = defined.defined.filter(({ name }) => tools.removed.has(name))
  noted.tools = yield* countDefinitions(defined, tools, kinds)
  // Each of the next steps reads the whole prompt.
  yield
  const captured = pipeline.endUsers.withoutNames(request.body)
  const isSame = !inspection.isRewritten && servers.servers === 0 && tools.removed.size === 0
  const written = isSame ? bytes : yield* rewritten(bytes, request.body, gone)
  yield
  noted.request = captured === request.body && isOneLine(written) ? written : yield* jsonSteps(captured)
  yield
  noted.estimatedPromptTokens = call.api.estimatePromptTokens(request.body)
  if (noted.prices.pricesImages) noted.images = countImages(request.body)
  // The log has the redacted form. What only the provider reads goes back as it was.
  servers.putBack()
  yield
  const restored = yield* thoughts.restore(call.key.line, signed, request.body)
  if (restored.dropped > 0) metrics.thoughtsDropped.inc(restored.dropped)
  if (servers.servers === 0 && !restored.changed) return { inspection, tools, json: written }
  yield
  const removed = new Map([...gone, ...restored.removed])
  return { inspection, tools, json: yield* rewritten(bytes, request.body, removed) }
}

function* rewritten(bytes: Buffer, body: JsonObject, removed?: RemovedItems): Steps<Buffer> {
  const source = bytes.toString('utf8')
  yield
  const text = yield* rewriteSteps(source, body, removed)
  yield
  return text === source ? bytes : yield* encodeSteps(text)
}

/** Covers what a call asks of the limits of a fleet. */
async function cover(pipeline: Pipeline, { call }: Admitted, inspected: Inspected): Promise<Inspected> {
  const { clock, fleetLimits } = pipeline
  const startMs = clock.monotonic()
  const demand = demandFor(pipeline, call, inspected)
  const limits = await coverLimits(fleetLimits!, call, inspected.selection, demand)
  call.addPhase('policy', clock.monotonic() - startMs)
  return { ...inspected, covered: { demand, limits } }
}

/**
 * @throws GatewayError `blocked_by_policy`, `model_not_allowed`, `tool_not_allowed`,
 *   `rate_limit_exceeded`, `budget_exceeded`, `price_unknown` or `invalid_parameter`
 */
function decide(pipeline: Pipeline, { call }: Admitted, inspected: Inspected): Permitted {
  const { clock } = pipeline
  const { request, target, routes, selection, inspection, tools, json, release } = inspected
  const noted = call.record
  const isBackground = noted.stored?.type === 'makes' && noted.stored.isBackground
  if (isBackground && inspection.restoration !== null) throw restoreInBackground()
  const startMs = clock.monotonic()
  const reserve = () => {
    const { counters, parallel, isLocal = false }: QuotaParts = inspected.covered?.limits ?? pipeline
    const demand = inspected.covered?.demand ?? demandFor(pipeline, call, inspected)
    return reserveLimits({ counters, parallel, isLocal, clock }, call, selection, demand).evidence
  }
  const requests = () => permittedRequests({ ...call.api, target }, request, routes, json)
  const asked = { tools, models: request.models, keyModels: call.key.terms.models }
  const decision = decidePrompt({ ...inspection, ...asked }, selection, pipeline, reserve, requests)
  call.addPhase('policy', clock.monotonic() - startMs)
  noted.hits.push(...decision.hits)
  if (decision.outcome === 'denial') {
    if (decision.reason === 'payload') call.deferredScore?.withoutRules()
    const place = decision.reason === 'blocked' ? inspection.placeOf(decision.rule) : null
    throw denialError(decision, noted.quota, call.id, place)
  }
  // Without a score to make, nobody reads the prompt's texts any more.
  if (call.deferredScore === null) release()
  const { placeholders, restoration } = inspection
  const documents = documentEditsOf(request.body, inspection.documentEdits)
  const { stream, includeUsage } = request
  const { permit } = decision
  const form = { stream, includeUsage, after: null }
  return { permit, selection, calls: tools.calls, placeholders, restoration, documents, ...form }
}

/** What a call asks of its limits. Its cost is estimated only for limits of money. */
function demandFor(
  { unknownPrice }: Pipeline,
  { api, record: noted }: Call,
  { request, routes, selection }: Pick<Inspected, 'request' | 'routes' | 'selection'>,
): Demand {
  if (!api.usesTokens) return NO_DEMAND
  const { body, maxTokens, choices } = request
  const { prices, estimatedPromptTokens: promptTokens, images } = noted
  const money = selection.limits.some(({ unit }) => unit === 'usd')
    ? moneyDemand(prices, unknownPrice(), {
        models: pricedModels(prices, request.models, routes),
        promptTokens,
        maxTokens,
        images,
        tier: tierOf(body),
      })
    : NO_COST
  if (money.type === 'priced') noted.mostCost = expectedCost(money, { maxTokens, choices })
  const demand = demandOf({ maxTokens, choices }, promptTokens, money)
  noted.mostTokens = expectedTokensOf(demand)
  noted.isUseUnknown = true
  return demand
}

/**
 * Sends what the permit holds, and makes the score that only monitoring rules read.
 * @throws GatewayError `upstream_unavailable` or `upstream_timeout`
 */
async function forward(
  { upstreams, kinds }: Pipeline,
  { call, client }: Admitted,
  { permit }: Pick<Permitted, 'permit'>,
): Promise<UpstreamResponse> {
  const forwarding = call.waitForUpstream(upstreams.forward(permit, client.headers, client, call.record))
  const scoring = call.deferredScore?.finish() ?? DONE
  // Both end first: the entry of a call that fails upstream holds the score too.
  const response = await settledWith(forwarding, scoring)
  call.record.addUpstream(response, kinds)
  await scoring.catch((error: unknown) => {
    response.abort()
    throw error
  })
  return response
}

/** @throws GatewayError `upstream_*`, `response_blocked_by_policy`, or when the client leaves */
async function deliver(
  {
    admission: control,
    clock,
    kinds,
    placeholderStyle,
    searches,
    metrics,
    minutes,
    thoughts,
    injection,
    givenIds,
    recognisers,
  }: Pipeline,
  { call, client, admission }: Admitted,
  { selection, calls, placeholders, restoration, documents, stream, includeUsage, after }: Permitted,
  response: UpstreamResponse,
): Promise<Delivered> {
  const scan = rulesOfAnswer(selection, {
    ...{ kinds, placeholderStyle, credential: response.credential },
    // Clients log error messages, so values are not restored there.
    restoration: response.status >= 400 ? null : restoration,
    ...(recognisers?.readsAnswers === true && {
      outside: new OutsideValues(recognisers, {
        ...{ keyId: call.key.id, place: 'answer', left: leaving(client) },
      }),
    }),
  })
  const keep = (bytes: number) => control.keep(admission, bytes)
  const streamBegan = () => {
    minutes.streamBegan(clock.now())
    call.hold(() => minutes.streamEnded(clock.now()))
  }
  const parts = {
    scan,
    selection,
    calls,
    placeholders,
    injection,
    documents,
    thoughts,
    givenIds,
    searches,
    clock,
    keep,
    streamBegan,
  }
  const answer = { call, client, response, ...parts }
  try {
    const delivered = await deliverAnswer(answer, { stream, includeUsage, after })
    assertWaiting(client)
    if (delivered.ending.errorCode !== null) metrics.refusals.inc({ code: delivered.ending.errorCode })
    return delivered
  } catch (error) {
    // The rest of the answer is of no use; the upstream need not finish it.
    response.abort()
    throw error
  }
}
