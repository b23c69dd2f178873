// Responses that the provider keeps: which requests name them, and the requests about one
// (https://platform.openai.com/docs/api-reference/responses).

import { GatewayError } from '../../core/errors.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import type { Steps } from '../../core/steps.ts'
import { invalid } from '../body-fields.ts'
import { containersOfResponse, namedIds } from '../named-items.ts'
import {
  isStoredId,
  type StoredFormat,
  type StoredOperation,
  type StoredReference,
  type StoredUse,
} from '../stored-format.ts'

/** Items of one input with an id: each is looked up, in a few microseconds. */
const MAXIMUM_NAMED_ITEMS = 5000
/** Items of a response that later calls can name. A response has fewer. */
const MAXIMUM_ITEMS = 256

/** As OpenAI words it; clients compare the status, and people read the message. */
const notFound = (what: string, shown: string | null, param?: string): GatewayError =>
  new GatewayError('not_found', `${what}${shown === null ? '' : ` with id '${shown}'`} not found.`, {
    ...(param === undefined ? {} : { param }),
    extra: { code: null },
  })

const previous = (id: string): StoredReference => ({
  id,
  notFound: (shown) =>
    new GatewayError(
      'previous_response_not_found',
      `Previous response${shown === null ? '' : ` with id '${shown}'`} not found.`,
      { param: 'previous_response_id' },
    ),
})

const item = (id: string): StoredReference => ({
  id,
  notFound: (shown) => notFound('Item', shown, 'input'),
})

const container = (id: string): StoredReference => ({
  id,
  notFound: (shown) => notFound('Container', shown, 'tools'),
})

function* readRequest(body: JsonObject): Steps<StoredUse> {
  const { continued, ...use } = readMembers(body)
  const named = yield* namedIds(body)
  if (Object.values(named).flat().length > MAXIMUM_NAMED_ITEMS)
    throw invalid('input', `must have at most ${MAXIMUM_NAMED_ITEMS} items with an id.`)
  return {
    ...use,
    continued: continued === null ? null : previous(continued),
    items: [...named.items.map(item), ...named.containers.map(container)],
    repeated: [...named.repeatedItems.map(item), ...named.repeatedContainers.map(container)],
  }
}

function readMembers({
  store = null,
  background = null,
  conversation = null,
  previous_response_id: continued = null,
}: JsonObject): Pick<StoredUse, 'isKept' | 'isBackground'> & { readonly continued: string | null } {
  // Conversations are made at an endpoint that is not served, so none belongs to a key.
  if (conversation !== null) throw notFound('Conversation', null, 'conversation')
  if (continued !== null && typeof continued !== 'string')
    throw invalid('previous_response_id', 'must be the id of a response.')
  return { isKept: store !== false, isBackground: background === true, continued }
}

function idsOf({ id, store, output }: JsonObject): ReturnType<StoredFormat['idsOf']> {
  if (typeof id !== 'string' || !isStoredId(id) || store === false) return null
  const items = Array.isArray(output) ? output.slice(0, MAXIMUM_ITEMS) : []
  return {
    id,
    items: items.flatMap((one) => {
      const itemId = isObject(one) ? one['id'] : null
      return typeof itemId === 'string' && isStoredId(itemId) ? [itemId] : []
    }),
  }
}

const BOOLEAN = /^(?:true|false)$/
const FIELD = /^[\w.]{1,64}$/
const CURSOR = { test: isStoredId }
/** Parameters, and the form of their values. */
type Parameters = Readonly<Record<string, { test(value: string): boolean }>>

const LIST_NAME = /^include(?:\[\d*\])?$/
const NO_PARAMETERS: Parameters = {}
/** Answered here, from the whole stream. */
const RESUMED = 'starting_after'
const READ_PARAMETERS: Parameters = {
  include: FIELD,
  stream: BOOLEAN,
  include_obfuscation: BOOLEAN,
  [RESUMED]: /^\d{1,9}$/,
}
const LIST_PARAMETERS: Parameters = {
  include: FIELD,
  limit: /^\d{1,4}$/,
  order: /^(?:asc|desc)$/,
  after: CURSOR,
  before: CURSOR,
}

const refused = (message: string, param?: string): GatewayError =>
  new GatewayError('invalid_parameter', message, param === undefined ? {} : { param })

const queryReader =
  (parameters: Parameters): StoredOperation['readQuery'] =>
  (search) => {
    const values = new URLSearchParams(search)
    const seen = new Set<string>()
    for (const [written, value] of values) {
      const name = LIST_NAME.test(written) ? 'include' : written
      if (!Object.hasOwn(parameters, name))
        throw refused(`Unknown parameter; known ones: ${Object.keys(parameters).join(', ') || 'none'}.`)
      if (name !== 'include' && seen.has(name)) throw refused(`${name}: must be given once.`, name)
      if (!parameters[name]!.test(value)) throw refused(`${name}: has a value that is not allowed.`, name)
      seen.add(name)
    }
    const stream = values.get('stream') === 'true'
    const after = values.get(RESUMED)
    if (after !== null && !stream) throw refused(`${RESUMED}: is for streams (stream=true).`, RESUMED)
    values.delete(RESUMED)
    return { query: values.toString(), stream, after: after === null ? null : Number(after) }
  }

const PENDING: readonly unknown[] = ['queued', 'in_progress']

export const STORED_RESPONSES: StoredFormat = {
  operations: [
    { method: 'GET', path: '', effect: 'reads', readQuery: queryReader(READ_PARAMETERS) },
    { method: 'DELETE', path: '', effect: 'removes', readQuery: queryReader(NO_PARAMETERS) },
    { method: 'POST', path: '/cancel', effect: 'reads', readQuery: queryReader(NO_PARAMETERS) },
    { method: 'GET', path: '/input_items', effect: 'lists', readQuery: queryReader(LIST_PARAMETERS) },
  ],
  readRequest,
  idsOf,
  containersOf: containersOfResponse,
  isPending: ({ status }) => PENDING.includes(status),
  notFound: (shown) => notFound('Response', shown),
}

/** For an endpoint whose requests name stored responses and whose own answers are not kept. */
export const STORED_BY_OTHERS: StoredFormat = {
  ...STORED_RESPONSES,
  operations: [],
  *readRequest(body) {
    return { ...(yield* readRequest(body)), isKept: false, isBackground: false }
  },
}
