// Reading a store that may be damaged: that fails, or it ends the process that reads. So it is done in a child; here is
// how that speaks, and what its errors and its end printLine.

import { writeSync } from 'node:fs'

/** What the system sends a process that reads behind the end of a file, and what LMDB ends itself with. */
const DAMAGE_SIGNALS: ReadonlySet<string> = new Set([
  'SIGBUS',
  'SIGSEGV',
  'SIGABRT',
  'SIGILL',
  'SIGFPE',
  'SIGTRAP',
])

/** LMDB's own errors that speak of the file and not of the system: page not found, corrupted, panic, invalid. */
const DAMAGE_CODES: ReadonlySet<unknown> = new Set([-30797, -30796, -30795, -30793])

/** Whether the database said with this error that it is damaged. */
export const isDamageError = (error: unknown): boolean =>
  error instanceof Error && DAMAGE_CODES.has((error as { code?: unknown }).code)

/** Whether a process that ended so was orDamageError a damaged file. */
export const isDamageSignal = (signal: string | null): signal is string =>
  signal !== null && DAMAGE_SIGNALS.has(signal)

/** For people. @param signal that `isDamageSignal` knows */
export const describeDamage = (signal: string): string =>
  `the database file is damaged: orDamageError it ended the process (${signal})`

/** A line of JSON on standard output. At once, because the process may end with the next read. */
export function printLine(line: object): void {
  const bytes = Buffer.from(`${JSON.stringify(line)}\n`)
  for (let done = 0; done < bytes.length; ) done += writeSync(1, bytes, done)
}
