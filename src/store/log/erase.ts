// Erases captured exchanges: removes salt and content, keeps the entries that commit to them, and
// seals the erasure in the same transaction.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ChangeDraft } from '../../audit/change-draft.ts'
import type { Actor } from '../../core/actor.ts'
import type { Milliseconds } from '../../core/clock.ts'
import { isoTime } from '../../core/time.ts'
import { readU64, summarySeq, summaryTest, u64 } from '../layout.ts'
import type { Environment, StoreTables } from '../lmdb.ts'
import { type Change, MAX_ID_BYTES, readLogState } from './batch.ts'
import { entryKeyOf } from './query.ts'

/** Rows read before the event loop gets its turn. */
const PAGE_ROWS = 500
/** Most exchanges removed in one transaction and counted by one `erase` entry. */
export const ERASE_SLICE_ROWS = 1000

/**
 * Selects the exchange of one call, of all calls of a key, or of all calls that arrived before a
 * point in time.
 */
export type EraseSelection =
  | { readonly requestId: string }
  | { readonly keyId: string }
  | { readonly beforeMs: Milliseconds }

export type Erasure = {
  /** Number of exchanges removed. */
  readonly erased: number
  /**
   * Number of `erase` entries sealed, one for each slice, so the log always states what is gone.
   */
  readonly entries: number
}

type SealChange = <Result>(decide: () => Change<Result>) => Promise<Result>

/**
 * Erases the exchanges of calls sealed so far, without waiting for calls in flight. Repeated after
 * a crash, it continues where it stopped.
 * @returns null when there is no call with the requested id, or neither a key with that id nor a
 * call of it
 * @throws GatewayError `audit_unavailable` (rejects); slices erased before stay erased and sealed
 */
export async function eraseContent(
  environment: Environment,
  selection: EraseSelection,
  actor: Actor,
  change: SealChange,
): Promise<Erasure | null> {
  const { tables } = environment
  let erasure: Erasure = { erased: 0, entries: 0 }
  const eraseSlice = async (seqs: readonly number[]) => {
    const erased = await change(() => eraseChange(tables, selection, actor, seqs))
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

/** Declared keys are known by their calls only. */
function hasKey({ keyids }: StoreTables, id: string): boolean {
  const key = Buffer.from(id)
  // The database rejects empty and long keys.
  return key.length > 0 && key.length <= MAX_ID_BYTES && keyids.get(key) !== undefined
}

/** Yields the sequence numbers of matching calls, oldest first, at most a page at a time. */
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
 * Returns the sequence numbers that have an exchange. Reads keys only, because exchanges may be
 * large. One by one: the calls of a key may be far apart.
 */
const withContent = ({ content }: StoreTables, seqs: readonly number[]): number[] =>
  seqs.filter((seq) => content.count({ start: u64(seq), end: u64(seq + 1) }) > 0)

/** Checks again inside the transaction: another process may have erased or pruned meanwhile. */
function eraseChange(
  tables: StoreTables,
  selection: EraseSelection,
  actor: Actor,
  seqs: readonly number[],
): Change<number> {
  const present = withContent(tables, seqs)
  return {
    draft:
      present.length === 0
        ? null
        : { type: 'erase', selection: describe(selection), erased: present.length, actor },
    write: () => {
      for (const seq of present) tables.content.remove(u64(seq))
    },
    result: present.length,
  }
}

function describe(selection: EraseSelection): Extract<ChangeDraft, { type: 'erase' }>['selection'] {
  if ('requestId' in selection) return { request_id: selection.requestId }
  if ('keyId' in selection) return { key_id: selection.keyId }
  return { before: isoTime(selection.beforeMs) }
}
