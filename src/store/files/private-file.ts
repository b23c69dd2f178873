// Writes a small file that only its owner can read, whole or not at all.

import { closeSync, fsyncSync, openSync, renameSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { syncToDisk } from './sync.ts'

const FILE_MODE = 0o600

/**
 * Writes a file that does not exist yet: half a key would stop every later start. Durable on
 * return.
 * @throws the file system's error
 */
export function writeOnce(file: string, text: string): void {
  const draft = `${file}.new`
  const handle = openSync(draft, 'w', FILE_MODE)
  try {
    writeSync(handle, text)
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
  renameSync(draft, file)
  syncToDisk(dirname(file))
}
