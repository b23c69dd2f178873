// Erases captured exchanges: removes salt, content and end user, keeps the entries that commit to
// them, and seals the erasure in the same transaction.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ChangeDraft } from '../../audit/change-draft.ts'
import type { Actor } from '../../core/actor.ts'
import type { Milliseconds } from '../../core/clock.ts'
import { isoTime } from '../../core/time.ts'
import type { Environment } from '../environment/journaled.ts'
import { combinationsOfUser, eraseUserOf } from '../rollup/combinations.ts'
import { readU64, summarySeq, summaryTest, u64 } from '../tables/layout.ts'
import type { StoreTables } from '../tables/sub-databases.ts'
import { type Change, MAXIMUM_ID_BYTES, readLogState } from './batch.ts'
import { entryKeyOf } from './query.ts'
import { findUser, hasUser, oldestCalls, removeUser } from './user-rows.ts'

/** Rows read before the event loop gets its turn. */
const PAGE_ROWS = 500
/** Maximum exchanges removed in one transaction and counted by one `erase` entry. */
export const ERASE_SLICE_ROWS = 1000

/**
 * Selects the exchange of one call, of all calls of a key or of an end user, or of all calls that
 * arrived before a point in time.
 */
export type EraseSelection =
  | { readonly requestId: string }
  | { readonly keyId: string }
  /** As `findUser` takes it. */
  | { readonly user: string }
  | { readonly userHash: Buffer }
  | { readonly beforeMs: Milliseconds }

/** How far ahead the time of `before` may be: a clock that is behind, and the day that ends. */
const MAXIMUM_BEFORE_AHEAD_MS: Milliseconds = 86_400_000

/** Reports whether the time of `before` is later than anybody means: it selects all calls. */
export const isTooFarAhead = (beforeMs: Milliseconds, nowMs: Milliseconds): boolean =>
  beforeMs - nowMs > MAXIMUM_BEFORE_AHEAD_MS

/** Selects exchanges whose time is over (`audit.retain`). */
export interface ExpirySelection {
  readonly olderThanDays: number
}

export type Erasure = {
  /** Number of exchanges removed. */
  readonly erased: number
  /**
   * Number of `erase` entries sealed, one for each slice, so the log always states what is gone.
   */
  readonly entries: number
}

type SealChange = <Result>(decide: () => Change<Result>) => Promise<Result>

/** What is erased, and why. */
export interface EraseRequest {
  readonly selection: EraseSelection | ExpirySelection
  readonly actor: Actor
  /** Revision of the order of a hub: the last `erase` entry has it, also when nothing is erased. */
  readonly order?: number | undefined
}

interface EraseParts {
  readonly environment: Environment
  /** As `findUser` takes it. */
  readonly userKeys: readonly Buffer[]
  readonly change: SealChange
}

/**
 * Erases the exchanges of calls sealed so far, without waiting for calls in flight. Repeated after
 * a crash, it continues where it stopped.
 * @returns null when there is no call with the requested id, or neither a key with that id nor a
 * call of it
 * @throws GatewayError `audit_unavailable` (rejects); slices erased before stay erased and sealed
 */
export async function eraseContent(
  { environment, userKeys, change }: EraseParts,
  { selection, actor, order }: EraseRequest & { readonly selection: EraseSelection },
): Promise<Erasure | null> {
  const { tables } = environment
  let erasure: Erasure = { erased: 0, entries: 0 }
  const eraseSlice = async (seqs: readonly number[], isLast: boolean) => {
    const request = { selection, actor, ...(isLast && { order }) }
    const { erased, entries } = await change(() => eraseChange(tables, request, seqs))
    erasure = { erased: erasure.erased + erased, entries: erasure.entries + entries }
  }
  environment.refresh()
  const hashes = hashesOf(tables, selection, userKeys)
  let slice: number[] = []
  let isKnown = hashes !== null || ('keyId' in selection && hasKey(tables, selection.keyId))
  for await (const seqs of callsIn(environment, selection, hashes)) {
    isKnown ||= seqs.length > 0
    slice.push(...seqs.filter((seq) => hasContent(tables, seq) || hasUser(tables, seq)))
    if (slice.length <= ERASE_SLICE_ROWS) continue
    await eraseSlice(slice.slice(0, ERASE_SLICE_ROWS), false)
    slice = slice.slice(ERASE_SLICE_ROWS)
  }
  if (slice.length > 0 || order !== undefined) await eraseSlice(slice, true)
  for (const hash of hashes ?? []) await eraseFromRollups(environment, hash)
  return isKnown || 'beforeMs' in selection ? erasure : null
}

