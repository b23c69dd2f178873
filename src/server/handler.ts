// Handles requests on the gateway listener: data-plane paths go to the pipeline, the console's to
// its files, all others to the management API with its origin check, session and strict JSON.

import type { IncomingMessage } from 'node:http'
import type { ErrorShape } from '../chat/api-format.ts'
import { APIS, isGoverned } from '../chat/apis.ts'
import { RESPONSES } from '../chat/responses/responses-api.ts'
import type { Clock } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import { looseForm, normalisePath, splitTarget } from '../core/request-path.ts'
import { type PassedRequest, passThrough, type passThroughFor } from '../pipeline/pass-through.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import { waitToScan } from '../pipeline/prompt/memory-turn.ts'
import { clientAddress } from './address.ts'
import type { ApiRoute } from './api.ts'
import type { BasePath } from './base-path.ts'
import { BODY_LIMIT, readJsonBody } from './body.ts'
import type { ConsoleFiles } from './console-files.ts'
import { DATA_ROUTES, type DataRoute } from './data-routes.ts'
import type { Handler } from './listener.ts'
import { answerRoute, failRequest, type ManagementParts } from './management.ts'
import { GOVERNED_PATH, Router } from './router.ts'
import type { Gatekeeper } from './session.ts'
import { SocketClient } from './socket-client.ts'

/** What a request is served by, from its head to the end of its answer. */
export interface Served {
  readonly pipeline: Pipeline
  /** Finds the rule for a path that is forwarded without a scan. */
  readonly findPassed: ReturnType<typeof passThroughFor>
}

export interface HandlerParts {
  /** Taken once a request. */
  readonly served: () => Served
  readonly gatekeeper: Gatekeeper
  readonly routes: readonly ApiRoute[]
  readonly consoleFiles: ConsoleFiles
  readonly basePath: BasePath
  readonly clock: Clock
}

/** Returns the handler of the gateway listener. It answers every request exactly once. */
export function gatewayHandler(parts: HandlerParts): Handler {
  const { served, gatekeeper, consoleFiles, basePath, clock } = parts
  const router = new Router<ApiRoute | DataRoute>([...DATA_ROUTES, ...parts.routes])
  const manages: ManagementParts = {
    ...served().pipeline,
    gatekeeper,
    readPrompt: (request, releases) => readPrompt(served().pipeline, request, releases),
  }
  return (request, response) => {
    const arrivedMs = clock.monotonic()
    const { pipeline, findPassed } = served()
    const { path: asked, search } = splitTarget(request.url ?? '/')
    const base = basePath.of(request.headers, clientAddress(request.socket.remoteAddress))
    const path = basePath.below(base, asked)
    try {
      const method = request.method ?? 'GET'
      if (WEBSOCKET.test(request.headers.upgrade ?? '')) throw noWebSocket(path)
      const passed = path.startsWith('/v1/') ? findUnserved(router, findPassed, method, path, search) : null
      if (passed !== null) {
        void passThrough(pipeline, new SocketClient(request, response, arrivedMs), passed)
        return
      }
      if (consoleFiles.takes(request, path)) {
        gatekeeper.checkOrigin(method, request.headers)
        consoleFiles.answer(request, response, path, base)
        return
      }
      const { route, params } = router.find(method, path)
      if ('data' in route) {
        void route.data(
          pipeline,
          new SocketClient(request, response, arrivedMs, route.errors),
          params,
          search,
        )
        return
      }
      void answerRoute(manages, route, request, response, { params, search, base })
    } catch (error) {
      failRequest(manages, response, error, shapeAt(path))
    }
  }
}

/** The form of errors of the API whose endpoints are around a path; OpenAI's elsewhere. */
const shapeAt = (path: string): ErrorShape | undefined =>
  APIS.find(({ target }) => path === `/v1${target}` || path.startsWith(`/v1${target}/`))?.errors

const WEBSOCKET = /\bwebsocket\b/i
/** The path at which Codex tries a WebSocket first; it uses HTTP at once after a 426. */
const RESPONSES_PATH = `/v1${RESPONSES.target}`

const noWebSocket = (path: string): GatewayError =>
  new GatewayError(
    path === RESPONSES_PATH ? 'http_required' : 'upgrade_unsupported',
    'The gateway does not carry WebSockets, whose messages it could not scan; use the HTTP API, with streams of events.',
    // RFC 9110 §15.5.22.
    path === RESPONSES_PATH ? { headers: { upgrade: 'HTTP/1.1', connection: 'close, upgrade' } } : {},
  )

const SERVED = new Router(DATA_ROUTES)

/**
 * Finds the rule that lets a request pass; null for one that the gateway serves, or without a rule.
 * Names of models may hold any character; any other path is matched and forwarded in its normal
 * form.
 * @throws GatewayError `invalid_parameter` for a path that servers read in different ways, and
 *   `not_found` for one that is never forwarded without a scan
 */
function findUnserved(
  router: Router<ApiRoute | DataRoute>,
  findPassed: ReturnType<typeof passThroughFor>,
  method: string,
  path: string,
  search: string,
): PassedRequest | null {
  const isServed = router.has(method, path)
  if (isServed && path.startsWith('/v1/models/')) return null
  const normal = normalisePath(path)
  if (normal === null)
    throw new GatewayError(
      'invalid_parameter',
      'The path is ambiguous. Write it without empty and dot segments, without an encoded slash, without \\, ;, ?, # and characters that nobody sees, and without characters that look like a dot or one of these, encoded or not.',
    )
  const passed = isServed ? null : findPassed(method, normal, search)
  if (passed === null) return null
  const loose = looseForm(normal)
  if (!isGoverned(loose) && !SERVED.has(method, loose)) return passed
  throw new GatewayError('not_found', GOVERNED_PATH)
}

/**
 * Reads a prompt within the memory budgets of calls.
 * @param releases receives what returns the memory after the answer
 * @throws GatewayError (rejects) as `readJsonBody`, and `overloaded` without memory for the bytes
 */
async function readPrompt(
  pipeline: Pipeline,
  request: IncomingMessage,
  releases: (() => void)[],
): Promise<Buffer> {
  const { admission, bodyBytes } = pipeline
  const kept = { keptBytes: 0 }
  releases.push(() => admission.release(kept))
  const reserve = (bytes: number) => admission.keep(kept, bytes)
  const body = await readJsonBody(request, bodyBytes, { setBy: BODY_LIMIT, reserve })
  releases.push(await waitToScan(pipeline, body))
  return body
}
