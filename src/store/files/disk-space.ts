// Refuses writes for which the disk has no room. The database library would find out itself, but
// prints lines of its own on standard error and reports an I/O error.

import { statfsSync } from 'node:fs'
import { constants } from 'node:os'

/** Room for indexes, the tree and the free list of any transaction. */
const RESERVE_BYTES = 1024 ** 2
/** Bytes written for a byte to store: pages are copied, and the last one of a value is not full. */
const WRITTEN_SHARE = 2
/** Free pages in the file are fragmented, so that this many times more are needed. */
const FRAGMENTED_SHARE = 2

interface FileUse {
  readonly usedBytes: number
  readonly fileBytes: number
}

/** The disk has no room for a write; its code is the system's. */
class DiskFullError extends Error {
  override readonly name = 'DiskFullError'
  readonly code = 'ENOSPC'
}

/** Returns the bytes that this process may still write to the disk of a folder; null if unknown. */
export function freeBytesOf(path: string): number | null {
  try {
    const { bavail, bfree, bsize } = statfsSync(path)
    // Blocks that the file system reserves are for the superuser.
    return (process.geteuid?.() === 0 ? bfree : bavail) * bsize
  } catch {
    return null
  }
}

/**
 * Checks that a transaction has room, on the disk or in free pages of the database file.
 * @param bytes approximate bytes to store
 * @param size of the database; undefined before it exists
 * @throws Error with code ENOSPC
 */
export function requireRoom(path: string, bytes: number, size?: () => FileUse): void {
  const freeBytes = freeBytesOf(path)
  const neededBytes = bytes * WRITTEN_SHARE + RESERVE_BYTES
  if (freeBytes === null || freeBytes >= neededBytes) return
  const { fileBytes, usedBytes } = size?.() ?? { fileBytes: 0, usedBytes: 0 }
  if (fileBytes - usedBytes >= neededBytes * FRAGMENTED_SHARE) return
  throw new DiskFullError(`disk full: ${freeBytes} bytes are free in ${path}, and ${neededBytes} are needed`)
}

/** Reports whether a write failed because the disk was full. LMDB gives the number of the error. */
export function isDiskFull(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code
  return code === 'ENOSPC' || code === constants.errno.ENOSPC
}
