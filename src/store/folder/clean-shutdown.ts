// The mark of a clean end: what the database file was like when it was closed with nothing amiss. Whoever finds it so
// need not read it to know that it is sound. The mark is for one start: a process that dies leaves none.

import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DATA_FILE } from './header.ts'

const MARK_FILE = 'closed'
const FILE_MODE = 0o600

/** Tells any two states of a file apart, unless somebody sets the clock of the machine back to deceive. */
function stateOf(file: string): string {
  const { ino, size, mtimeNs, ctimeNs } = statSync(file, { bigint: true })
  return `${ino} ${size} ${mtimeNs} ${ctimeNs}\n`
}

/** To be called when the store in the folder was closed, and nothing failed while it was open. */
export function markCleanShutdown(path: string): void {
  writeFileSync(join(path, MARK_FILE), stateOf(join(path, DATA_FILE)), { mode: FILE_MODE })
}

/** Takes the mark away. @returns whether there was one and the file is as it was then */
export function takeCleanShutdownMark(path: string): boolean {
  const file = join(path, MARK_FILE)
  let mark: string
  try {
    mark = readFileSync(file, 'utf8')
    rmSync(file)
  } catch {
    // None, or one that would be there again at the next start: not to be relied on.
    return false
  }
  return mark === stateOf(join(path, DATA_FILE))
}
