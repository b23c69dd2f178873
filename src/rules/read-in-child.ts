// Parses rule files in a child process, read-child.ts. A file that is not a rule file can take the
// YAML parser ten seconds and more memory than a Pod has; neither may affect calls.

import { type ChildProcess, fork } from 'node:child_process'
import { setPriority } from 'node:os'
import { extname, join } from 'node:path'
import type { Milliseconds } from '../core/clock.ts'
import type { RuleFiles, RuleReader } from './files.ts'
import { contentHash, type RuleSnapshot } from './snapshot.ts'

/** In this folder, in the source and in the build, with this file's extension. */
const CHILD = join(import.meta.dirname, `read-child${extname(import.meta.filename)}`)

/** Bounds of one reading. Rules of 1 MiB take about 150 MiB and a second. */
export interface ReadingLimits {
  readonly heapMib: number
  readonly durationMs: Milliseconds
}
const LIMITS: ReadingLimits = { heapMib: 192, durationMs: 60_000 }

/**
 * How long the child has the priority of the gateway. Rules take less, and must be in force within
 * a second also on a busy machine. After that, calls come first.
 */
const FULL_PRIORITY_MS: Milliseconds = 1000
/** On the system's scale from -20 to 19. */
const LATE_NICENESS = 15

/** What the child is to parse. */
export interface ChildTask extends RuleFiles {
  readonly reader: RuleReader
}

/** A message of the child: the file it begins, or the result. */
export interface ChildMessage {
  readonly file?: string
  readonly snapshot?: RuleSnapshot
}

/**
 * As `snapshotOf`: the child parses everything, patterns included, and nothing is parsed again
 * here. A reading that exceeds a limit becomes an error of the file at which it stopped. Never
 * rejects.
 * @param signal ends the child
 */
export function readInChild(
  read: ChildTask,
  signal?: AbortSignal,
  limits: ReadingLimits = LIMITS,
): Promise<RuleSnapshot> {
  let file = read.files[0]?.name ?? ''
  const refused = (message: string, hash: string): RuleSnapshot => ({
    rules: [],
    problems: [...read.problems, { file, line: 0, column: 0, path: '', message }],
    contentHash: hash,
  })
  return new Promise((resolve) => {
    // The next attempt may succeed. A hash of its own makes that a change.
    const fail = (error: Error) => resolve(refused(`could not be read (${error.message})`, error.message))
    try {
      const child = fork(CHILD, {
        // The child ends before optimised code would pay for its compilation.
        execArgv: [...process.execArgv, `--max-old-space-size=${limits.heapMib}`, '--no-opt'],
        stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
        timeout: limits.durationMs,
        killSignal: 'SIGKILL',
        ...(signal !== undefined && { signal }),
      })
      const late = setTimeout(() => lowerPriority(child), FULL_PRIORITY_MS)
      let snapshot: RuleSnapshot | null = null
      child.on('message', (message: ChildMessage) => {
        file = message.file ?? file
        snapshot = message.snapshot ?? snapshot
      })
      child.on('error', fail)
      child.once('close', (code, endSignal) => {
        clearTimeout(late)
        if (snapshot === null && endSignal === null) return fail(new Error(`the child ended with ${code}`))
        // V8 aborts a process that exceeds its heap; the system kills one that exceeds the memory
        // of the Pod.
        const limit = child.killed ? `${limits.durationMs / 1000} s` : `${limits.heapMib} MiB of memory`
        const message = `takes more than ${limit} to read; if it holds rules, split them into smaller files`
        resolve(snapshot ?? refused(message, contentHash(read.files, read.problems)))
      })
      child.send(read)
    } catch (error) {
      fail(error as Error)
    }
  })
}

function lowerPriority({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) setPriority(pid, LATE_NICENESS)
  } catch {
    // The child has just ended.
  }
}
