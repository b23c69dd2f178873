// Makes what the system has already taken durable.

import { closeSync, fsyncSync, openSync } from 'node:fs'

/** Writes a file, or the names in a folder, to the disk (fsync). @throws the system's error */
export function syncToDisk(path: string): void {
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
