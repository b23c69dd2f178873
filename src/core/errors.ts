// The one error type that crosses floors, and the one table of error codes.
// Messages are written for clients: no matched text, no path of this machine, no secret.

import { visibleLine } from './hidden-characters.ts'

export interface ErrorKind {
  /** HTTP status, RFC 9110 §15. */
  readonly status: number
  /** `error.type` in the body, as the OpenAI SDKs read it. */
  readonly type: string
  /** Outcome in the usage entry of a call that ends with this error. */
  readonly outcome: FailedOutcome
  /** True when the connection cannot carry another request: its framing or its peer is in doubt. */
  readonly closes: boolean
  /** A limit, budget, model or tool is in the way of the call, not its content. */
  readonly refuses?: true
}

export type FailedOutcome =
  | 'invalid_request'
  | 'blocked'
  | 'rate_limited'
  | 'overloaded'
  | 'upstream_error'
  | 'client_aborted'
  | 'interrupted'

const kind = (status: number, type: string, outcome: FailedOutcome, closes = false): ErrorKind => ({
  status,
  type,
  outcome,
  closes,
})

const CLOSES = true
const refusing = (status: number, type: string, outcome: FailedOutcome): ErrorKind => ({
  ...kind(status, type, outcome),
  refuses: true,
})
/** A refusal by a rule. */
const REFUSAL_TYPE = 'policy_violation'

/** Every code a client can see in `error.code`. The code is also the metric label. */
export const ERRORS = {
  invalid_api_key: kind(401, 'invalid_request_error', 'invalid_request'),
  // Counted apart. Clients see invalid_api_key.
  expired_api_key: kind(401, 'invalid_request_error', 'invalid_request'),
  invalid_body: kind(400, 'invalid_request_error', 'invalid_request'),
  missing_required_parameter: kind(400, 'invalid_request_error', 'invalid_request'),
  invalid_parameter: kind(400, 'invalid_request_error', 'invalid_request'),
  // The body broke off, because the client left.
  bad_request: kind(400, 'invalid_request_error', 'client_aborted'),
  unsupported_media_type: kind(415, 'invalid_request_error', 'invalid_request'),
  body_too_large: kind(413, 'invalid_request_error', 'invalid_request', CLOSES),
  request_timeout: kind(408, 'invalid_request_error', 'invalid_request', CLOSES),
  blocked_by_policy: kind(403, REFUSAL_TYPE, 'blocked'),
  model_not_allowed: refusing(403, REFUSAL_TYPE, 'blocked'),
  tool_not_allowed: refusing(403, REFUSAL_TYPE, 'blocked'),
  response_blocked_by_policy: kind(403, REFUSAL_TYPE, 'blocked'),
  rate_limit_exceeded: refusing(429, 'rate_limit_error', 'rate_limited'),
  budget_exceeded: refusing(429, 'rate_limit_error', 'rate_limited'),
  price_unknown: refusing(403, REFUSAL_TYPE, 'blocked'),
  upstream_unavailable: kind(502, 'upstream_error', 'upstream_error'),
  upstream_timeout: kind(504, 'upstream_error', 'upstream_error'),
  audit_unavailable: kind(503, 'server_error', 'interrupted'),
  draining: kind(503, 'server_error', 'interrupted', CLOSES),
  overloaded: kind(503, 'server_error', 'overloaded'),
  // A recogniser outside fails, and nothing leaves that it did not judge.
  recogniser_unavailable: kind(503, 'server_error', 'interrupted'),
  session_required: kind(401, 'invalid_request_error', 'invalid_request'),
  invalid_token: kind(401, 'invalid_request_error', 'invalid_request'),
  too_many_attempts: kind(429, 'rate_limit_error', 'invalid_request'),
  cross_site: kind(403, 'invalid_request_error', 'invalid_request'),
  forbidden: kind(403, 'invalid_request_error', 'invalid_request'),
  not_found: kind(404, 'invalid_request_error', 'invalid_request'),
  previous_response_not_found: kind(400, 'invalid_request_error', 'invalid_request'),
  model_not_found: kind(404, 'invalid_request_error', 'invalid_request'),
  method_not_allowed: kind(405, 'invalid_request_error', 'invalid_request'),
  conflict: kind(409, 'invalid_request_error', 'invalid_request'),
  // A change that is made at the hub.
  managed_by_hub: kind(409, 'invalid_request_error', 'invalid_request'),
  // The keys of the hub are too old to decide by.
  fleet_stale: kind(503, 'server_error', 'interrupted'),
  fleet_unavailable: kind(503, 'server_error', 'interrupted'),
  upgrade_unsupported: kind(501, 'invalid_request_error', 'invalid_request', CLOSES),
  http_required: kind(426, 'invalid_request_error', 'invalid_request', CLOSES),
  misdirected_request: kind(421, 'invalid_request_error', 'invalid_request'),
  internal_error: kind(500, 'server_error', 'interrupted'),
} as const satisfies Record<string, ErrorKind>

