// Removes exchanges and end users from the database, in slices that are sealed one by one.

import type { ChangeDraft } from '../audit/change-draft.ts'
import type { Actor } from '../core/actor.ts'
import { onlyRow, type Queries } from './database.ts'
import type { LedgerChange } from './hub-log.ts'

/** Entries whose exchanges are removed in one transaction, and counted by one `erase` entry. */
export const ERASE_SLICE_ROWS = 1000

/** The place of an entry. Times are texts of the database, which are more exact than ours. */
export interface ReceivedPlace {
  readonly log_id: string
  readonly seq: number
  readonly received_at: string
}

/** Number of exchanges removed, and of `erase` entries sealed. */
export type ErasedRows = { readonly erased: number; readonly entries: number }

export const sumOf = (one: ErasedRows, other: ErasedRows): ErasedRows => ({
  erased: one.erased + other.erased,
  entries: one.entries + other.entries,
})

/** Why exchanges are removed, as the entry says it. */
interface SealedReason {
  readonly selection: Extract<ChangeDraft, { type: 'erase' }>['selection']
  readonly actor: Actor
  /** Revision of an order; its first entry is sealed also when nothing is removed. */
  readonly order?: number
  readonly isFirst?: boolean
}

/** Removes exchanges and end users of entries. @returns how many of each */
export const removeRows = (
  queries: Queries,
  places: readonly ReceivedPlace[],
): Promise<{ erased: number; users: number }> =>
  onlyRow(
    queries.rows(
      `with place as (
         select * from unnest($1::uuid[], $2::bigint[], $3::timestamptz[]) as p(log_id, seq, received_at)),
       texts as (
         delete from exchange x using place p
         where x.log_id = p.log_id and x.seq = p.seq and x.received_at = p.received_at returning 1),
       users as (
         delete from entry_user u using place p where u.log_id = p.log_id and u.seq = p.seq returning 1)
       select (select count(*) from texts) as erased, (select count(*) from users) as users`,
      [
        places.map(({ log_id }) => log_id),
        places.map(({ seq }) => seq),
        places.map(({ received_at }) => received_at),
      ],
    ),
  )

/** Removes exchanges and end users of a slice of entries inside a transaction. */
export async function eraseRows(
  queries: Queries,
  places: readonly ReceivedPlace[],
  { isFirst = false, ...reason }: SealedReason,
): Promise<Pick<LedgerChange<ErasedRows>, 'draft' | 'result'>> {
  const { erased, users } = await removeRows(queries, places)
  const isSealed = isFirst || erased + users > 0
  const draft = { type: 'erase', erased, ...(users > 0 && { users }), ...reason } as const
  return { draft: isSealed ? draft : null, result: { erased, entries: isSealed ? 1 : 0 } }
}
