// Inspects a store before it is opened. A damaged database file kills its reader, so a child
// process (inspector.ts) reads it, and the exit of the child is part of the result. Does not open
// the database.

import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { extname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { isDamageSignal } from '../environment/damage.ts'
import { hasCleanShutdownMark, takeCleanShutdownMark } from '../files/clean-shutdown.ts'
import { DATA_FILE } from '../files/header.ts'
import { RESULT_FILE } from '../files/result-file.ts'
import type { SubDatabase } from '../tables/sub-databases.ts'
import { type FileIdentity, isCopy } from './identity.ts'

const INSPECTOR_PROGRAM = join(import.meta.dirname, `inspector${extname(import.meta.filename)}`)
const COPY_REASON =
  'the database file is a copy: its inode or its birth time differs from those that it records'
const INSPECTION_LIMIT_MS = 60_000
/** Maximum output of the child. With larger rows nothing is carried over. */
const MAXIMUM_OUTPUT_BYTES = 64 * 1024 ** 2

/** The newest known entry of a log; null where it could not be read. */
export interface LogPosition {
  readonly log: string | null
  readonly seq: number | null
}

export type StoreInspection =
  | { readonly state: 'sound' }
  /** The log is intact, and its file is a copy of the one it was written to. */
  | ({ readonly state: 'copied'; readonly reason: string } & LogPosition)
  | ({ readonly state: 'damaged'; readonly reason: string } & LogPosition)
  /** The log could not be inspected; the reason is for an operator. */
  | { readonly state: 'unknown'; readonly reason: string }

/** Rows as stored. */
export type CarriedRows = Partial<Record<SubDatabase, readonly (readonly [key: Buffer, value: Buffer])[]>>

/**
 * Inspects the store in a folder. A folder that never had one is sound, and so is a store unchanged
 * since its clean shutdown.
 */
export async function inspectStore(path: string): Promise<StoreInspection> {
  if (!existsSync(join(path, DATA_FILE))) {
    const wasUsed = hasCleanShutdownMark(path) || existsSync(join(path, RESULT_FILE))
    const reason = `${DATA_FILE} is missing, and the folder had one`
    return wasUsed ? { state: 'damaged', reason, log: null, seq: null } : { state: 'sound' }
  }
  // A copy never has the inode and the change time of the mark.
  if (takeCleanShutdownMark(path)) return { state: 'sound' }
  return (await inspectLog(path)).inspection
}

/** Inspects the log in a folder, and returns its newest entry as far as it can be read. */
export async function inspectLog(
  path: string,
): Promise<{ readonly inspection: StoreInspection; readonly position: LogPosition }> {
  const run = await runInspector('inspect', path)
  const report = Object.assign({}, ...run.lines) as InspectorReport
  const position = { log: report.log ?? null, seq: report.seq ?? null }
  return { inspection: judge(path, run, report, position), position }
}

/** The lines of the child, in one. */
interface InspectorReport extends Partial<LogPosition> {
  readonly fault?: string
  readonly refusal?: string
  readonly identity?: FileIdentity | null
}

function judge(
  path: string,
  { code, signal, isOverdue }: InspectorRun,
  { fault, refusal, identity = null }: InspectorReport,
  position: LogPosition,
): StoreInspection {
  if (fault !== undefined) return { state: 'damaged', reason: fault, ...position }
  if (code === 0) {
    // A database without a log has nothing to continue.
    const isForeign = position.log !== null && isCopy(path, identity)
    return isForeign ? { state: 'copied', reason: COPY_REASON, ...position } : { state: 'sound' }
  }
  if (isDamageSignal(signal)) {
    const reason = `reading the database file ended the process (${signal})`
    return { state: 'damaged', reason, ...position }
  }
  const limit = `the store could not be inspected within ${INSPECTION_LIMIT_MS} ms`
  const reason = refusal ?? `the inspection of the store ended with ${signal ?? code}`
  return { state: 'unknown', reason: isOverdue ? limit : reason }
}

/** Reads the rows that a new log takes over; null when some cannot be read. */
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
  /** Complete lines of its output, parsed. */
  readonly lines: readonly object[]
  readonly isOverdue: boolean
}

function runInspector(task: 'inspect' | 'carry', path: string): Promise<InspectorRun> {
  const child = spawn(process.execPath, [...process.execArgv, INSPECTOR_PROGRAM, task, path], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const chunks: Buffer[] = []
  let bytes = 0
  let isOverdue = false
  const timer = setTimeout(() => {
    isOverdue = true
    child.kill('SIGKILL')
  }, INSPECTION_LIMIT_MS)
  // Undefined when no file descriptor was left; an error event follows.
  const output = child.stdout as Readable | undefined
  output?.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > MAXIMUM_OUTPUT_BYTES) child.kill('SIGKILL')
    else chunks.push(chunk)
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => {
      clearTimeout(timer)
      const lines = Buffer.concat(chunks).toString('utf8').split('\n').slice(0, -1)
      resolve({ code, signal, isOverdue, lines: lines.map((line) => JSON.parse(line) as object) })
    })
  })
}
