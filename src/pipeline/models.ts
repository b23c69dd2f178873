// Lists the models of the upstreams, after the same key check as a call. Counts and seals nothing.

import { errorBody, GatewayError, toGatewayError } from '../core/errors.ts'
import type { CallKey } from '../core/key-terms.ts'
import { detect } from '../detect/pii/detect.ts'
import type { KindSet } from '../detect/pii/kinds.ts'
import { type AccessTest, accessOf } from '../policy/access-list.ts'
import { matchedKey } from '../policy/compile.ts'
import { clientHeaders, retryHeaders } from '../upstream/headers.ts'
import { type UpstreamResponse, unusableStatus, upstreamRequestId } from '../upstream/response.ts'
import { failureReason, failureStatus, isFailed, readFailure } from './answer/failed-answer.ts'
import { readAll } from './answer/whole-answer.ts'
import { type Admission, drainingError } from './call/admission.ts'
import { authenticate } from './call/authenticate.ts'
import { forwardedHeaders } from './call/call-headers.ts'
import type { Client } from './call/client.ts'
import { findModel, type ModelSource, mergedBody, modelsIn } from './model-list.ts'
import type { Pipeline } from './pipeline.ts'
import { removeFromJson } from './scan/credential-filter.ts'

/** Largest list of one upstream, bytes. */
const MAXIMUM_LIST_BYTES = 16 * 1024 * 1024

const JSON_TYPE = { 'content-type': 'application/json' }

/** Answers `GET /v1/models`. Never rejects. */
export const listModels = (pipeline: Pipeline, client: Client): Promise<void> =>
  answer(pipeline, client, null)

/**
 * Answers `GET /v1/models/{model}` from the list. Not every upstream has that path, and the name in
 * it would reach the upstream unscanned. Never rejects.
 * @param model as in the path, percent-encoded or not
 */
export const retrieveModel = (pipeline: Pipeline, client: Client, model: string): Promise<void> =>
  answer(pipeline, client, model)

/** A request for a list, as its headers report it. */
const newRequest = () => ({
  attempts: 0,
  upstream: null as string | null,
  upstreamRequestId: null as string | null,
})

/** @param model the only one to send; null for all */
async function answer(pipeline: Pipeline, client: Client, model: string | null): Promise<void> {
  const { admission, metrics, upstreams } = pipeline
  const id = pipeline.newId()
  const sent = newRequest()
  const headers = () => ({ 'x-request-id': id, ...forwardedHeaders(sent) })
  let place: Admission | null = null
  try {
    if (admission.draining) throw drainingError()
    const key = await authenticate(pipeline, client)
    const isShown = shownTo(pipeline, key)
    // A list uses one of the upstream connections, so it counts as a call in flight.
    place = admission.enter(client)
    if (place.refusal !== null) throw place.refusal
    const [only, ...others] = upstreams.names
    if (others.length === 0) await passOn(pipeline, client, { name: only!, model, isShown, sent, headers })
    else {
      const body = mergedBody(await readLists(pipeline, client, isShown), model)
      client.respond(200, { ...JSON_TYPE, ...headers() }, body)
    }
  } catch (error) {
    const failure = client.interrupted ? drainingError() : toGatewayError(error)
    metrics.refusals.inc({ code: failure.code })
    if (failure.code === 'internal_error')
      pipeline.logger.error({ err: error }, 'unexpected error listing models')
    client.fail(failure, headers())
  } finally {
    if (place !== null) admission.leave(place)
  }
}

/** Passes on the list of the only upstream, or one model of it, byte for byte. */
async function passOn(
  { kinds, metrics, upstreams }: Pipeline,
  client: Client,
  {
    name,
    model,
    isShown,
    sent,
    headers,
  }: {
    readonly name: string
    readonly model: string | null
    readonly isShown: AccessTest | null
    readonly sent: ReturnType<typeof newRequest>
    readonly headers: () => Record<string, string>
  },
): Promise<void> {
  sent.upstream = name
  const response = await upstreams.models(name, client.headers, client, sent)
  sent.upstreamRequestId = upstreamRequestId(response, kinds)
  if (isFailed(response)) {
    const reason = await reasonOf(response, kinds)
    metrics.refusals.inc({ code: 'upstream_unavailable' })
    const body = errorBody(new GatewayError('upstream_unavailable', reason))
    const status = failureStatus(response.status)
    client.respond(status, { ...retryHeaders(response), ...JSON_TYPE, ...headers() }, body)
    return
  }
  const list = removeFromJson(await readAll(response), response.credential)
  const body = response.status === 200 ? bodyOf(list, model, isShown) : list
  client.respond(response.status, { ...clientHeaders(response, false), ...headers() }, body)
}

/** The list as received where nothing is left out; else a list of shown models, or one model. */
function bodyOf(list: Buffer, model: string | null, isShown: AccessTest | null): Buffer | string {
  if (isShown === null) return model === null ? list : JSON.stringify(findModel(modelsIn(list), model))
  // Made anew, because the members around the models may name hidden ones.
  return mergedBody([{ models: modelsIn(list), clientNames: (name) => [name].filter(isShown) }], model)
}

/** A list is of no API: rules for some of them do not hide a model. */
const NO_API = ''

/** Which models a key may call; null for all. */
function shownTo({ rules }: Pick<Pipeline, 'rules'>, key: CallKey): AccessTest | null {
  const inForce = rules()
  const isOwn = accessOf(key.terms.models)
  const byRules: AccessTest = (model) =>
    inForce
      .select([model], matchedKey(key), NO_API)
      .access.every(({ rule, allows }) => rule.action !== 'block' || allows(model))
  const isLimited = key.terms.models !== null || inForce.rules.some(({ type }) => type === 'model_access')
  return isLimited ? (model) => isOwn(model) && byRules(model) : null
}

/**
 * Reads the lists of all upstreams. One that fails is left out and counted.
 * @throws GatewayError `upstream_unavailable` when all of them fail
 */
async function readLists(
  { metrics, upstreams }: Pipeline,
  client: Client,
  isShown: AccessTest | null,
): Promise<readonly ModelSource[]> {
  const sources = await Promise.all(
    upstreams.names.map(async (name): Promise<ModelSource | null> => {
      try {
        const response = await upstreams.models(name, client.headers, client, newRequest())
        const list = removeFromJson(
          await readAll(response, () => {}, MAXIMUM_LIST_BYTES),
          response.credential,
        )
        if (response.status !== 200) throw new Error(unusableStatus(response.status))
        const clientNames = (model: string) => upstreams.clientNames(name, model)
        return {
          models: modelsIn(list),
          clientNames: isShown === null ? clientNames : (model) => clientNames(model).filter(isShown),
        }
      } catch {
        metrics.upstreamListsFailed.inc({ upstream: name })
        return null
      }
    }),
  )
  const found = sources.filter((source) => source !== null)
  if (found.length === 0) throw new GatewayError('upstream_unavailable', 'No upstream could list its models.')
  return found
}

/** Why the upstream failed, without personal data: with some, its status alone. */
async function reasonOf(response: UpstreamResponse, kinds: KindSet): Promise<string> {
  const received = removeFromJson(await readFailure(response), response.credential)
  const reason = failureReason(response.status, received)
  return detect(reason, kinds).length === 0 ? reason : unusableStatus(response.status)
}
