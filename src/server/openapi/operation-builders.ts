// Describes the operation of a route in OpenAPI: parameters, bodies, answers and errors.

import type { JsonObject } from '../../core/json.ts'
import { ref } from '../../core/schema-builders.ts'

/** What a caller needs: an API key, a session, or nothing. */
export type Security = 'key' | 'session' | 'none'

/** Errors of every operation, by what it needs. */
const COMMON_ERRORS: Readonly<Record<Security, readonly number[]>> = {
  key: [401, 502, 503, 504, 529],
  // 403: the session has too low a role, or another site sent an unsafe request.
  session: [401, 403, 421],
  none: [421],
}
/** An unsafe method of the management API is refused when another site sends it. */
const CROSS_SITE = 403
const BODY_ERRORS = [400, 413, 415]

interface Details {
  /** Name of the request body's schema. */
  readonly body?: string
  /** Schemas of the query parameters, by name. */
  readonly query?: Readonly<Record<string, JsonObject>>
  /** Statuses of success, with the same answer; 200 unless given. */
  readonly statuses?: readonly number[]
  /** Name of the answer's schema; the answer is not described without it. */
  readonly answer?: string
  /** A media type that the answer has as a text: also, or only without `answer`. */
  readonly textType?: string
  /** Statuses of pages in HTML, for browsers. */
  readonly pages?: readonly number[]
  /** Refusals of the upstream (4xx) are passed on. */
  readonly passesOn?: true
  /** Errors besides those that follow from the other fields. */
  readonly errors?: readonly number[]
}

/** What a route says of itself in the description of the API. */
export interface RouteOperation {
  /** A sentence. */
  readonly summary: string
  readonly details: Details
}

export const operation = (summary: string, details: Details = {}): RouteOperation => ({ summary, details })

/**
 * Describes the operation of a route.
 * @param path a template of OpenAPI, such as `/v1/models/{model}`
 */
export function describeOperation(
  method: string,
  path: string,
  security: Security,
  { summary, details }: RouteOperation,
): JsonObject {
  const { body, query = {}, pages = [], statuses = [200], answer, textType } = details
  const schema = answer === undefined ? undefined : ref(answer)
  const hasContent = schema !== undefined || textType !== undefined
  const success = response(summary, hasContent ? contents(schema, textType) : null)
  return {
    summary,
    parameters: [
      ...[...path.matchAll(/\{(\w+)\}/g)].map(([, parameter = '']) => pathParameter(parameter)),
      ...Object.entries(query).map(([parameter, schema]) => queryParameter(parameter, schema)),
    ],
    ...(body === undefined ? {} : { requestBody: { required: true, ...contents(ref(body)) } }),
    security: security === 'none' ? [] : [{ [security]: [] }],
    responses: {
      ...Object.fromEntries(statuses.map((status) => [status, success])),
      ...errorResponses(errorsOf(method, security, details), details.passesOn === true),
      ...Object.fromEntries(pages.map((status) => [status, response('A page for people.', HTML)])),
    },
  }
}

const pathParameter = (name: string): JsonObject => ({
  name,
  in: 'path',
  required: true,
  schema: { type: 'string' },
})
const queryParameter = (name: string, schema: JsonObject): JsonObject => ({ name, in: 'query', schema })

const contents = (schema: JsonObject | undefined, textType?: string): JsonObject => ({
  content: {
    ...(schema === undefined ? {} : { 'application/json': { schema } }),
    ...(textType === undefined ? {} : { [textType]: { schema: { type: 'string' } } }),
  },
})

const HTML: JsonObject = { content: { 'text/html': { schema: { type: 'string' } } } }

const response = (description: string, content: JsonObject | null): JsonObject => ({
  description,
  ...content,
})

function errorsOf(method: string, security: Security, { body, errors = [] }: Details): number[] {
  const isUnsafe = method !== 'GET' && security !== 'key'
  return [
    ...COMMON_ERRORS[security],
    ...(isUnsafe ? [CROSS_SITE] : []),
    ...(body === undefined ? [] : BODY_ERRORS),
    ...errors,
  ]
}

/** An exact status has precedence over `4XX`, which describes the upstream's other refusals. */
function errorResponses(statuses: readonly number[], passesOn: boolean): JsonObject {
  const own = response('Refused by the gateway.', contents(ref('Error')))
  const upstreams = response('Refused by the upstream.', contents(ref('UpstreamError')))
  const either = response(
    'Refused by the gateway or by the upstream.',
    contents({ anyOf: [ref('Error'), ref('UpstreamError')] }),
  )
  return {
    ...Object.fromEntries(
      statuses.map((status) => [status, passesOn && status >= 400 && status < 500 ? either : own]),
    ),
    ...(passesOn ? { '4XX': upstreams } : {}),
  }
}
