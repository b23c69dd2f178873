// The program that inspects a store in a child process (see inspection.ts). Prints the fault it
// found, or the rows that a new log takes over, on standard output.

import '../../core/signal-guard.ts'
import { join } from 'node:path'
import { openCheckpoint } from '../../audit/checkpoint.ts'
import { ChainVerifier } from '../../audit/verify.ts'
import { checkJournal } from '../environment/apply.ts'
import { isDamage, printLine } from '../environment/damage.ts'
import { type Environment, openEnvironment } from '../environment/journaled.ts'
import { openLmdb } from '../environment/lmdb.ts'
import { DATA_FILE, faultOfFile } from '../files/header.ts'
import { JournalDamageError } from '../journal/journal-reader.ts'
import { readLogState } from '../log/batch.ts'
import { oldestSeq, readPrunePoint } from '../log/prune.ts'
import { rootOf } from '../log/tree.ts'
import { type LogState, readJson, readU64, summarySeq, u64, unpackEntry } from '../tables/layout.ts'
import type { StoreTables, SubDatabase } from '../tables/sub-databases.ts'
import { recordedIdentity } from './identity.ts'

/** Newest entries to verify, with their index rows; `sidegate audit verify` covers the others. */
const INSPECTED_ENTRIES = 10_000
const PAGE_ROWS = 500
/** Tables that are read completely when the store is opened, or carried over. */
const WHOLE: readonly SubDatabase[] = [
  'checkpoints',
  'keys',
  'keyids',
  'keyuse',
  'rules',
  'counters',
  'sessions',
  'fleet',
  'fleetkeys',
  'fleetrevoked',
]
/**
 * Tables that a new log takes over from a quarantined one: keys, rules made through the API, and
 * what a hub has sent.
 */
const CARRIED: readonly SubDatabase[] = [
  'keys',
  'keyids',
  'keyuse',
  'rules',
  'fleet',
  'fleetkeys',
  'fleetrevoked',
]

/** @returns the exit code */
function inspect(path: string): number {
  const fault = faultOfFile(join(path, DATA_FILE))
  if (fault !== null) {
    printLine(
      fault.startsWith('cannot be read')
        ? { refusal: `${DATA_FILE} ${fault}` }
        : { fault: `${DATA_FILE} ${fault}` },
    )
    return 1
  }
  let environment: Environment
  try {
    environment = openEnvironment(path)
  } catch (error) {
    const { message } = error as Error
    printLine(isDamage(error) ? { fault: message } : { refusal: message })
    return 1
  }
  try {
    const storeFault = faultOf(environment)
    checkJournal(environment, path)
    if (storeFault === null) {
      printLine({ identity: recordedIdentity(environment) })
      return 0
    }
    printLine({ fault: storeFault })
  } catch (error) {
    const { message } = error as Error
    const isJournal = error instanceof JournalDamageError
    printLine({ fault: isJournal ? message : `the database cannot be read (${message})` })
  }
  return 1
}

/** Returns the fault of the log, or null. A store that was never used has none. */
function faultOf({ tables }: Environment): string | null {
  const state = readLogState(tables)
  if (state === null) return tables.entries.size === 0 ? null : 'the head of the log is missing'
  printLine({ log: state.log, seq: state.seq })
  const oldest = oldestSeq(tables)
  const { firstSeq } = readPrunePoint(tables)
  if (oldest === null) return 'the log has no entries'
  if (oldest > firstSeq) return `the log begins at ${oldest}, and no prune entry covers the entries before`
  // Comparing the tree with the entries would require reading all of them.
  if (rootOf(state) === null) return 'the tree does not match the number of entries'
  const entries = state.seq - oldest + 1
  const calls = state.nextRequest - state.firstRequest
  if (tables.entries.size !== entries) {
    return `the head of the log is at ${state.seq}, which requires ${entries} entries; there are ${tables.entries.size}`
  }
  if (tables.requests.size !== calls || tables.ids.size !== calls) return 'the usage list is incomplete'
  for (const name of WHOLE) {
    if (tables[name].rows().length !== tables[name].size) return `${name}: rows are missing`
  }
  const newest = readNewest(tables, state, oldest)
  if (typeof newest === 'string') return newest
  return faultOfList(tables, state.nextRequest, newest) ?? faultOfCheckpoint(tables, state)
}

