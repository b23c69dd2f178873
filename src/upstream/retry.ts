// Decides when a failed attempt is retried. A budget keeps retries from overloading the upstream.

import type { IncomingHttpHeaders } from 'node:http'
import type { Milliseconds } from '../core/clock.ts'
import { type AttemptError, REFUSED_BY_PROXY } from './response.ts'

/** Statuses of temporary failures. A 429 is not one: clients retry it, and retries multiply. */
const RETRIED_STATUSES = new Set([502, 503, 504])

/** Errors before a connection exists, so that the upstream cannot have acted on the request. */
const CONNECT_CODES = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_PRX_CONN',
  REFUSED_BY_PROXY,
])

/** Errors of a connection that the other side has closed or forgotten. */
const RESET_CODES = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])

const FIRST_DELAY_MS: Milliseconds = 100

/** Longer delays are left to the client, which gets `retry-after`. */
const MAXIMUM_DELAY_MS: Milliseconds = 2000

/** Retries that each call adds to the budget. */
const EARNED_PER_CALL = 0.2
const MAXIMUM_SAVED_RETRIES = 10

/** Reports whether the response is worth a retry. `x-should-retry: false` forbids it. */
export const isRetried = (status: number, headers: IncomingHttpHeaders): boolean =>
  RETRIED_STATUSES.has(status) && headers['x-should-retry'] !== 'false'

export const isConnectFailure = (code: string): boolean => CONNECT_CODES.has(code)

/**
 * Reports whether a kept connection was dead before the request: it ended without a byte of an
 * answer. An upstream that reads the request and then resets such a connection looks the same.
 */
export const isDeadConnection = ({ code, isUnanswered }: AttemptError): boolean =>
  isUnanswered && RESET_CODES.has(code)

/** Retry budget of one upstream, shared by all calls. */
export class RetryBudget {
  #saved = MAXIMUM_SAVED_RETRIES

  earn(): void {
    this.#saved = Math.min(MAXIMUM_SAVED_RETRIES, this.#saved + EARNED_PER_CALL)
  }

  /** Takes one retry if there is one. @returns whether it was taken */
  spend(): boolean {
    if (this.#saved < 1) return false
    this.#saved -= 1
    return true
  }
}

/**
 * Returns the delay before a retry, or null if the client should wait instead.
 * @param attempt 1 for the first retry
 * @param headers headers of the response, empty without one. `retry-after-ms`, as OpenAI's clients
 *   read it, or `retry-after` in seconds (RFC 9110 §10.2.3); null for an HTTP date
 * @param jitter in [0, 1), spreads the retries of many sidecars
 */
export function retryDelayMs(
  attempt: number,
  headers: IncomingHttpHeaders,
  jitter: number,
): Milliseconds | null {
  const backoffMs = Math.min(MAXIMUM_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 1)) * (0.5 + jitter / 2)
  const requestedMs = requestedDelayMs(headers)
  if (requestedMs === null) return backoffMs
  if (!(requestedMs <= MAXIMUM_DELAY_MS)) return null
  return Math.max(backoffMs, requestedMs)
}

/** Returns the delay that the upstream requests: NaN if it is not a number, null without one. */
function requestedDelayMs(headers: IncomingHttpHeaders): Milliseconds | null {
  const inMs = Number(headers['retry-after-ms'] ?? Number.NaN)
  if (inMs >= 0) return inMs
  const inSeconds = headers['retry-after']
  return inSeconds === undefined ? null : Number(inSeconds) * 1000
}
