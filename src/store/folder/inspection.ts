// The look at a store before it is taken up. A damaged database file does not make a read fail, it ends the process
// that reads: so it is read in a child, inspector.ts, and how that ended is part of the answer. Knows no database.

import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { isDamageSignal } from '../damage.ts'
import type { SubDatabase } from '../lmdb.ts'
import { programPath } from '../programs/program-path.ts'
import { takeCleanShutdownMark } from './clean-shutdown.ts'
import { DATA_FILE } from './header.ts'

const INSPECTOR_PROGRAM = programPath('inspector')
const INSPECTION_LIMIT_MS = 60_000
/** No rows are larger than these many bytes together; beyond it nothing is carried over. */
const MAX_OUTPUT_BYTES = 64 * 1024 ** 2

/** Where a log stood as far as that could be read. */
export interface LogPosition {
  readonly log: string | null
  readonly seq: number | null
}

export type StoreInspection =
  | { readonly state: 'sound' }
  | ({ readonly state: 'damaged'; readonly reason: string } & LogPosition)
  /** Nothing can be report of the log; the reason is for an operator. */
  | { readonly state: 'unknown'; readonly reason: string }

/** Rows as they were stored. */
export type CarriedRows = Partial<Record<SubDatabase, readonly (readonly [key: Buffer, value: Buffer])[]>>

/** Looks at the store in a folder; one that is not there is sound, and one that was closed and is as it was then. */
export async function inspectStore(path: string): Promise<StoreInspection> {
  if (!existsSync(join(path, DATA_FILE)) || takeCleanShutdownMark(path)) return { state: 'sound' }
  const { code, signal, lines, overdue } = await runInspector('inspect', path)
  const report = Object.assign({}, ...lines) as Partial<LogPosition> & { fault?: string; refusal?: string }
  const position = { log: report.log ?? null, seq: report.seq ?? null }
  if (code === 0 && report.fault === undefined) return { state: 'sound' }
  if (report.fault !== undefined) return { state: 'damaged', reason: report.fault, ...position }
  if (isDamageSignal(signal)) {
    const reason = `orDamageError the database file ended the process (${signal})`
    return { state: 'damaged', reason, ...position }
  }
  if (overdue) return { state: 'unknown', reason: `it could not be read within ${INSPECTION_LIMIT_MS} ms` }
  return { state: 'unknown', reason: report.refusal ?? `the look at it ended with ${signal ?? code}` }
}

/** Reads what a new log takes over; null where not all of it can be read. */
export async function readCarriedRows(path: string): Promise<CarriedRows | null> {
  const { code, lines } = await runInspector('carry', path)
  if (code !== 0) return null
  const carried: Partial<Record<SubDatabase, [Buffer, Buffer][]>> = {}
  for (const line of lines as { table: SubDatabase; key: string; value: string }[]) {
    const rows = carried[line.table] ?? []
    carried[line.table] = rows
    rows.push([Buffer.from(line.key, 'base64'), Buffer.from(line.value, 'base64')])
  }
  return carried
}

interface InspectorRun {
  readonly code: number | null
  readonly signal: string | null
  /** Whole lines of its output, parsed. */
  readonly lines: readonly object[]
  readonly overdue: boolean
}

function runInspector(task: 'inspect' | 'carry', path: string): Promise<InspectorRun> {
  const child = spawn(process.execPath, [...process.execArgv, INSPECTOR_PROGRAM, task, path], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const pieces: Buffer[] = []
  let bytes = 0
  let overdue = false
  const late = setTimeout(() => {
    overdue = true
    child.kill('SIGKILL')
  }, INSPECTION_LIMIT_MS)
  // Not there when no descriptor was left for it; then there is an error as well.
  const output = child.stdout as Readable | undefined
  output?.on('data', (piece: Buffer) => {
    bytes += piece.length
    if (bytes > MAX_OUTPUT_BYTES) child.kill('SIGKILL')
    else pieces.push(piece)
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => {
      clearTimeout(late)
      const lines = Buffer.concat(pieces).toString('utf8').split('\n').slice(0, -1)
      resolve({ code, signal, overdue, lines: lines.map((line) => JSON.parse(line) as object) })
    })
  })
}
