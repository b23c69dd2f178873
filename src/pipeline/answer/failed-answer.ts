// Delivers failures of the upstream: a status of 5xx, or an error in an answer with a status of
// success. The client gets the reason, scanned, in the form of our own errors.

import type { ErrorShape } from '../../chat/api-format.ts'
import { inErrorForm, isErrorBody } from '../../chat/stream-chunk.ts'
import { isTooDeep } from '../../chat/strict-json.ts'
import { GatewayError } from '../../core/errors.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { isEncoded, type UpstreamResponse, unusableStatus } from '../../upstream/response.ts'
import type { Ending } from '../record/entry-draft.ts'
import type { Delivered } from '../record/record.ts'
import { removeFromBytes } from '../scan/credential-filter.ts'
import { parseAnswer, reasonIn } from './received-body.ts'
import { type Answer, deliverBytes, readAll, respondWhole } from './whole-answer.ts'

/** Longest failure that is read. The status has to do for a longer one. */
export const MAXIMUM_REASON_BYTES = 64 * 1024
/** Time that the body of a failure has to arrive. */
const REASON_MS = 5000

/** Statuses with a meaning of their own to clients, with a `retry-after`. */
const PASSED_ON: ReadonlySet<number> = new Set([503, 504, 529])

const EMPTY = Buffer.alloc(0)

const REPORTED = 'The upstream reported an error in an answer with a status of success.'
const NO_ANSWER = "The upstream's JSON is neither an answer of this API nor an error."
const UNREADABLE = "The upstream's answer is neither an event stream nor a JSON object."

/** One line without the marks of JSON and markup. */
const WORDS = /^[^{}[\]<>"\\\r\n]{1,1000}$/

/** A failure as the client and the log see it. */
interface Failure {
  /** Status for the client. */
  readonly status: number
  /** A sentence for the log, and for the client when the upstream gives no reason. */
  readonly summary: string
}

/** Reports whether a status is a failure of the upstream. */
export const isFailed = ({ status }: Pick<UpstreamResponse, 'status'>): boolean => status >= 500

/** The status that the client gets for a failure of the upstream. */
export const failureStatus = (status: number): number => (PASSED_ON.has(status) ? status : 502)

/**
 * Reads, scans and prepares a failure of the upstream.
 * @throws GatewayError `response_blocked_by_policy`, or `overloaded` without memory for it
 */
export async function deliverFailedAnswer(answer: Answer): Promise<Delivered> {
  const { status } = answer.response
  return deliverFailure(answer, await readReason(answer), {
    status: failureStatus(status),
    summary: unusableStatus(status),
  })
}

/**
 * As `deliverFailedAnswer`, for an answer with a status of success that is neither a stream nor
 * JSON. Only one line of words is a reason: anything else may be an answer in an unknown form.
 */
export async function deliverUnreadableAnswer(answer: Answer): Promise<Delivered> {
  const received = await readReason(answer)
  const reason = WORDS.test(received.toString('utf8').trim()) ? received : EMPTY
  return deliverFailure(answer, reason, { status: 502, summary: UNREADABLE })
}

/**
 * Scans and prepares the error in an answer with a status of success. The client gets the status in
 * the error, if there is one. A body that is neither an error nor an answer counts as one.
 * @throws GatewayError as `deliverFailedAnswer`
 */
export function deliverReportedError(answer: Answer, answered: JsonObject): Promise<Delivered> {
  const isError = isErrorBody(answered)
  const body = isError ? inErrorForm(answered) : answered
  const received = removeFromBytes(reasonBytes(body, isError), answer.scan.credential)
  const summary = isError ? REPORTED : NO_ANSWER
  const status = reportedStatus(answer.call.api.errors, body)
  return deliverFailure(answer, received, { status, summary })
}

/** As `deliverReportedError`, for an error that was scanned. */
export function deliverScannedError(answer: Answer, event: JsonObject): Delivered {
  const { errors } = answer.call.api
  const body = inErrorForm(event)
  const failure = { status: reportedStatus(errors, body), summary: REPORTED }
  const sent = JSON.stringify(failureBody(errors, reasonBytes(body, true), failure))
  answer.call.record.estimatedCompletionTokens = 0
  return {
    ending: endingWith(failure),
    finish: (receipt) => respondWhole(answer, failure.status, sent, receipt),
  }
}

/** The members of a body that may hold a reason, as JSON. The others may be an answer. */
function reasonBytes({ error, message, detail }: JsonObject, isError: boolean): Buffer {
  return Buffer.from(JSON.stringify({ ...(isError ? { error } : {}), message, detail }))
}

async function deliverFailure(answer: Answer, received: Buffer, failure: Failure): Promise<Delivered> {
  const body = Buffer.from(JSON.stringify(failureBody(answer.call.api.errors, received, failure)))
  const { finish } = await deliverBytes(answer, body, failure.status)
  return { ending: endingWith(failure), finish }
}

const endingWith = ({ status, summary }: Failure): Ending => ({
  outcome: 'upstream_error',
  status,
  errorCode: status < 500 ? null : 'upstream_unavailable',
  cause: summary,
})

/**
 * The status for an error in a body: its own from 400 to 599, as if it were the answer's; without
 * one that of its kind.
 */
function reportedStatus(errors: ErrorShape, { error }: JsonObject): number {
  if (!isObject(error)) return 502
  const members = [error['code'], error['status'], error['status_code']]
  const status = members.map(Number).find((one) => Number.isInteger(one) && one >= 400 && one < 600)
  if (status === undefined) return errors.statusOf(error) ?? 502
  return status >= 500 ? failureStatus(status) : status
}

async function readReason({ call, response, scan, keep }: Answer): Promise<Buffer> {
  return removeFromBytes(await call.waitForUpstream(readFailure(response, keep)), scan.credential)
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
    if (!isEncoded(response.headers)) return await readAll(response, keep, MAXIMUM_REASON_BYTES)
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
function failureBody(errors: ErrorShape, received: Buffer, { status, summary }: Failure): JsonObject {
  const body = parseFailure(received)
  const error = body?.['error']
  return errors.failure(isObject(error) ? error : {}, reasonOf(body, received, summary), status)
}

/** Why the upstream failed, from its body; a sentence with its status when it does not say. */
export const failureReason = (status: number, received: Buffer): string =>
  reasonOf(parseFailure(received), received, unusableStatus(status))

/** The JSON object in the body of a failure; null when there is none that can be serialised. */
const parseFailure = (received: Buffer): JsonObject | null =>
  isTooDeep(received.toString('utf8')) ? null : parseAnswer(received).body

function reasonOf(body: JsonObject | null, received: Buffer, summary: string): string {
  const error = body?.['error']
  const places = [isObject(error) ? error['message'] : error, body?.['message'], body?.['detail']]
  const message = places.find((one) => typeof one === 'string' && one.trim() !== '')
  if (typeof message === 'string') return message
  const hasReason = body === null || Object.keys(isObject(error) ? error : body).length > 0
  return (hasReason ? reasonIn(received) : '') || summary
}
