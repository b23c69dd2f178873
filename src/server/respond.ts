// The one place that turns an error into an answer, and the small forms every other answer takes.

import { isAscii } from 'node:buffer'
import type { ServerResponse } from 'node:http'
import { encodeComment, encodeData } from '../chat/sse.ts'
import type { Milliseconds } from '../core/clock.ts'
import { ERRORS, errorBody, type GatewayError } from '../core/errors.ts'
import type { JsonValue } from '../core/json.ts'

/** Headers of everything we answer ourselves: never cached, never sniffed. */
const OWN_HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }

/** Up to here an answer leaves in one piece with its head, which Node does for text alone. */
const JOINED_BYTES = 16 * 1024

/** A client that takes nothing of its answer for this long is gone for all purposes. */
export const STALL_MS: Milliseconds = 60_000

/** A whole answer, unless another has begun; given up where nobody takes it. */
export function respond(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string | Buffer,
  stallMs = STALL_MS,
): void {
  if (response.headersSent || response.destroyed) return
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) })
  if (typeof body !== 'string' && body.length <= JOINED_BYTES && isAscii(body)) {
    response.end(body.toString('latin1'), 'latin1')
  } else response.end(body)
  watchDelivery(response, stallMs)
}

/** What was handed over waits in memory until it is read: not for ever. Any progress starts the time anew. */
export function watchDelivery(response: ServerResponse, stallMs: Milliseconds): void {
  // Nearly always the system has taken all of it. An answer queued behind another has no socket yet.
  const isWritten = response.writableLength === 0 && response.socket !== null
  if (isWritten || response.writableFinished) return
  response.setTimeout(stallMs, () => response.destroy())
}

export function respondJson(
  response: ServerResponse,
  status: number,
  body: JsonValue,
  headers: Readonly<Record<string, string>> = {},
  stallMs = STALL_MS,
): void {
  respond(
    response,
    status,
    { ...OWN_HEADERS, 'content-type': 'application/json', ...headers },
    JSON.stringify(body),
    stallMs,
  )
}

/** The end of an event stream that fails: the receipt, if the call was sealed, and the error, with no `[DONE]`. */
export function errorEvent(error: GatewayError, receipt: string | undefined): string {
  const comment = receipt === undefined ? '' : encodeComment(`sidegate-audit ${receipt}`)
  return error.isReported ? comment : comment + encodeData(errorBody(error))
}

/** Answers with the error, unless another answer has begun. */
export function respondError(
  response: ServerResponse,
  error: GatewayError,
  headers: Readonly<Record<string, string>> = {},
  stallMs = STALL_MS,
): void {
  respond(
    response,
    error.status,
    {
      ...OWN_HEADERS,
      'content-type': 'application/json',
      ...headers,
      ...error.headers,
      ...(ERRORS[error.code].closes ? { connection: 'close' } : {}),
    },
    errorBody(error),
    stallMs,
  )
}