/** Returns the hashes of the end user that is selected; null for another selection. */
function hashesOf(
  tables: StoreTables,
  selection: EraseSelection,
  userKeys: readonly Buffer[],
): readonly Buffer[] | null {
  if ('userHash' in selection) return [selection.userHash]
  return 'user' in selection ? findUser(tables, userKeys, selection.user) : null
}

/** Yields the sequence numbers of the selected calls, at most a page at a time. */
async function* callsIn(
  environment: Environment,
  selection: EraseSelection,
  hashes: readonly Buffer[] | null,
): AsyncGenerator<number[]> {
  if ('requestId' in selection) {
    const entryKey = entryKeyOf(environment.tables, selection.requestId)
    if (entryKey !== undefined) yield [readU64(entryKey)]
  } else if ('keyId' in selection || 'beforeMs' in selection) yield* matching(environment, selection)
  else for (const hash of hashes ?? []) yield* callsOfHash(environment, hash)
}

/** Renames an end user in the rollups, which name users of pruned calls too. */
async function eraseFromRollups(environment: Environment, hash: Buffer): Promise<void> {
  const { tables } = environment
  environment.refresh()
  let isDone = false
  while (!isDone) {
    isDone = await environment.transaction(() => {
      const numbers = combinationsOfUser(tables, hash, ERASE_SLICE_ROWS)
      eraseUserOf(tables, hash, numbers)
      return numbers.length < ERASE_SLICE_ROWS
    })
  }
}

/** Declared keys are known by their calls only. */
function hasKey({ keyids }: StoreTables, id: string): boolean {
  const key = Buffer.from(id)
  // The database rejects empty and long keys.
  return key.length > 0 && key.length <= MAXIMUM_ID_BYTES && keyids.get(key) !== undefined
}

/** Yields the sequence numbers of matching calls, oldest first, at most a page at a time. */
async function* matching(
  environment: Environment,
  selection: Extract<EraseSelection, { keyId: string } | { beforeMs: Milliseconds }>,
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

/** Yields the sequence numbers of the calls of an end user, in the same way. */
async function* callsOfHash(environment: Environment, hash: Buffer): AsyncGenerator<number[]> {
  const { tables } = environment
  const end = readLogState(tables)?.nextRequest ?? 0
  for (let from = 0; from < end; ) {
    environment.refresh()
    const ordinals = oldestCalls(tables, hash, from, PAGE_ROWS)
    yield ordinals.flatMap((ordinal) => {
      const summary = tables.requests.get(u64(ordinal))
      return summary === undefined ? [] : summarySeq(summary)
    })
    from = ordinals.length < PAGE_ROWS ? end : ordinals.at(-1)! + 1
    await nextTurn()
  }
}

/** Reads keys only, because exchanges may be large; one by one, because calls may be far apart. */
const hasContent = ({ content }: StoreTables, seq: number): boolean =>
  content.count({ start: u64(seq), end: u64(seq + 1) }) > 0

/** Checks again inside the transaction: another process may have erased or pruned meanwhile. */
export function eraseChange(
  tables: StoreTables,
  request: EraseRequest,
  seqs: readonly number[],
): Change<Erasure> {
  const captured = seqs.filter((seq) => hasContent(tables, seq))
  const named = seqs.filter((seq) => hasUser(tables, seq))
  const isEmpty = captured.length + named.length === 0 && request.order === undefined
  return {
    draft: isEmpty ? null : draftOf(request, captured.length, named.length),
    write: () => {
      for (const seq of captured) tables.content.remove(u64(seq))
      for (const seq of named) removeUser(tables, seq)
    },
    result: { erased: captured.length, entries: isEmpty ? 0 : 1 },
  }
}

function draftOf({ selection, actor, order }: EraseRequest, erased: number, users: number): ChangeDraft {
  const counts = { erased, ...(users > 0 && { users }), ...(order !== undefined && { order }) }
  return { type: 'erase', selection: sealedSelection(selection), ...counts, actor }
}

function sealedSelection(
  selection: EraseSelection | ExpirySelection,
): Extract<ChangeDraft, { type: 'erase' }>['selection'] {
  if ('requestId' in selection) return { request_id: selection.requestId }
  if ('keyId' in selection) return { key_id: selection.keyId }
  // Who it was is what was erased.
  if ('user' in selection || 'userHash' in selection) return { user: true }
  if ('olderThanDays' in selection) return { older_than_days: selection.olderThanDays }
  return { before: isoTime(selection.beforeMs) }
}
