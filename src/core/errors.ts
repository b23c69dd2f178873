// The one error type that crosses floors, and the one table that gives each code its HTTP status and type.
// Messages are written for the client: they never carry matched text, paths of this machine or secrets.

export interface ErrorKind {
  /** HTTP status, RFC 9110 §15. */
  readonly status: number
  /** `error.type` as the OpenAI SDKs read it. */
  readonly type: string
}

const kind = (status: number, type: string): ErrorKind => ({ status, type })

/** Every code a client can see in `error.code`; the code is also the metric label. */
export const ERRORS = {
  invalid_api_key: kind(401, 'invalid_request_error'),
  invalid_body: kind(400, 'invalid_request_error'),
  missing_required_parameter: kind(400, 'invalid_request_error'),
  invalid_parameter: kind(400, 'invalid_request_error'),
  bad_request: kind(400, 'invalid_request_error'),
  unsupported_media_type: kind(415, 'invalid_request_error'),
  body_too_large: kind(413, 'invalid_request_error'),
  request_timeout: kind(408, 'invalid_request_error'),
  blocked_by_policy: kind(403, 'policy_violation'),
  response_blocked_by_policy: kind(403, 'policy_violation'),
  rate_limit_exceeded: kind(429, 'rate_limit_error'),
  upstream_unavailable: kind(502, 'upstream_error'),
  upstream_timeout: kind(504, 'upstream_error'),
  audit_unavailable: kind(503, 'server_error'),
  draining: kind(503, 'server_error'),
  overloaded: kind(503, 'server_error'),
  session_required: kind(401, 'invalid_request_error'),
  invalid_token: kind(401, 'invalid_request_error'),
  too_many_attempts: kind(429, 'rate_limit_error'),
  cross_site: kind(403, 'invalid_request_error'),
  not_found: kind(404, 'invalid_request_error'),
  model_not_found: kind(404, 'invalid_request_error'),
  method_not_allowed: kind(405, 'invalid_request_error'),
  conflict: kind(409, 'invalid_request_error'),
  misdirected_request: kind(421, 'invalid_request_error'),
  internal_error: kind(500, 'server_error'),
} as const satisfies Record<string, ErrorKind>

export type ErrorCode = keyof typeof ERRORS

export interface ErrorDetails {
  /** JSON path of the field at fault, e.g. `messages[0].content`. */
  readonly param?: string
  /** Extra response headers, lower-case names. */
  readonly headers?: Readonly<Record<string, string>>
  /** Extra members of the body's `error` object, e.g. the rule that blocked. */
  readonly extra?: Readonly<Record<string, string>>
  readonly cause?: unknown
  /** The client of a stream has been told by the upstream. */
  readonly isTold?: boolean
}

/**
 * The only error answered to a client; anything else becomes `internal_error` with one fixed sentence.
 * Throw it where the fault is found; `server/respond` turns it into status, headers and body.
 */
export class GatewayError extends Error {
  override readonly name = 'GatewayError'
  readonly code: ErrorCode
  readonly status: number
  readonly type: string
  readonly param: string | null
  readonly headers: Readonly<Record<string, string>>
  readonly extra: Readonly<Record<string, string>>
  readonly isTold: boolean

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.code = code
    this.status = ERRORS[code].status
    this.type = ERRORS[code].type
    this.param = details.param ?? null
    this.headers = details.headers ?? {}
    this.extra = details.extra ?? {}
    this.isTold = details.isTold ?? false
  }
}

const UNEXPECTED =
  'The gateway met an unexpected condition. The request id names the log line that explains it.'

/** Any thrown value as the error a client may see; what is not a GatewayError becomes `internal_error`. */
export const toGatewayError = (error: unknown): GatewayError =>
  error instanceof GatewayError ? error : new GatewayError('internal_error', UNEXPECTED, { cause: error })

/** The body of an error answer, the shape the OpenAI SDKs read. No stack, no path, never matched text. */
export function errorBody(error: GatewayError): string {
  const { message, type, param, code, extra } = error
  return JSON.stringify({ error: { message, type, param, code, ...extra } })
}
