// API keys over REST: creates, lists, changes, rotates and revokes them. Only the answers to a
// creation and a rotation contain a key.

import type { Actor } from '../../core/actor.ts'
import type { Clock } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import type { JsonObject, JsonValue } from '../../core/json.ts'
import { isoTime } from '../../core/time.ts'
import type { KeyRecord, NewKey } from '../../keys/key-record.ts'
import { keyFields, TERM_FIELDS, termFields } from '../../keys/key-terms-fields.ts'
import { type ApiAnswer, type ApiRoute, ok, readFields, requireText } from '../api.ts'
import { operation } from '../openapi/operation-builders.ts'
import { QueryString } from '../query-string.ts'

const MAXIMUM_NAME_CHARACTERS = 128
/** Longest time for which a rotated key still works: thirty days. */
const MAXIMUM_GRACE_SECONDS = 30 * 86_400

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
 * @param termNames fields of the terms that a key may have
 */
export function keyRoutes(
  keys: Keys,
  clock: Pick<Clock, 'now'>,
  termNames: readonly string[] = TERM_FIELDS,
): ApiRoute[] {
  const describe = (record: KeyRecord): JsonObject => keyFields(record, clock.now())
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
      operation: operation('Lists all keys.', { answer: 'Keys', errors: [400] }),
      async answer(request) {
        new QueryString(request.search, [])
        const list = (await keys.list()).map(describe)
        return ok({ keys: list, total: list.length })
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
        const working = (await keys.workingPredecessors(id)).map(describe)
        return ok({ ...describe(record), ...(working.length > 0 && { working_predecessors: working }) })
      },
    },
  ]
}

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
