// Writes what is stored apart from the entries of sidecars, so that it can be erased: exchanges and
// end users.

import type { ArrivingEntry } from '../audit/arrival.ts'
import type { KeptUser } from '../core/retention-section.ts'
import type { Queries } from './database.ts'
import { type ColumnValue, labelsIn, storableText } from './entry-columns.ts'

/** An entry to write, with what is stored apart from it. */
export interface ShippedRow {
  readonly log: string
  readonly seq: number
  readonly sent: ArrivingEntry
  readonly columns: readonly ColumnValue[]
}

export async function insertExchanges(queries: Queries, rows: readonly ShippedRow[]): Promise<void> {
  if (rows.length === 0) return
  await queries.rows(
    `insert into exchange (received_at, log_id, seq, labels, bytes)
     select now(), * from unnest($1::uuid[], $2::bigint[], $3::jsonb[], $4::bytea[])`,
    [
      rows.map(({ log }) => log),
      rows.map(({ seq }) => seq),
      rows.map(({ columns }) => labelsIn(columns)),
      rows.map(({ sent }) => sent.content),
    ],
  )
}

export async function insertUsers(
  queries: Queries,
  rows: readonly ShippedRow[],
  keptUser: KeptUser,
): Promise<void> {
  if (rows.length === 0 || keptUser === 'off') return
  const clearOf = ({ sent }: ShippedRow) => (keptUser === 'clear' ? sent.user!.clear : null)
  await queries.rows(
    `insert into entry_user (log_id, seq, hash, clear)
     select * from unnest($1::uuid[], $2::bigint[], $3::bytea[], $4::text[])`,
    [
      rows.map(({ log }) => log),
      rows.map(({ seq }) => seq),
      rows.map(({ sent }) => sent.user!.hash),
      rows.map(clearOf).map((clear) => (clear === null ? null : storableText(clear))),
    ],
  )
}
