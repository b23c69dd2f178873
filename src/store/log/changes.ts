// Lists the entries that are not calls, newest first. They have no index: a bounded number of
// entries is read, and the answer says where to continue.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { type ChangesPage, type ChangesQuery, changeView, NAMING_MEMBERS } from '../../audit/change-view.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Environment } from '../environment/journaled.ts'
import { readU64, u64, unpackEntry } from '../tables/layout.ts'
import { readLogState } from './batch.ts'

/** Entries read before the event loop gets its turn: about a millisecond. */
const PAGE_ROWS = 250
/** Maximum entries read for one request, about a tenth of a second. */
export const MAXIMUM_READ_ENTRIES = 20_000
/** In the canonical form of a call; a quote in a text is escaped there. */
const CALL = Buffer.from('"type":"request"')

/** Returns a page of entries. A page with `next_before` may have fewer than `limit`. */
export async function listChanges(environment: Environment, query: ChangesQuery): Promise<ChangesPage> {
  const { tables } = environment
  environment.refresh()
  const newest = readLogState(tables)?.seq ?? -1
  const start = Math.min(newest, (query.beforeSeq ?? newest + 1) - 1)
  const stop = Math.max(-1, start - MAXIMUM_READ_ENTRIES)
  const changes: JsonObject[] = []
  let seq = start
  while (seq > stop && changes.length < query.limit) {
    // Another transaction may have written during the pause.
    environment.refresh()
    const rows = tables.entries.rows({
      start: u64(seq),
      reverse: true,
      limit: Math.min(PAGE_ROWS, seq - stop),
    })
    if (rows.length === 0) return { changes }
    for (const { key, value } of rows) {
      seq = readU64(key) - 1
      const change = value.includes(CALL) ? null : describe(readU64(key), value)
      if (change !== null && isWanted(change, query)) changes.push(change)
      if (changes.length === query.limit) break
    }
    await nextTurn()
  }
  return seq < 0 ? { changes } : { changes, next_before: seq + 1 }
}

const isWanted = (change: JsonObject, { actor, type, about = null }: ChangesQuery): boolean =>
  (actor === null || change['actor'] === actor) &&
  (type === null || change['type'] === type) &&
  (about === null || NAMING_MEMBERS.some((name) => change[name] === about))

function describe(seq: number, packed: Buffer): JsonObject {
  const { hash, bytes } = unpackEntry(seq, packed)
  return changeView(seq, hash, bytes)
}
