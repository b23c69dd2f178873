// Who changed what, over REST: the sealed entries that are not calls.

import type { ChangesPage, ChangesQuery } from '../../audit/change-view.ts'
import { bounded, text, whole } from '../../core/schema-builders.ts'
import { type ApiRoute, ok } from '../api.ts'
import { operation } from '../openapi/operation-builders.ts'
import { QueryString } from '../query-string.ts'

/** Entries on a page. */
const DEFAULT_CHANGES = 50
const MAXIMUM_CHANGES = 1000

/** A log whose changes are listed; it may answer later. */
export interface ChangeLog {
  listChanges(query: ChangesQuery): Promise<ChangesPage>
}

export const changesRoute = (log: ChangeLog): ApiRoute => ({
  method: 'GET',
  path: '/api/v1/audit/changes',
  access: 'viewer',
  operation: operation('Lists the sealed entries that are not calls, newest first, with the actor of each.', {
    answer: 'Changes',
    query: {
      limit: bounded(1, MAXIMUM_CHANGES, DEFAULT_CHANGES),
      before: whole('`next_before` of an answer: lists entries with a lower sequence number.'),
      actor: text('Entries of one actor.'),
      type: text('Entries of one type.'),
    },
    errors: [400],
  }),
  async answer({ search }) {
    const query = new QueryString(search, ['limit', 'before', 'actor', 'type'])
    const before = query.integer('before', -1, 0, Number.MAX_SAFE_INTEGER)
    return ok(
      await log.listChanges({
        limit: query.integer('limit', DEFAULT_CHANGES, 1, MAXIMUM_CHANGES),
        beforeSeq: before < 0 ? null : before,
        actor: query.text('actor'),
        type: query.text('type'),
      }),
    )
  },
})
