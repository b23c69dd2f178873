// Writes errors as the clients of each API read them.

import { type ErrorCode, errorBody, type GatewayError, isRefusal } from '../core/errors.ts'
import type { JsonObject } from '../core/json.ts'
import type { ErrorShape } from './api-format.ts'
import { encodeData, encodeEvent } from './sse.ts'
import { inErrorForm } from './stream-chunk.ts'

/** The upstream's type and code stay when the client is to blame (4xx). */
function openAiFailure(own: JsonObject, message: string, status: number): JsonObject {
  const { type = 'upstream_error', param = null, code = null } = own
  const kind = status < 500 ? { type, code } : { type: 'upstream_error', code: 'upstream_unavailable' }
  return { error: { ...own, message, ...kind, param } }
}

/**
 * Statuses of OpenAI's errors by code or type
 * (https://platform.openai.com/docs/guides/error-codes).
 */
const OPENAI_STATUSES: ReadonlyMap<unknown, number> = new Map([
  ['context_length_exceeded', 400],
  ['insufficient_quota', 429],
  ['rate_limit_exceeded', 429],
  ['server_is_overloaded', 503],
  ['slow_down', 503],
  ['invalid_request_error', 400],
  ['rate_limit_error', 429],
  ['overloaded_error', 503],
])

/** `{"error": {"message", "type", "param", "code"}}`, as the OpenAI SDKs read it. */
export const openAiErrors: ErrorShape = {
  refusalStatus: 403,
  body: errorBody,
  event: (error) => encodeData(errorBody(error)),
  failure: openAiFailure,
  statusOf: ({ code, type }) => OPENAI_STATUSES.get(code) ?? OPENAI_STATUSES.get(type) ?? null,
  reported: inErrorForm,
}

/**
 * As OpenAI's, and in a stream an `error` event whose members are at the top
 * (https://platform.openai.com/docs/api-reference/responses-streaming/error).
 */
export const responsesErrors: ErrorShape = {
  ...openAiErrors,
  // Codex sends a call that is answered with 403 again.
  refusalStatus: 400,
  event({ code, message, param, extra }, sequence_number) {
    const event = { type: ERROR_EVENT, code, message, param, ...extra, sequence_number }
    const error = encodeEvent('event: error', JSON.stringify(event))
    return isRefusal(code) ? error + failedResponse(message, sequence_number + 1) : error
  },
  failure({ type = null, sequence_number: _, ...own }, message, status) {
    return openAiFailure(type === ERROR_EVENT || type === null ? own : { ...own, type }, message, status)
  },
  reported(body) {
    if (body['type'] === ERROR_EVENT || body['error'] != null) return body
    const { error } = inErrorForm(body)
    return { code: null, param: null, sequence_number: 0, ...(error as JsonObject), type: ERROR_EVENT }
  },
}

const ERROR_EVENT = 'error'

/**
 * The event of a response that fails for good. Codex does not read `error` events, and asks five
 * more times after any failure but one of this code.
 */
function failedResponse(message: string, sequence_number: number): string {
  const error = { code: 'invalid_prompt', message }
  const response = { object: 'response', status: 'failed', error, output: [] }
  const event = { type: 'response.failed', response, sequence_number }
  return encodeEvent('event: response.failed', JSON.stringify(event))
}

/** Anthropic's error types by status (https://docs.anthropic.com/en/api/errors). */
const ANTHROPIC_TYPES: ReadonlyMap<number, string> = new Map([
  [400, 'invalid_request_error'],
  [401, 'authentication_error'],
  [402, 'billing_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [500, 'api_error'],
  [503, 'overloaded_error'],
  [504, 'timeout_error'],
  [529, 'overloaded_error'],
])

/** The other way: 529 for an overload, which Anthropic does not answer with 503. */
const ANTHROPIC_STATUSES: ReadonlyMap<unknown, number> = new Map(
  [...ANTHROPIC_TYPES].map(([status, type]) => [type, status]),
)

const anthropicType = (status: number): string =>
  ANTHROPIC_TYPES.get(status) ?? (status < 500 ? 'invalid_request_error' : 'api_error')

/** A full disk, a stop or a recogniser that fails is a failure of the gateway, not load. */
const UNAVAILABLE: ReadonlySet<ErrorCode> = new Set([
  'audit_unavailable',
  'draining',
  'recogniser_unavailable',
])

/**
 * What Anthropic's own filter says. After a 400 without this sentence, anywhere in the body, Claude
 * Code tries up to five times with fewer features.
 */
const FILTERED = { reason: 'Output blocked by content filtering policy' }

function anthropicBody(error: GatewayError): string {
  const { code, message, param, extra, status } = error
  const type = UNAVAILABLE.has(code) ? 'api_error' : anthropicType(status)
  const reason = isRefusal(code) ? FILTERED : {}
  return JSON.stringify({ type: 'error', error: { type, message, code, param, ...reason, ...extra } })
}

/** `{"type": "error", "error": {"type", "message"}}`, with our `code` and `param` next to them. */
export const anthropicErrors: ErrorShape = {
  // Claude Code takes 403 for a missing sign-in.
  refusalStatus: 400,
  body: anthropicBody,
  event: (error) => encodeEvent('event: error', anthropicBody(error)),
  failure: (own, message, status) => ({
    type: 'error',
    error: { ...own, type: anthropicType(status), message },
  }),
  statusOf: ({ type }) => ANTHROPIC_STATUSES.get(type) ?? null,
  reported: inErrorForm,
}
