// Erases captured exchanges: salt and content go, the entries that commit to them stay, and what went is sealed in
// the same transaction. Knows nothing of who asked for it.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ChangeDraft } from '../../audit/entry.ts'
import type { Milliseconds } from '../../core/clock.ts'
import { isoTime } from '../../core/time.ts'
import { readU64, summarySeq, summaryTest, u64 } from '../layout.ts'
import type { Environment, StoreTables } from '../lmdb.ts'
import { type Change, MAX_ID_BYTES, readLogState } from './batch.ts'
import { entryKeyOf } from './query.ts'

/** Rows that are looked at before the event loop gets its turn. */
const PAGE_ROWS = 500
/** Exchanges that one transaction removes, and one `erase` entry speaks of. */
export const ERASE_SLICE_ROWS = 1000

/** Which exchanges: of one call, of all calls of a key, or of all calls that arrived before a point in time. */
export type EraseSelection =
  | { readonly requestId: string }
  | { readonly keyId: string }
  | { readonly beforeMs: Milliseconds }

export type Erasure = {
  /** Exchanges that were there and are gone. */
  readonly erased: number
  /** `erase` entries sealed, one a slice: what is gone and what the log says of it can never differ. */
  readonly entries: number
}

type SealChange = <Result>(decide: () => Change<Result>) => Promise<Result>

/**
 * Erases the exchanges of calls that are sealed by now; those in flight are not waited for. Done again after a crash
 * it goes on where it stopped.
 * @returns null when there is no call with the id asked for, or neither a key with that id nor a call of it
 * @throws GatewayError `audit_unavailable` (rejects); slices that were erased before stay erased, and sealed
 */
export async function eraseContent(
  environment: Environment,
  selection: EraseSelection,
  change: SealChange,
): Promise<Erasure | null> {
  const { tables } = environment
  let erasure: Erasure = { erased: 0, entries: 0 }
  const eraseSlice = async (seqs: readonly number[]) => {
    const erased = await change(() => eraseChange(tables, selection, seqs))
    if (erased > 0) erasure = { erased: erasure.erased + erased, entries: erasure.entries + 1 }
  }
  environment.refresh()
  if ('requestId' in selection) {
    const entryKey = entryKeyOf(tables, selection.requestId)
    if (entryKey === undefined) return null
    await eraseSlice([readU64(entryKey)])
    return erasure
  }
  let slice: number[] = []
  let isKnown = !('keyId' in selection) || hasKey(tables, selection.keyId)
  for await (const seqs of matching(environment, selection)) {
    isKnown ||= seqs.length > 0
    slice.push(...withContent(tables, seqs))
    if (slice.length < ERASE_SLICE_ROWS) continue
    await eraseSlice(slice.slice(0, ERASE_SLICE_ROWS))
    slice = slice.slice(ERASE_SLICE_ROWS)
  }
  if (slice.length > 0) await eraseSlice(slice)
  return isKnown ? erasure : null
}

/** Those that the configuration declares are known by their calls alone. */
function hasKey({ keyids }: StoreTables, id: string): boolean {
  const key = Buffer.from(id)
  // The database takes no empty key and no long one.
  return key.length > 0 && key.length <= MAX_ID_BYTES && keyids.get(key) !== undefined
}

/** Sequence numbers of matching calls, oldest first, in pieces of a page at most. */
async function* matching(
  environment: Environment,
  selection: Exclude<EraseSelection, { requestId: string }>,
): AsyncGenerator<number[]> {
  const { tables } = environment
  const test = summaryTest(
    'keyId' in selection ? { keyId: selection.keyId } : { untilMs: selection.beforeMs - 1 },
  )
  const state = readLogState(tables)
  const end = state?.nextRequest ?? 0
  for (let from = state?.firstRequest ?? 0; from < end; from += PAGE_ROWS) {
    environment.refresh()
    const range = { start: u64(from), end: u64(Math.min(end, from + PAGE_ROWS)) }
    yield tables.requests
      .rows(range)
      .filter(({ value }) => test?.(value))
      .map(({ value }) => summarySeq(value))
    await nextTurn()
  }
}

/**
 * Those of the sequence numbers that have an exchange; reads keys only, exchanges may be large. One by one: between two
 * calls of a key may lie those of all others.
 */
const withContent = ({ content }: StoreTables, seqs: readonly number[]): number[] =>
  seqs.filter((seq) => content.count({ start: u64(seq), end: u64(seq + 1) }) > 0)

/** Looks again inside the transaction: another process may have erased or pruned in between. */
function eraseChange(
  tables: StoreTables,
  selection: EraseSelection,
  seqs: readonly number[],
): Change<number> {
  const present = withContent(tables, seqs)
  return {
    draft: present.length === 0 ? null : draftOf(selection, present.length),
    write: () => {
      for (const seq of present) tables.content.remove(u64(seq))
    },
    result: present.length,
  }
}

function draftOf(selection: EraseSelection, erased: number): ChangeDraft {
  if ('requestId' in selection) {
    return { type: 'erase', selection: { request_id: selection.requestId }, erased }
  }
  if ('keyId' in selection) return { type: 'erase', selection: { key_id: selection.keyId }, erased }
  return { type: 'erase', selection: { before: isoTime(selection.beforeMs) }, erased }
}
