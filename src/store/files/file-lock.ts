// Locks a file until the process ends. The kernel keeps the lock and frees it, so it holds across
// network and process namespaces and, on network file systems with locks, across machines. Node
// has no file locks; SQLite takes one (fcntl).

import { closeSync, openSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'

/** SQLite's result code when another process has the lock. */
const SQLITE_BUSY = 5
const FILE_MODE = 0o600

/** Keeps the locks: a connection that nobody refers to is closed by the garbage collector. */
const held = new Set<DatabaseSync>()

/**
 * Locks a file, which is created if missing and stays empty.
 * @returns a function that unlocks it; null if it is locked already, by any process
 * @throws Error when the file system or this build of Node has no locks
 */
export function lockFile(file: string): (() => void) | null {
  createPrivate(file)
  const database = openDatabase(file)
  try {
    // Without a journal nothing is written. The transaction never ends and takes the lock.
    database.exec('PRAGMA journal_mode = OFF; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
    held.add(database)
    return () => {
      held.delete(database)
      database.close()
    }
  } catch (error) {
    database.close()
    if ((error as { errcode?: unknown }).errcode === SQLITE_BUSY) return null
    throw error
  }
}

/** Never opens an existing file: closing it would free a lock that this process has. */
function createPrivate(file: string): void {
  try {
    closeSync(openSync(file, 'wx', FILE_MODE))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/** Some versions of Node warn on standard error that SQLite is experimental. */
function openDatabase(file: string): DatabaseSync {
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
    return new DatabaseSync(file)
  } finally {
    process.emitWarning = emitWarning
  }
}