export type ErrorCode = keyof typeof ERRORS

/** Status of a refusal by a rule. */
export type RefusalStatus = 400 | 403

export interface ErrorDetails {
  /** JSON path of the field at fault, e.g. `messages[0].content`. */
  readonly param?: string
  /** Extra response headers, lower-case names. */
  readonly headers?: Readonly<Record<string, string>>
  /**
   * Extra members of the body's `error` object, e.g. the rule that blocked. They replace members
   * of the same name.
   */
  readonly extra?: Readonly<Record<string, string | null>>
  readonly cause?: unknown
  /** Status of a refusal by a rule, where the client reads 403 as a missing sign-in. */
  readonly refusalStatus?: RefusalStatus
  /** The upstream's own error event, which ends the stream in place of one made of this error. */
  readonly event?: string
}

/**
 * The only error a client gets; anything else becomes `internal_error` with one fixed sentence.
 * Throw it where the fault is found. `server/respond` turns it into status, headers and body.
 */
export class GatewayError extends Error {
  override readonly name = 'GatewayError'
  readonly code: ErrorCode
  readonly status: number
  readonly type: string
  readonly param: string | null
  readonly headers: Readonly<Record<string, string>>
  readonly extra: Readonly<Record<string, string | null>>
  readonly event: string | null

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.code = code
    const isInvalid = isRefusal(code) && details.refusalStatus === 400
    this.status = isInvalid ? 400 : ERRORS[code].status
    this.type = isInvalid ? 'invalid_request_error' : ERRORS[code].type
    this.param = details.param ?? null
    this.headers = details.headers ?? {}
    this.extra = details.extra ?? {}
    this.event = details.event ?? null
  }
}

/** Reports whether a code, as an entry has it, says that a limit, budget, model or tool refused. */
export const refusesCall = (code: string | null): boolean =>
  code !== null && Object.hasOwn(ERRORS, code) && (ERRORS[code as ErrorCode] as ErrorKind).refuses === true

/** Reports whether an error is a refusal by a rule. */
export const isRefusal = (code: ErrorCode): boolean => ERRORS[code].type === REFUSAL_TYPE

/** Returns a refusal by a rule with another status; any other error as it is. */
export function withRefusalStatus(error: GatewayError, refusalStatus: RefusalStatus): GatewayError {
  const { code, message, param, headers, extra, cause, event } = error
  if (error.type !== REFUSAL_TYPE || error.status === refusalStatus) return error
  const details = { ...(param !== null && { param }), ...(event !== null && { event }) }
  return new GatewayError(code, message, { ...details, headers, extra, cause, refusalStatus })
}

/** The message of an error, and in parentheses that of its cause, on one line. */
export const messageWithCause = ({ message, cause }: Error): string =>
  visibleLine(cause instanceof Error ? `${message} (${cause.message})` : message)

const UNEXPECTED = 'The gateway met an unexpected condition. Find the request id in its log for the reason.'

/** Returns a GatewayError as it is and turns any other value into `internal_error`. */
export const toGatewayError = (error: unknown): GatewayError =>
  error instanceof GatewayError ? error : new GatewayError('internal_error', UNEXPECTED, { cause: error })

/** An error as the OpenAI SDKs read it. */
const errorDetails = ({ message, type, param, code, extra }: GatewayError) => ({
  message,
  type,
  param,
  code,
  ...extra,
})

/** The body of an error response, in the shape the OpenAI SDKs read. */
export const errorBody = (error: GatewayError): string => JSON.stringify({ error: errorDetails(error) })
