// API keys over REST: creates, lists, changes, rotates and revokes them. Only the answers to a
// creation and a rotation contain a key.

import type { Actor } from '../../core/actor.ts'
import type { Clock, Milliseconds } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import type { JsonObject, JsonValue } from '../../core/json.ts'
import { bounded, choice, text } from '../../core/schema-builders.ts'
import { isoTime } from '../../core/time.ts'
import { noSuchKey } from '../../keys/key-changes.ts'
import { KEY_STATES, type KeyRecord, type KeyState, type NewKey, stateOf } from '../../keys/key-record.ts'
import { keyFields, TERM_FIELDS, termFields } from '../../keys/key-terms-fields.ts'
import { type ApiAnswer, type ApiRoute, ok, readFields, requireText } from '../api.ts'
import { operation } from '../openapi/operation-builders.ts'
import { QueryString } from '../query-string.ts'
import type { EffectiveTermsOf } from './effective-terms.ts'

const MAXIMUM_NAME_CHARACTERS = 128
const MAXIMUM_PAGE_KEYS = 1000
/** Longest time for which a rotated key still works: thirty days. */
const MAXIMUM_GRACE_SECONDS = 30 * 86_400

const LIST_QUERY = {
  q: text('Text that the name, id, prefix, owner or a label such as `team=search` contains, in any case.'),
  state: choice('State of the keys.', ...KEY_STATES),
  label: text('A label that the keys have: `team`, or `team=search` for one value.'),
  limit: bounded(1, MAXIMUM_PAGE_KEYS),
  cursor: text('`next` of an answer with the same filters.'),
}

/** What the routes need of the keys of a gateway, or of a hub. Methods reject as the routes say. */
export interface Keys {
  create(name: string, actor: Actor, fields: JsonObject): Promise<NewKey>
  change(id: string, fields: JsonObject, actor: Actor): Promise<KeyRecord>
  rotate(id: string, graceSeconds: number, actor: Actor): Promise<NewKey>
  revoke(id: string, actor: Actor): Promise<KeyRecord>
  list(): Promise<KeyRecord[]>
  /** The keys that a key replaces and that still work, the newest first. */
  workingPredecessors(id: string): Promise<KeyRecord[]>
}

/**
 * @param clock says which keys have expired
 * @param effective says what is in force for a key; null where no calls are decided
 * @param termNames fields of the terms that a key may have
 */
export function keyRoutes(
  keys: Keys,
  clock: Pick<Clock, 'now'>,
  effective: EffectiveTermsOf | null,
  termNames: readonly string[] = TERM_FIELDS,
): ApiRoute[] {
  const describe = (record: KeyRecord, successors?: ReadonlyMap<string, string>): JsonObject => {
    const successor = successors?.get(record.id)
    return { ...keyFields(record, clock.now()), ...(successor !== undefined && { replaced_by: successor }) }
  }
  return [
    {
      method: 'POST',
      path: '/api/v1/keys',
      access: 'editor',
      operation: operation('Creates an API key.', {
        statuses: [201],
        answer: 'NewKey',
        body: 'KeyFields',
        errors: [409, 503],
      }),
      async answer(request) {
        const fields = await readFields(request, ['name', ...termNames])
        const { name: _name, ...terms } = fields
        const name = requireText(fields, 'name', MAXIMUM_NAME_CHARACTERS)
        return created(await keys.create(name, request.session.name, terms))
      },
    },
    {
      method: 'PATCH',
      path: '/api/v1/keys/:id',
      access: 'editor',
      operation: operation('Changes terms of a key at once. Keys of the configuration are changed there.', {
        answer: 'Key',
        body: 'KeyTerms',
        errors: [404, 409, 503],
      }),
      async answer(request) {
        const fields = await readFields(request, termNames)
        return ok(describe(await keys.change(request.params['id'] ?? '', fields, request.session.name)))
      },
    },
    {
      method: 'POST',
      path: '/api/v1/keys/:id/rotate',
      access: 'editor',
      operation: operation(
        'Makes a successor with the same name and terms. The key itself works until the grace ends; both share limits and stored responses.',
        { statuses: [201], answer: 'NewKey', body: 'KeyRotation', errors: [404, 409, 503] },
      ),
      async answer(request) {
        const { grace_seconds: grace } = await readFields(request, ['grace_seconds'])
        return created(await keys.rotate(request.params['id'] ?? '', readGrace(grace), request.session.name))
      },
    },
    {
      method: 'GET',
      path: '/api/v1/keys',
      access: 'viewer',
      operation: operation('Lists keys in a fixed order, all of them without `limit`.', {
        answer: 'Keys',
        query: LIST_QUERY,
        errors: [400],
      }),
      async answer(request) {
        const query = new QueryString(request.search, Object.keys(LIST_QUERY))
        const list = await keys.list()
        const { page, total, next } = pageOf(list, readListQuery(query), clock.now())
        const successors = successorsIn(list)
        return ok({ keys: page.map((record) => describe(record, successors)), total, next })
      },
    },
    {
      method: 'GET',
      path: '/api/v1/keys/:id',
      access: 'viewer',
      operation: operation('Returns a key, and what is in force for its calls.', {
        answer: 'KeyDetail',
        errors: [400, 404],
      }),
      async answer(request) {
        new QueryString(request.search, [])
        const list = await keys.list()
        const record = list.find(({ id }) => id === request.params['id'])
        if (record === undefined) throw noSuchKey()
        return ok({ ...describe(record, successorsIn(list)), effective: effective?.(record, list) ?? null })
      },
    },
    {
      method: 'DELETE',
      path: '/api/v1/keys/:id',
      access: 'editor',
      operation: operation(
        'Revokes a key at once and permanently, also one that the configuration declares. A key that it replaced works until its grace ends, unless it is revoked as well.',
        {
          answer: 'RevokedKey',
          query: { revoke_predecessor: { type: 'boolean', default: false } },
          errors: [400, 404, 409, 503],
        },
      ),
      async answer(request) {
        const query = new QueryString(request.search, ['revoke_predecessor'])
        const isForAll = query.boolean('revoke_predecessor') ?? false
        const id = request.params['id'] ?? ''
        const actor = request.session.name
        const record = await keys.revoke(id, actor)
        if (isForAll) for (const one of await keys.workingPredecessors(id)) await keys.revoke(one.id, actor)
        const working = (await keys.workingPredecessors(id)).map((one) => describe(one))
        return ok({ ...describe(record), ...(working.length > 0 && { working_predecessors: working }) })
      },
    },
  ]
}

