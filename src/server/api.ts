// How a management route looks: what it is given, what it answers. Everything around it — matching, session, origin,
// body parsing, errors — is done once in server/handler.

import type { IncomingHttpHeaders } from 'node:http'
import { GatewayError } from '../core/errors.ts'
import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'

export interface ApiRequest {
  readonly headers: IncomingHttpHeaders
  readonly params: Readonly<Record<string, string>>
  /** The raw query without `?`. */
  readonly search: string
  /** The parsed JSON body. @throws GatewayError */
  body(): Promise<JsonValue>
}

export interface ApiAnswer {
  readonly status: number
  readonly body: JsonValue
  readonly headers?: Readonly<Record<string, string>>
  /** In place of JSON: a text and its media type. */
  readonly text?: { readonly type: string; readonly content: string }
}

export interface ApiRoute {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  /** Sign-in itself and the description of the API need no session. */
  readonly open?: true
  /** A dry run's body is a prompt, and as long as one may be. */
  readonly takesPrompt?: true
  readonly answer: (request: ApiRequest) => Promise<ApiAnswer>
}

export const ok = (body: JsonValue): ApiAnswer => ({ status: 200, body })

/** The body as an object with no keys but the known ones. @throws GatewayError `invalid_body` naming the key */
export async function readFields(request: ApiRequest, known: readonly string[]): Promise<JsonObject> {
  const body = await request.body()
  if (!isObject(body)) throw new GatewayError('invalid_body', 'The body must be a JSON object.')
  for (const key of Object.keys(body)) {
    if (known.includes(key)) continue
    throw new GatewayError('invalid_body', `Unknown field; known: ${known.join(', ')}.`, {
      param: key.slice(0, 64),
    })
  }
  return body
}

/** A string field. @throws GatewayError naming it and its bounds */
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
