// The interface of a management route: its request, its answer and the role that it needs.
// handler.ts does the rest once for all routes: matching, session, origin, body parsing and errors.

import type { IncomingHttpHeaders } from 'node:http'
import type { AdminRole } from '../core/admin-role.ts'
import type { Session } from '../core/admin-session.ts'
import { GatewayError } from '../core/errors.ts'
import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import type { RouteOperation } from './openapi/operation-builders.ts'

export interface ApiRequest {
  readonly headers: IncomingHttpHeaders
  /** IP address of the connection; empty when the client is gone. */
  readonly address: string
  readonly params: Readonly<Record<string, string>>
  /** Path below which the browser sees the gateway; empty for none. */
  readonly base: string
  /** The raw query without `?`. */
  readonly search: string
  /** Reads and parses the JSON body. @throws GatewayError (rejects) */
  body(): Promise<JsonValue>
  /** Closes the connection, also while an answer is being sent. */
  disconnect(): void
}

export interface SessionRequest extends ApiRequest {
  /** The session that the request belongs to; its name is the actor of what the route changes. */
  readonly session: Session
}

export interface ApiAnswer {
  readonly status: number
  readonly body: JsonValue
  readonly headers?: Readonly<Record<string, string | string[]>>
  /** Sent instead of `body`. */
  readonly text?: { readonly type: string; readonly content: string }
  /**
   * Sent instead of `body`, at the speed of the client: chunks are asked for one at a time, each in
   * its own turn of the event loop. An empty chunk only gives other requests their turn.
   */
  readonly stream?: { readonly type: string; readonly chunks: AsyncIterable<string> }
}

interface RouteTarget {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  /** Describes the route in `/openapi.json`. */
  readonly operation: RouteOperation
  /** The body is a prompt, limited by limits.bodyBytes. */
  readonly takesPrompt?: true
  /**
   * Called by programs with a secret in the request and never with the cookie of a browser, so that
   * no Host and no origin is refused.
   */
  readonly takesAnyHost?: true
}

/** Needs no session: sign-in and the description of the API. */
interface OpenRoute extends RouteTarget {
  readonly access: 'open'
  readonly answer: (request: ApiRequest) => Promise<ApiAnswer>
}

interface SessionRoute extends RouteTarget {
  /** The least role that the route answers. */
  readonly access: AdminRole
  readonly answer: (request: SessionRequest) => Promise<ApiAnswer>
}

export type ApiRoute = OpenRoute | SessionRoute

export const ok = (body: JsonValue): ApiAnswer => ({ status: 200, body })

/**
 * Reads the body as an object with only `known` keys.
 * @throws GatewayError `invalid_body` that names the key
 */
export async function readFields(request: ApiRequest, known: readonly string[]): Promise<JsonObject> {
  const body = await request.body()
  if (!isObject(body)) throw new GatewayError('invalid_body', 'The body must be a JSON object.')
  for (const key of Object.keys(body)) {
    if (known.includes(key)) continue
    throw new GatewayError('invalid_body', `Unknown field; known fields: ${known.join(', ')}.`, {
      param: key.slice(0, 64),
    })
  }
  return body
}

/** Returns a non-blank string field. @throws GatewayError that names the field and its bounds */
export function requireText(fields: JsonObject, name: string, maximum: number): string {
  const value = fields[name]
  if (value === undefined) {
    throw new GatewayError('missing_required_parameter', `${name} is required.`, { param: name })
  }
  if (typeof value === 'string' && value.trim() !== '' && value.length <= maximum) return value
  throw new GatewayError('invalid_body', `${name} must be a string of 1 to ${maximum} characters.`, {
    param: name,
  })
}
