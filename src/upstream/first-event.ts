// Reads the beginning of an answer with a status of success, in which some providers report that
// they are overloaded or failed. Another upstream can still answer then.

import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import type { UpstreamResponse } from './response.ts'

/** Longest beginning that is read, bytes; a failure is short. */
const MAXIMUM_BEGINNING_BYTES = 16 * 1024

const EVENTS = /^text\/event-stream\b/i
/** The data of an event, once its blank line is there. */
const DATA = /(?<=^|\n)data:[ ]?(.*)\r?\n(?:.*\r?\n)*?\r?\n/g
/** Events before an answer, which hold nothing of it. */
const OPENINGS: ReadonlySet<unknown> = new Set([
  'ping',
  'message_start',
  'response.created',
  'response.queued',
  'response.in_progress',
])
/** Types and codes of failures that another upstream may not have. */
const FAILURES =
  /^(?:overloaded(?:_error)?|server_is_overloaded|api_error|server_error|internal(?:_server)?_error|service_unavailable|timeout(?:_error)?|rate_limit(?:_error|_exceeded)?|upstream_error)$/i
const TOO_MANY_REQUESTS = 429
const FIRST_FAILURE = 500

/**
 * Reads the beginning of an answer: a stream up to its first event that holds a part of the answer,
 * or a short body.
 * @returns whether it reports a failure, and the answer, from its beginning
 * @throws as `UpstreamResponse.read`
 */
export async function readBeginning(
  response: UpstreamResponse,
): Promise<{ readonly hasFailed: boolean; readonly response: UpstreamResponse }> {
  const isStream = EVENTS.test(response.headers['content-type'] ?? '')
  const pieces: Buffer[] = []
  let bytes = 0
  let isWhole = false
  let failed: boolean | null = null
  while (failed === null && bytes <= MAXIMUM_BEGINNING_BYTES && !isWhole) {
    const piece = await response.read()
    if (piece === null) isWhole = true
    else {
      pieces.push(piece)
      bytes += piece.length
    }
    const text = Buffer.concat(pieces).toString('utf8')
    if (isStream) failed = failureInEvents(text)
    else if (isWhole) failed = failureIn(text)
    // Other bodies than a failure are long, or begin with other members.
    else if (!/^\s*\{/.test(text)) break
  }
  return { hasFailed: failed === true, response: beginningWith(pieces, isWhole, response) }
}

/** Reports whether the first event after the openings is a failure; null before it. */
function failureInEvents(text: string): boolean | null {
  for (const [, data = ''] of text.matchAll(DATA)) {
    const body = parse(data)
    const hasFailed = isFailedBody(body)
    if (hasFailed || !isObject(body) || !OPENINGS.has(body['type'])) return hasFailed
  }
  return null
}

const failureIn = (text: string): boolean => isFailedBody(parse(text))

/** Null for a text that is no JSON. */
function parse(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    return null
  }
}

function isFailedBody(body: JsonValue): boolean {
  if (!isObject(body)) return false
  const response = body['response']
  const error = body['error'] ?? (isObject(response) ? response['error'] : null) ?? errorOfChoice(body)
  if (!isObject(error)) return body['type'] === 'error' && isFailure(body)
  return isFailure(error)
}

/** Aggregators report a provider's failure in the choice. */
function errorOfChoice({ choices }: JsonObject): JsonValue {
  const [choice] = Array.isArray(choices) ? choices : []
  return isObject(choice) ? (choice['error'] ?? null) : null
}

function isFailure({ code, status, type }: Readonly<Record<string, JsonValue>>): boolean {
  for (const value of [code, status]) {
    const number = typeof value === 'string' ? Number(value) : value
    if (typeof number === 'number' && (number >= FIRST_FAILURE || number === TOO_MANY_REQUESTS)) return true
  }
  return [code, type].some((value) => typeof value === 'string' && FAILURES.test(value))
}

/** The answer from its beginning, of which some pieces are read. */
function beginningWith(pieces: Buffer[], isWhole: boolean, response: UpstreamResponse): UpstreamResponse {
  const { status, headers, credential } = response
  return {
    status,
    headers,
    credential,
    async read() {
      if (pieces.length > 0) return Buffer.concat(pieces.splice(0))
      return isWhole ? null : response.read()
    },
    abort: () => response.abort(),
    discard: () => response.discard(),
  }
}
