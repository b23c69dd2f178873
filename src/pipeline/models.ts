// Lists the upstream's models, after the same key check as a call. Counts and seals nothing.

import { isTooDeep } from '../chat/strict-json.ts'
import { errorBody, GatewayError, toGatewayError } from '../core/errors.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import { detect } from '../detect/pii/detect.ts'
import type { KindSet } from '../detect/pii/kinds.ts'
import { clientHeaders, retryHeaders } from '../upstream/headers.ts'
import { type UpstreamResponse, unusableStatus, upstreamRequestId } from '../upstream/response.ts'
import { type Admission, drainingError } from './admission.ts'
import { failureReason, failureStatus, isFailed, readFailure } from './answer/failed-answer.ts'
import { readAll } from './answer/whole-answer.ts'
import { authenticate } from './authenticate.ts'
import { forwardedHeaders } from './call-headers.ts'
import type { Client } from './client.ts'
import type { Pipeline } from './pipeline.ts'
import { removeFromJson } from './scan/credential-filter.ts'

/** Answers `GET /v1/models`. Never rejects. */
export const listModels = (pipeline: Pipeline, client: Client): Promise<void> =>
  answer(pipeline, client, (list) => list)

/**
 * Answers `GET /v1/models/{model}` from the list. Not every upstream has that path, and the name in
 * it would reach the upstream unscanned. Never rejects.
 * @param model as in the path, percent-encoded or not
 */
export const retrieveModel = (pipeline: Pipeline, client: Client, model: string): Promise<void> =>
  answer(pipeline, client, (list) => JSON.stringify(findModel(list, model)))

/** @param choose selects what to send of the list, when the upstream answers with 200 */
async function answer(
  pipeline: Pipeline,
  client: Client,
  choose: (list: Buffer) => string | Buffer,
): Promise<void> {
  const { admission, kinds, metrics } = pipeline
  const id = pipeline.newId()
  const sent = { model: '', attempts: 0, upstreamRequestId: null as string | null }
  const headers = () => ({ 'x-request-id': id, ...forwardedHeaders(sent) })
  let place: Admission | null = null
  try {
    if (admission.draining) throw drainingError()
    authenticate(pipeline.keys, client.headers)
    // A list uses one of the upstream connections, so it counts as a call in flight.
    place = admission.enter(client)
    if (place.refusal !== null) throw place.refusal
    const response = await pipeline.upstream.models(client.headers, client, sent)
    sent.upstreamRequestId = upstreamRequestId(response, kinds)
    if (isFailed(response)) {
      const reason = await reasonOf(response, kinds)
      metrics.refusals.inc({ code: 'upstream_unavailable' })
      const body = errorBody(new GatewayError('upstream_unavailable', reason))
      const type = { 'content-type': 'application/json' }
      client.respond(
        failureStatus(response.status),
        { ...retryHeaders(response.headers), ...type, ...headers() },
        body,
      )
      return
    }
    const list = removeFromJson(await readAll(response), response.credential)
    const body = response.status === 200 ? choose(list) : list
    client.respond(response.status, { ...clientHeaders(response.headers), ...headers() }, body)
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

/** Why the upstream failed, without personal data: with some, its status alone. */
async function reasonOf(response: UpstreamResponse, kinds: KindSet): Promise<string> {
  const received = removeFromJson(await readFailure(response), response.credential)
  const reason = failureReason(response.status, received)
  return detect(reason, kinds).length === 0 ? reason : unusableStatus(response.status)
}

/** @throws GatewayError `model_not_found` (404) or `upstream_unavailable` (502) */
function findModel(list: Buffer, inPath: string): JsonObject {
  const names = new Set([inPath, decoded(inPath)])
  const found = modelsIn(list).find((model) => isObject(model) && names.has(String(model['id'])))
  if (found !== undefined) return found as JsonObject
  throw new GatewayError(
    'model_not_found',
    'The upstream has no model of this name; GET /v1/models lists all.',
    {
      param: 'model',
    },
  )
}

function modelsIn(list: Buffer): readonly unknown[] {
  try {
    const text = String(list)
    const { data } = JSON.parse(text) as JsonObject
    if (Array.isArray(data) && !isTooDeep(text)) return data
  } catch {
    // Not a list; the error below says so.
  }
  throw new GatewayError('upstream_unavailable', "The upstream's list of models could not be read.")
}

function decoded(inPath: string): string {
  try {
    return decodeURIComponent(inPath)
  } catch {
    return inPath
  }
}
