// Changes a database as its owner could, to see what a verification finds.

import type { Database, Queries } from '../../src/ledger/database.ts'

/** Undoes a transaction. */
class Undo extends Error {}

/** Runs statements as an owner who has removed all that protects the entries, and undoes them. */
export const tamperingWith =
  (database: Database) =>
  async (statement: string, look: (queries: Queries) => Promise<void>): Promise<void> => {
    const tampering = database.transaction(async (queries) => {
      const [{ part }] = (await queries.rows('select min(tableoid::regclass::text) as part from entry')) as [
        { part: string },
      ]
      for (const table of ['entry', part]) await queries.rows(`alter table ${table} disable trigger all`)
      const checks = await queries.rows<{ conname: string }>(
        "select conname from pg_constraint where conrelid = 'entry'::regclass and contype = 'c'",
      )
      for (const { conname } of checks) await queries.rows(`alter table entry drop constraint ${conname}`)
      await queries.rows(statement)
      await look(queries)
      throw new Undo()
    })
    await tampering.catch((error: unknown) => {
      if (!(error instanceof Undo)) throw error
    })
  }
