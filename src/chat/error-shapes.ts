// Writes errors as the clients of each API read them.

import { type ErrorCode, errorBody, errorDetails, type GatewayError } from '../core/errors.ts'
import type { JsonObject } from '../core/json.ts'
import type { ErrorShape } from './api-format.ts'
import { encodeData, encodeEvent } from './sse.ts'

/** The upstream's type and code stay when the client is to blame (4xx). */
function openAiFailure(own: JsonObject, message: string, status: number): JsonObject {
  const { type = 'upstream_error', param = null, code = null } = own
  const kind = status < 500 ? { type, code } : { type: 'upstream_error', code: 'upstream_unavailable' }
  return { error: { ...own, message, ...kind, param } }
}

/** `{"error": {"message", "type", "param", "code"}}`, as the OpenAI SDKs read it. */
export const openAiErrors: ErrorShape = {
  refusalStatus: 403,
  body: errorBody,
  event: (error) => encodeData(errorBody(error)),
  failure: openAiFailure,
}

/**
 * As OpenAI's, and in a stream an `error` event with the members of the Responses API. `error` is
 * for clients that look for it.
 */
export const responsesErrors: ErrorShape = {
  ...openAiErrors,
  // Codex sends a call that is answered with 403 again.
  refusalStatus: 400,
  event(error) {
    const { code, message, param } = error
    return encodeEvent(
      'event: error',
      JSON.stringify({ type: 'error', code, message, param, error: errorDetails(error) }),
    )
  },
}

/** Anthropic's error types by status (https://docs.anthropic.com/en/api/errors). */
const ANTHROPIC_TYPES: ReadonlyMap<number, string> = new Map([
  [400, 'invalid_request_error'],
  [401, 'authentication_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [503, 'overloaded_error'],
  [504, 'timeout_error'],
  [529, 'overloaded_error'],
])

const anthropicType = (status: number): string =>
  ANTHROPIC_TYPES.get(status) ?? (status < 500 ? 'invalid_request_error' : 'api_error')

/** A full disk or a stop is a failure of the gateway, not load. */
const UNAVAILABLE: ReadonlySet<ErrorCode> = new Set(['audit_unavailable', 'draining'])

function anthropicBody(error: GatewayError): string {
  const { code, message, param, extra, status } = error
  const type = UNAVAILABLE.has(code) ? 'api_error' : anthropicType(status)
  return JSON.stringify({ type: 'error', error: { type, message, code, param, ...extra } })
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
}
