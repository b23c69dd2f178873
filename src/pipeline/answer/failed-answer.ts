// Delivers a failure of the upstream (5xx): its reason, scanned, in the form of our own errors.

import { GatewayError } from '../../core/errors.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { isEncoded, type UpstreamResponse, unusableStatus } from '../../upstream/response.ts'
import type { Delivered } from '../record.ts'
import { removeFromBytes } from '../scan/credential-filter.ts'
import { type Answer, deliverBytes, parseAnswer, readAll, reasonIn } from './whole-answer.ts'

/** Longest failure that is read. The status has to do for a longer one. */
const MAX_REASON_BYTES = 64 * 1024
/** Time that the body of a failure has to arrive. */
const REASON_MS = 5000

/** Statuses with a meaning of their own to clients, with a `retry-after`. */
const PASSED_ON: ReadonlySet<number> = new Set([503, 504, 529])

const EMPTY = Buffer.alloc(0)

/** Reports whether a status is a failure of the upstream. */
export const isFailed = ({ status }: Pick<UpstreamResponse, 'status'>): boolean => status >= 500

/** The status that the client gets for a failure of the upstream. */
export const failureStatus = (status: number): number => (PASSED_ON.has(status) ? status : 502)

/**
 * Reads, scans and prepares a failure of the upstream.
 * @throws GatewayError `response_blocked_by_policy`, or `overloaded` without memory for it
 */
export async function deliverFailedAnswer(answer: Answer): Promise<Delivered> {
  const { call, response, scan, keep } = answer
  const received = await call.waitForUpstream(readFailure(response, keep))
  const body = failureBody(response.status, removeFromBytes(received, scan.credential))
  const status = failureStatus(response.status)
  const { finish } = await deliverBytes(answer, Buffer.from(JSON.stringify(body)), status)
  return {
    ending: {
      outcome: 'upstream_error',
      status,
      errorCode: 'upstream_unavailable',
      cause: unusableStatus(response.status),
    },
    finish,
  }
}

/**
 * Reads the body of a failure; empty when it is too long, too slow, encoded or incomplete.
 * @throws what `keep` throws
 */
export async function readFailure(
  response: UpstreamResponse,
  keep: (bytes: number) => void = () => {},
): Promise<Buffer> {
  const timer = setTimeout(() => response.abort(), REASON_MS)
  try {
    if (!isEncoded(response.headers)) return await readAll(response, keep, MAX_REASON_BYTES)
  } catch (error) {
    const isIncomplete = error instanceof GatewayError && error.type === 'upstream_error'
    if (!isIncomplete) throw error
  } finally {
    clearTimeout(timer)
  }
  response.abort()
  return EMPTY
}

/** The body of a failure for the client. Further members of the upstream's `error` stay. */
function failureBody(status: number, received: Buffer): JsonObject {
  const error = parseAnswer(received).body?.['error']
  const own = isObject(error) ? error : {}
  const { param = null } = own
  const message = failureReason(status, received)
  return { error: { ...own, message, type: 'upstream_error', param, code: 'upstream_unavailable' } }
}

/** Why the upstream failed, from its body; a sentence with its status when it does not say. */
export function failureReason(status: number, received: Buffer): string {
  const { body } = parseAnswer(received)
  const error = body?.['error']
  const places = [isObject(error) ? error['message'] : error, body?.['message'], body?.['detail']]
  const message = places.find((one) => typeof one === 'string' && one.trim() !== '')
  if (typeof message === 'string') return message
  const hasReason = body === null || Object.keys(isObject(error) ? error : body).length > 0
  return (hasReason ? reasonIn(received) : '') || unusableStatus(status)
}