/** Returns the id of the key that replaces each, by its own id. */
const successorsIn = (keys: readonly KeyRecord[]): ReadonlyMap<string, string> =>
  new Map(keys.flatMap(({ id, replaces }) => (replaces === null ? [] : [[replaces, id]])))

interface ListQuery {
  /** In lower case. */
  readonly q: string | null
  readonly state: KeyState | null
  /** The name of a label, or `name=value`. */
  readonly label: string | null
  readonly limit: number
  /** Id of the last key of the page before. */
  readonly cursor: string | null
}

function readListQuery(query: QueryString): ListQuery {
  return {
    q: query.text('q')?.toLowerCase() ?? null,
    state: query.choice('state', KEY_STATES),
    label: query.text('label'),
    limit:
      query.text('limit') === null
        ? Number.POSITIVE_INFINITY
        : query.integer('limit', 1, 1, MAXIMUM_PAGE_KEYS),
    cursor: query.text('cursor'),
  }
}

/** Returns the keys of a page, how many match in all, and the cursor of the next page. */
function pageOf(
  keys: readonly KeyRecord[],
  { q, state, label, limit, cursor }: ListQuery,
  nowMs: Milliseconds,
): { readonly page: readonly KeyRecord[]; readonly total: number; readonly next: string | null } {
  // The key of a cursor may match no more. One that the configuration lost ends the paging.
  const last = cursor === null ? -1 : keys.findIndex(({ id }) => id === cursor)
  if (cursor !== null && last < 0)
    throw new GatewayError('invalid_parameter', 'cursor must be `next` of an answer.', { param: 'cursor' })
  const matches = (key: KeyRecord): boolean =>
    (q === null || textsOf(key).some((one) => one.toLowerCase().includes(q))) &&
    (state === null || stateOf(key, nowMs) === state) &&
    (label === null || hasLabel(key, label))
  const found = keys.flatMap((key, index) => (matches(key) ? [{ key, index }] : []))
  const after = found.filter(({ index }) => index > last)
  const page = after.slice(0, limit).map(({ key }) => key)
  return { page, total: found.length, next: after.length > limit ? page.at(-1)!.id : null }
}

/** What a search looks at. */
const textsOf = ({ id, name, prefix, terms }: KeyRecord): string[] => [
  id,
  name,
  ...(prefix === null ? [] : [prefix]),
  ...(terms.owner === null ? [] : [terms.owner]),
  ...Object.entries(terms.labels).map((label) => label.join('=')),
]

const hasLabel = ({ terms }: KeyRecord, wanted: string): boolean =>
  Object.entries(terms.labels).some(([name, value]) => name === wanted || `${name}=${value}` === wanted)

const created = ({ record, key }: NewKey): ApiAnswer => ({
  status: 201,
  body: {
    id: record.id,
    key,
    name: record.name,
    created_at: isoTime(record.createdAtMs),
    replaces: record.replaces,
    ...termFields(record.terms),
  },
})

function readGrace(value: JsonValue | undefined): number {
  if (value === undefined)
    throw new GatewayError('missing_required_parameter', 'grace_seconds is required.', {
      param: 'grace_seconds',
    })
  const isSeconds = typeof value === 'number' && Number.isInteger(value) && value >= 0
  if (isSeconds && value <= MAXIMUM_GRACE_SECONDS) return value
  throw new GatewayError(
    'invalid_body',
    `grace_seconds must be a whole number from 0 to ${MAXIMUM_GRACE_SECONDS}.`,
    { param: 'grace_seconds' },
  )
}
