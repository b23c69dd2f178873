// What looks at a store from a process of its own, see inspection.ts: a program, which says on standard output what it
// found, or the rows that a new log takes over.

import { join } from 'node:path'
import { openCheckpoint } from '../../audit/checkpoint.ts'
import { ChainVerifier } from '../../audit/verify.ts'
import { isDamageError, printLine } from '../damage.ts'
import { DATA_FILE, faultOfFile } from '../folder/header.ts'
import { type LogState, readJson, readU64, summarySeq, u64, unpackEntry } from '../layout.ts'
import { type Environment, openEnvironment, type StoreTables, type SubDatabase } from '../lmdb.ts'
import { readLogState } from '../log/batch.ts'
import { oldestSeq, readPrunePoint } from '../log/prune.ts'
import { rootOf } from '../log/tree.ts'

/** The newest entries are read, with their places in the indexes; all others are `sidegate audit verify`'s. */
const INSPECTED_ENTRIES = 10_000
const PAGE_ROWS = 500
/** Read in whole when the store is opened, or carried over. */
const WHOLE: readonly SubDatabase[] = [
  'checkpoints',
  'keys',
  'keyids',
  'keyuse',
  'rules',
  'counters',
  'sessions',
]
/** What a new log takes over from one that was set aside: keys, and rules made through the API. */
const CARRIED: readonly SubDatabase[] = ['keys', 'keyids', 'keyuse', 'rules']

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
    const { message, cause } = error as Error
    printLine(isDamageError(cause) ? { fault: message } : { refusal: message })
    return 1
  }
  try {
    const found = faultOf(environment)
    if (found === null) return 0
    printLine({ fault: found })
  } catch (error) {
    printLine({ fault: `the database cannot be read (${(error as Error).message})` })
  }
  return 1
}

/** What is wrong with the log, or null. A store that was never begun has none. */
function faultOf({ tables }: Environment): string | null {
  const state = readLogState(tables)
  if (state === null) return tables.entries.size === 0 ? null : 'the head of the log is missing'
  printLine({ log: state.log, seq: state.seq })
  const oldest = oldestSeq(tables)
  const { firstSeq } = readPrunePoint(tables)
  if (oldest === null) return 'the log has no entries'
  if (oldest > firstSeq) return `the log begins at ${oldest}, and no prune entry speaks of the entries before`
  // Whether the tree is that of the entries only orDamageError all of them can tell.
  if (rootOf(state) === null) return 'the tree does not fit the number of entries'
  const entries = state.seq - oldest + 1
  const calls = state.nextRequest - state.firstRequest
  if (tables.entries.size !== entries) {
    return `the head of the log is at ${state.seq}, and of ${entries} entries there are ${tables.entries.size}`
  }
  if (tables.requests.size !== calls || tables.ids.size !== calls) return 'the usage list is not complete'
  for (const name of WHOLE) {
    if (tables[name].rows().length !== tables[name].size) return `${name}: rows are missing`
  }
  const newest = readNewest(tables, state, oldest)
  if (typeof newest === 'string') return newest
  return faultOfList(tables, state.nextRequest, newest) ?? faultOfCheckpoint(tables, state)
}

/** The newest entries: each by itself, one following the other, up to the head. @returns ids of the calls among them */
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

/** What the first entry read says of the one before: there the check begins. */
function headBefore(seq: number, bytes: Uint8Array): { log: string; seq: number; hash: string } {
  const { log, prev } = readJson<{ log: string; prev: string }>(Buffer.from(bytes))
  return { log, seq: seq - 1, hash: prev }
}

/** The places of the newest calls in the usage list lead to them, and the calls' ids back to them. */
function faultOfList(tables: StoreTables, next: number, ids: CallIds): string | null {
  const start = u64(Math.max(0, next - ids.size))
  let listed = 0
  for (const { key, value } of tables.requests.rows({ start })) {
    const seq = summarySeq(value)
    const id = ids.get(seq)
    if (id === undefined || id === '' || !tables.ids.get(Buffer.from(id))?.equals(u64(seq))) {
      return `call ${readU64(key)} of the usage list leads nowhere`
    }
    listed++
  }
  return listed === ids.size ? null : 'the usage list is not complete'
}

/** The newest checkpoint is over entries that are there, and over the tree as it is if nothing came after it. */
function faultOfCheckpoint(tables: StoreTables, state: LogState): string | null {
  const [row] = tables.checkpoints.rows({ reverse: true, limit: 1 })
  // One that could not be followed by another before its entries went is nothing to go by.
  if (row === undefined || readU64(row.key) <= readPrunePoint(tables).firstSeq) return null
  const opened = openCheckpoint(row.value, () => [])
  const name = `the newest checkpoint, at ${readU64(row.key)} entries,`
  if ('fault' in opened || opened.log !== state.log) return `${name} is none of this log`
  const { size, root, head } = opened
  const packed = tables.entries.get(u64(size - 1))
  if (packed === undefined || unpackEntry(size - 1, packed).hash !== head) {
    return `${name} was not signed over the entries that are there`
  }
  const isWhole = size === state.seq + 1
  if (isWhole && rootOf(state)?.equals(root) !== true) return `${name} is over another tree`
  return null
}

/** @returns the exit code */
function carry(path: string): number {
  const { tables } = openEnvironment(path)
  for (const table of CARRIED) {
    const rows = tables[table].rows()
    if (rows.length !== tables[table].size) return 1
    for (const { key, value } of rows)
      printLine({ table, key: key.toString('base64'), value: value.toString('base64') })
  }
  return 0
}

const [, , task, path = ''] = process.argv
// As it is: closing would wait for nothing, and may trip over the damage.
process.exit(task === 'carry' ? carry(path) : inspect(path))
