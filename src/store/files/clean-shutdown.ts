// The clean-shutdown mark: the state of the database file when it was closed without a failure. If
// the file still has that state, the next start need not inspect it. Each mark serves one start,
// and a process that dies leaves none.

import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DATA_FILE } from './header.ts'

const MARK_FILE = 'closed'
const FILE_MODE = 0o600

/** Differs between any two states of a file, unless the machine's clock is set back on purpose. */
function stateOf(file: string): string {
  const { ino, size, mtimeNs, ctimeNs } = statSync(file, { bigint: true })
  return `${ino} ${size} ${mtimeNs} ${ctimeNs}\n`
}

/** Leaves the mark. Call it after the store is closed, if nothing failed while it was open. */
export function markCleanShutdown(path: string): void {
  writeFileSync(join(path, MARK_FILE), stateOf(join(path, DATA_FILE)), { mode: FILE_MODE })
}

/** Reports whether a folder has the mark, and so had a database file. */
export const hasCleanShutdownMark = (path: string): boolean => existsSync(join(path, MARK_FILE))

/**
 * Removes the mark.
 * @returns whether there was one and the file is unchanged since
 */
export function takeCleanShutdownMark(path: string): boolean {
  const file = join(path, MARK_FILE)
  let mark: string
  try {
    mark = readFileSync(file, 'utf8')
    rmSync(file)
  } catch {
    // No mark, or one that cannot be removed and would mislead the next start.
    return false
  }
  return mark === stateOf(join(path, DATA_FILE))
}