/**
 * Verifies the newest entries, each alone and in sequence, up to the head.
 * @returns the ids of the calls among them, or the fault
 */
function readNewest(tables: StoreTables, state: LogState, oldest: number): CallIds | string {
  const { seq, hash } = state
  const first = Math.max(oldest, seq - INSPECTED_ENTRIES + 1)
  const ids = new Map<number, string>()
  let verifier: ChainVerifier | null = first === 0 ? new ChainVerifier() : null
  for (let from = first; from <= seq; from += PAGE_ROWS) {
    for (const { key, value } of tables.entries.rows({ start: u64(from), limit: PAGE_ROWS })) {
      const record = unpackEntry(readU64(key), value)
      verifier ??= new ChainVerifier(headBefore(record.seq, record.bytes))
      if (!verifier.push(record)) break
      if (verifier.entry?.['type'] === 'request') ids.set(record.seq, String(verifier.entry['id']))
    }
  }
  const verdict = verifier?.verdict
  if (verdict === undefined) return 'the newest entries are missing'
  if (!verdict.ok) return `${verdict.fault.seq}: ${verdict.fault.reason}`
  const isHead = verdict.head?.hash === hash && verdict.head.seq === seq
  return isHead ? ids : 'the newest entry is not the head of the log'
}

/** By sequence number. */
type CallIds = ReadonlyMap<number, string>

/** Returns the entry before the first one read, as that one names it: verification begins there. */
function headBefore(seq: number, bytes: Uint8Array): { log: string; seq: number; hash: string } {
  const { log, prev } = readJson<{ log: string; prev: string }>(Buffer.from(bytes))
  return { log, seq: seq - 1, hash: prev }
}

/** Checks that the list rows of the newest calls lead to them, and their ids back. */
function faultOfList(tables: StoreTables, next: number, ids: CallIds): string | null {
  const start = u64(Math.max(0, next - ids.size))
  let listed = 0
  for (const { key, value } of tables.requests.rows({ start })) {
    const seq = summarySeq(value)
    const id = ids.get(seq)
    if (id === undefined || id === '' || !tables.ids.get(Buffer.from(id))?.equals(u64(seq))) {
      return `row ${readU64(key)} of the usage list does not lead to its call`
    }
    listed++
  }
  return listed === ids.size ? null : 'the usage list is incomplete'
}

/**
 * Checks that the newest checkpoint covers stored entries, and the current tree if no entry came
 * after it.
 */
function faultOfCheckpoint(tables: StoreTables, state: LogState): string | null {
  const [row] = tables.checkpoints.rows({ reverse: true, limit: 1 })
  // A checkpoint over pruned entries proves nothing.
  if (row === undefined || readU64(row.key) <= readPrunePoint(tables).firstSeq) return null
  const opened = openCheckpoint(row.value, () => [])
  const name = `the newest checkpoint, at ${readU64(row.key)} entries,`
  if ('fault' in opened || opened.log !== state.log) return `${name} is unreadable or belongs to another log`
  const { size, root, head } = opened
  const packed = tables.entries.get(u64(size - 1))
  if (packed === undefined || unpackEntry(size - 1, packed).hash !== head) {
    return `${name} does not cover the stored entries`
  }
  const isWhole = size === state.seq + 1
  if (isWhole && rootOf(state)?.equals(root) !== true) return `${name} covers another tree`
  return null
}

/** Leaves out a journal that cannot be read. */
function openReadable(path: string): Pick<Environment, 'tables'> {
  try {
    return openEnvironment(path)
  } catch (error) {
    if (error instanceof JournalDamageError) return openLmdb(path)
    throw error
  }
}

/** @returns the exit code */
function carry(path: string): number {
  const { tables } = openReadable(path)
  for (const table of CARRIED) {
    const rows = tables[table].rows()
    if (rows.length !== tables[table].size) return 1
    for (const { key, value } of rows)
      printLine({ table, key: key.toString('base64'), value: value.toString('base64') })
  }
  return 0
}

const [, , task, path = ''] = process.argv
// Exits without closing, which waits for nothing here and could fail on the damage.
process.exit(task === 'carry' ? carry(path) : inspect(path))
