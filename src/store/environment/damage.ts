// Detects a damaged store. Reading one fails or kills the reader, so a child process reads it; this
// file holds the child's output format and interprets its errors and its exit.

import { writeSync } from 'node:fs'
import { JournalDamageError } from '../journal/journal-reader.ts'

/** Sent for reads past the end of a file, and by LMDB when it aborts. */
const DAMAGE_SIGNALS: ReadonlySet<string> = new Set([
  'SIGBUS',
  'SIGSEGV',
  'SIGABRT',
  'SIGILL',
  'SIGFPE',
  'SIGTRAP',
])

/** LMDB errors about the file, not the system: page not found, corrupted, panic, invalid. */
const DAMAGE_CODES: ReadonlySet<unknown> = new Set([-30797, -30796, -30795, -30793])

/** Reports whether the database error means damage. */
const isDamageError = (error: unknown): boolean =>
  error instanceof Error && DAMAGE_CODES.has((error as { code?: unknown }).code)

/** Reports whether a store cannot be opened or read because its database or journal is damaged. */
export const isDamage = (error: unknown): boolean =>
  error instanceof JournalDamageError || isDamageError((error as Error).cause)

/** Reports whether a reader that ended with this signal was reading a damaged file. */
export const isDamageSignal = (signal: string | null): signal is string =>
  signal !== null && DAMAGE_SIGNALS.has(signal)

/**
 * Describes the damage for people.
 * @param signal one that `isDamageSignal` accepts
 */
export const describeDamage = (signal: string): string =>
  `the database file is damaged: reading it ended the process (${signal})`

/**
 * Prints a line of JSON on standard output, synchronously, because the next read may end the
 * process.
 */
export function printLine(line: object): void {
  const bytes = Buffer.from(`${JSON.stringify(line)}\n`)
  for (let done = 0; done < bytes.length; ) done += writeSync(1, bytes, done)
}
