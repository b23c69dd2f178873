// Answers the routes of the management API: checks the origin, the session and its role, parses
// strict JSON, and turns errors into answers.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ErrorShape } from '../chat/api-format.ts'
import { parseJson } from '../chat/strict-json.ts'
import { toGatewayError } from '../core/errors.ts'
import type { JsonValue } from '../core/json.ts'
import type { Metrics } from '../metrics/registry.ts'
import type { Logger } from '../pipeline/record/record.ts'
import { clientAddress } from './address.ts'
import type { ApiAnswer, ApiRequest, ApiRoute } from './api.ts'
import { readJsonBody } from './body.ts'
import { respondChunks } from './chunked-answer.ts'
import { respond, respondError, respondJson } from './respond.ts'
import type { Gatekeeper } from './session.ts'

/**
 * Limit of a management body, which has a few fields. Sign-in is open to every client that can
 * connect.
 */
const FIELDS_BYTES = 64 * 1024

export interface ManagementParts {
  readonly gatekeeper: Gatekeeper
  readonly logger: Pick<Logger, 'error'>
  readonly metrics: Pick<Metrics, 'refusals'>
  readonly newId: () => string
  /**
   * Reads the body of a route that takes a prompt.
   * @param releases receives what is to be called after the answer
   */
  readonly readPrompt: (request: IncomingMessage, releases: (() => void)[]) => Promise<Buffer>
}

/**
 * Answers a request for a route. Resolves when the answer is handed over, or a stream has ended.
 */
export async function answerRoute(
  parts: ManagementParts,
  route: ApiRoute,
  request: IncomingMessage,
  response: ServerResponse,
  target: Pick<ApiRequest, 'params' | 'search' | 'base'>,
): Promise<void> {
  const { headers } = request
  const releases: (() => void)[] = []
  try {
    if (route.takesAnyHost !== true) parts.gatekeeper.checkOrigin(route.method, headers)
    const body = async (): Promise<JsonValue> =>
      parseJson(
        await (route.takesPrompt === true
          ? parts.readPrompt(request, releases)
          : readJsonBody(request, FIELDS_BYTES)),
      )
    const disconnect = () => void response.destroy()
    const address = clientAddress(request.socket.remoteAddress)
    const asked = { headers, address, ...target, body, disconnect }
    const answered =
      route.access === 'open'
        ? route.answer(asked)
        : route.answer({ ...asked, session: await parts.gatekeeper.require(headers, route.access) })
    await send(response, await answered)
  } catch (error) {
    failRequest(parts, response, error)
  } finally {
    for (const release of releases) release()
  }
}

/** Resolves when a stream has ended; at once for any other answer. */
async function send(
  response: ServerResponse,
  { status, body, headers = {}, text, stream }: ApiAnswer,
): Promise<void> {
  if (stream !== undefined) await respondChunks(response, status, headers, stream)
  else if (text === undefined) respondJson(response, status, body, headers)
  else
    respond(
      response,
      status,
      { 'cache-control': 'no-store', 'content-type': text.type, ...headers },
      text.content,
    )
}

/** Answers a request with an error, counts it, and logs one that nothing foresaw. */
export function failRequest(
  { logger, metrics, newId }: Pick<ManagementParts, 'logger' | 'metrics' | 'newId'>,
  response: ServerResponse,
  error: unknown,
  shape?: ErrorShape,
): void {
  const failure = toGatewayError(error)
  const id = newId()
  metrics.refusals.inc({ code: failure.code })
  if (failure.code === 'internal_error')
    logger.error({ id, err: error }, 'a request failed with an unexpected error')
  respondError(response, failure, { 'x-request-id': id }, shape === undefined ? {} : { shape })
}
