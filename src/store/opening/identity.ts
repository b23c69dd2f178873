// The identity of a database file: its inode and its birth time, recorded in the database itself. A
// copy of the file has another identity than the one it records, so two gateways never continue one
// log. The device is left out, because it changes when a volume moves to another machine.

import { statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import type { Environment } from '../environment/journaled.ts'
import { openLmdb } from '../environment/lmdb.ts'
import { DATA_FILE } from '../files/header.ts'
import { readJson, writeJson } from '../tables/layout.ts'

const IDENTITY_KEY = Buffer.from('file')
/** Longer than the step of any kernel's file times. */
const FILE_TIME_STEP_MS = 20

/** Both in decimal digits, because they may exceed 2^53. */
export interface FileIdentity {
  readonly inode: string
  readonly birthNs: string
}

/**
 * Returns the identity of the database file in a folder; null where the file system gives no birth
 * time.
 * @throws the system's error
 */
export function identityOf(path: string): FileIdentity | null {
  const file = join(path, DATA_FILE)
  // Some systems give the time of the last change in its place. A new file may have both by chance.
  for (let attempt = 0; attempt < 2; attempt++) {
    const { ino, birthtimeNs, ctimeNs, atime, mtime } = statSync(file, { bigint: true })
    if (birthtimeNs <= 0n) return null
    if (birthtimeNs !== ctimeNs) return { inode: String(ino), birthNs: String(birthtimeNs) }
    if (attempt > 0) return null
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FILE_TIME_STEP_MS)
    utimesSync(file, atime, mtime)
  }
  return null
}

/** Returns the identity that a database records; null if none. */
export function recordedIdentity({ tables }: Environment): FileIdentity | null {
  const bytes = tables.meta.get(IDENTITY_KEY)
  return bytes === undefined ? null : readJson<FileIdentity>(bytes)
}

/** Reports whether a database file is a copy, as far as its file system allows that to be known. */
export function isCopy(path: string, recorded: FileIdentity | null): boolean {
  const actual = identityOf(path)
  if (recorded === null || actual === null) return false
  return recorded.inode !== actual.inode || recorded.birthNs !== actual.birthNs
}

/** Records the identity of the open database file in a folder. To be called before serving. */
export function recordIdentity(environment: Environment, path: string): void {
  const record = identityRecord(path)
  if (record !== null) environment.initialize(() => environment.tables.meta.put(IDENTITY_KEY, record))
}

function identityRecord(path: string): Buffer | null {
  const identity = identityOf(path)
  return identity === null ? null : writeJson(identity)
}

/** Makes a copy of a log its continuation. The copy is closed, and no process has it open. */
export async function adoptCopy(path: string): Promise<void> {
  const lmdb = openLmdb(path)
  try {
    const record = identityRecord(path)
    if (record !== null) lmdb.write(() => lmdb.tables.meta.put(IDENTITY_KEY, record))
  } finally {
    await lmdb.close()
  }
}
