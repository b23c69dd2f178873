// Writes answers: errors, JSON and whole bodies. Every error becomes an answer here.

import { isAscii } from 'node:buffer'
import type { ServerResponse } from 'node:http'
import type { ErrorShape } from '../chat/api-format.ts'
import { openAiErrors } from '../chat/error-shapes.ts'
import { withComment } from '../chat/sse.ts'
import type { Milliseconds } from '../core/clock.ts'
import { ERRORS, type GatewayError } from '../core/errors.ts'
import type { JsonValue } from '../core/json.ts'

/** On every answer: a browser takes it for nothing but its content type. */
export const NO_SNIFF = { 'x-content-type-options': 'nosniff' }

/** Headers of the gateway's own answers, which must not be cached. */
export const OWN_HEADERS = { 'cache-control': 'no-store', ...NO_SNIFF }

/** Bodies up to this size leave in one write with their head, which Node does only for strings. */
const JOINED_BYTES = 16 * 1024

/** Time without progress after which a client counts as gone. */
export const STALL_MS: Milliseconds = 60_000

/**
 * Sends a whole answer, unless another has begun. Drops it when the client stops reading for
 * `stallMs`.
 */
export function respond(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string | string[]>>,
  body: string | Buffer,
  stallMs = STALL_MS,
): void {
  if (response.headersSent || response.destroyed) return
  response.writeHead(status, { ...NO_SNIFF, ...headers, 'content-length': Buffer.byteLength(body) })
  if (typeof body !== 'string' && body.length <= JOINED_BYTES && isAscii(body)) {
    response.end(body.toString('latin1'), 'latin1')
  } else response.end(body)
  watchDelivery(response, stallMs)
}

/**
 * Destroys a response that the client stops reading. Each write that succeeds restarts the time.
 */
export function watchDelivery(response: ServerResponse, stallMs: Milliseconds): void {
  // The system has usually taken everything. An answer queued after another has no socket yet.
  const isWritten = response.writableLength === 0 && response.socket !== null
  if (isWritten || response.writableFinished) return
  response.setTimeout(stallMs, () => response.destroy())
}

export function respondJson(
  response: ServerResponse,
  status: number,
  body: JsonValue,
  headers: Readonly<Record<string, string | string[]>> = {},
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

/**
 * Ends a failed event stream: the error, the receipt directly above its data if the call is sealed,
 * and no `[DONE]`.
 */
export function errorEvent(
  { error, number }: { readonly error: GatewayError; readonly number: number },
  shape: ErrorShape,
  receipt: string | undefined,
): string {
  const event = error.event ?? shape.event(error, number)
  return receipt === undefined ? event : withComment(event, `sidegate-audit ${receipt}`)
}

/** Sends an error, in OpenAI's shape by default, unless another answer has begun. */
export function respondError(
  response: ServerResponse,
  error: GatewayError,
  headers: Readonly<Record<string, string>> = {},
  {
    shape = openAiErrors,
    stallMs = STALL_MS,
  }: { readonly shape?: ErrorShape; readonly stallMs?: Milliseconds } = {},
): void {
  respond(
    response,
    error.status,
    {
      ...OWN_HEADERS,
      'content-type': 'application/json',
      ...headers,
      ...(ERRORS[error.code].closes ? { connection: 'close' } : {}),
      ...error.headers,
    },
    shape.body(error),
    stallMs,
  )
}
