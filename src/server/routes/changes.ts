// Who changed what, over REST: the sealed entries that are not calls.

import type { ChangesPage, ChangesQuery } from '../../audit/change-view.ts'
import type { JsonObject } from '../../core/json.ts'
import { bounded, text, whole } from '../../core/schema-builders.ts'
import { type ApiRoute, ok } from '../api.ts'
import { operation } from '../openapi/operation-builders.ts'
import { QueryString } from '../query-string.ts'

/** Entries on a page. */
const DEFAULT_CHANGES = 50
const MAXIMUM_CHANGES = 1000

/** A log whose changes are listed, or all logs of a fleet; it may answer later. */
export interface ChangeLog {
  /** @throws GatewayError (rejects) `invalid_parameter` for an unknown cursor, log or sidecar */
  listChanges(query: ChangesQuery): Promise<ChangesPage>
}

/** The schema of the answer, and parameters, that differ between a gateway and a hub. */
interface ChangesForm {
  readonly answer: string
  readonly query: Readonly<Record<string, JsonObject>>
  /** Statuses of errors besides those of both. */
  readonly errors: readonly number[]
}

const OF_GATEWAY: ChangesForm = { answer: 'Changes', query: {}, errors: [] }

export function changesRoute(log: ChangeLog, form = OF_GATEWAY): ApiRoute {
  const described = {
    limit: bounded(1, MAXIMUM_CHANGES, DEFAULT_CHANGES),
    before: whole('`next_before` of an answer: lists entries with a lower sequence number.'),
    actor: text('Entries of one actor.'),
    type: text('Entries of one type.'),
    about: text('Entries that name a key or a rule, by its id or name.'),
    ...form.query,
  }
  return {
    method: 'GET',
    path: '/api/v1/audit/changes',
    access: 'viewer',
    operation: operation(
      'Lists the sealed entries that are not calls, newest first, with the actor of each.',
      { answer: form.answer, query: described, errors: [400, ...form.errors] },
    ),
    async answer({ search }) {
      const query = new QueryString(search, Object.keys(described))
      const before = query.integer('before', -1, 0, Number.MAX_SAFE_INTEGER)
      return ok(
        await log.listChanges({
          limit: query.integer('limit', DEFAULT_CHANGES, 1, MAXIMUM_CHANGES),
          beforeSeq: before < 0 ? null : before,
          actor: query.text('actor'),
          type: query.text('type'),
          about: query.text('about'),
          sidecar: query.text('sidecar'),
          log: query.text('log'),
          cursor: query.text('cursor'),
        }),
      )
    },
  }
}
