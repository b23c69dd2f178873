// When a failed attempt may be repeated: only while nothing of an answer was passed on, and only within a budget,
// so that a struggling upstream is not hit harder for struggling.

import type { IncomingHttpHeaders } from 'node:http'
import type { Milliseconds } from '../core/clock.ts'
import { REFUSED_BY_PROXY } from './response.ts'

/** Statuses that say "not now" rather than "no". */
const RETRIED_STATUSES = new Set([429, 502, 503, 504])

/** Failures before the request could have been acted on: no connection was made. */
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

const FIRST_DELAY_MS: Milliseconds = 100

/** Longer waits are the client's to make: it is told `retry-after`. */
const MAX_DELAY_MS: Milliseconds = 2000

/** Each first attempt earns this much of a retry; the sum is capped. */
const EARNED_PER_CALL = 0.2
const MAX_SAVED_RETRIES = 10

/** @param headers of the answer: an upstream may say that it is of no use */
export const isRetried = (status: number, headers: IncomingHttpHeaders): boolean =>
  RETRIED_STATUSES.has(status) && headers['x-should-retry'] !== 'false'
export const isConnectFailure = (code: string): boolean => CONNECT_CODES.has(code)

/** Retries left for one upstream, shared by all calls. */
export class RetryBudget {
  #saved = MAX_SAVED_RETRIES

  earn(): void {
    this.#saved = Math.min(MAX_SAVED_RETRIES, this.#saved + EARNED_PER_CALL)
  }

  /** True, and one retry less, while there is one. */
  spend(): boolean {
    if (this.#saved < 1) return false
    this.#saved -= 1
    return true
  }
}

/**
 * How long to wait before attempt `attempt` (1 is the first retry), or null for "do not".
 * @param headers of the upstream's answer, if there was one: `retry-after-ms`, as OpenAI's clients read it, or `retry-after`,
 *   seconds or an HTTP date (RFC 9110 §10.2.3); dates are not waited for
 * @param jitter in [0, 1): spreads the retries of many sidecars
 */
export function retryDelayMs(
  attempt: number,
  headers: IncomingHttpHeaders,
  jitter: number,
): Milliseconds | null {
  const backoffMs = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 1)) * (0.5 + jitter / 2)
  const askedMs = askedDelayMs(headers)
  if (askedMs === null) return backoffMs
  if (!(askedMs <= MAX_DELAY_MS)) return null
  return Math.max(backoffMs, askedMs)
}

/** NaN for what is no number; null where nothing was asked. */
function askedDelayMs(headers: IncomingHttpHeaders): Milliseconds | null {
  const inMs = Number(headers['retry-after-ms'] ?? Number.NaN)
  if (inMs >= 0) return inMs
  const inSeconds = headers['retry-after']
  return inSeconds === undefined ? null : Number(inSeconds) * 1000
}
