// Rule files read in a process of its own, reader.ts: what is no rule file can take the parser ten seconds and more memory
// than a Pod has, and neither may touch the calls.

import { fork } from 'node:child_process'
import { extname, join } from 'node:path'
import type { Milliseconds } from '../core/clock.ts'
import type { RuleFiles } from './files.ts'
import { contentHash, type RuleSnapshot } from './snapshot.ts'

/** Lies beside this file, in the source as in what is built of it, and is written alike. */
const READER = join(import.meta.dirname, `read-child${extname(import.meta.filename)}`)

/** What a reading may take. Rules of 1 MiB take some 150 MiB and a second. */
export interface ReadingLimits {
  readonly heapMib: number
  readonly durationMs: Milliseconds
}
const LIMITS: ReadingLimits = { heapMib: 192, durationMs: 60_000 }

/** What the reader says: which file it begins, and at last what came of all. */
export interface ReaderMessage {
  readonly file?: string
  readonly snapshot?: RuleSnapshot
}

/** As snapshotOf. A reading that comes to no end is a problem of the file that was being read. Never rejects. */
export function readBeside(
  held: RuleFiles,
  signal?: AbortSignal,
  limits: ReadingLimits = LIMITS,
): Promise<RuleSnapshot> {
  let file = held.files[0]?.name ?? ''
  const refused = (message: string, hash: string): RuleSnapshot => ({
    rules: [],
    problems: [...held.problems, { file, line: 0, column: 0, path: '', message }],
    contentHash: hash,
  })
  return new Promise((resolve) => {
    // Another time it may go: then this is news.
    const fail = (error: Error) => resolve(refused(`could not be read (${error.message})`, error.message))
    try {
      const child = fork(READER, {
        execArgv: [...process.execArgv, `--max-old-space-size=${limits.heapMib}`],
        stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
        timeout: limits.durationMs,
        killSignal: 'SIGKILL',
        ...(signal !== undefined && { signal }),
      })
      let snapshot: RuleSnapshot | null = null
      child.on('message', (message: ReaderMessage) => {
        file = message.file ?? file
        snapshot = message.snapshot ?? snapshot
      })
      child.on('error', fail)
      child.once('close', (code, ended) => {
        if (snapshot === null && ended === null) return fail(new Error(`the reader ended with ${code}`))
        // V8 ends a process that needs more memory than it may have; so does the system.
        const most = child.killed ? `${limits.durationMs / 1000} s` : `${limits.heapMib} MiB of memory`
        const message = `takes more than ${most} to read; if these are rules, part them among smaller files`
        resolve(snapshot ?? refused(message, contentHash(held.files, held.problems)))
      })
      child.send(held)
    } catch (error) {
      fail(error as Error)
    }
  })
}
