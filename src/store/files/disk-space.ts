// Refuses writes for which the disk has no room. The database library would find out itself, but
// prints lines of its own on standard error and reports an I/O error.

import { statfsSync } from 'node:fs'
import { constants } from 'node:os'
import { performance } from 'node:perf_hooks'
import type { Milliseconds } from '../../core/clock.ts'

/** Room for indexes, the tree and the free list of any transaction. */
const RESERVE_BYTES = 1024 ** 2
/** Bytes written for a byte to store: pages are copied, and the last one of a value is not full. */
const WRITTEN_SHARE = 2
/** Free pages in the file are fragmented, so that this many times more are needed. */
const FRAGMENTED_SHARE = 2
/** With so much more room than is needed, the disk is not measured again for a while. */
const AMPLE_BYTES = 256 * 1024 ** 2
const AMPLE_MS: Milliseconds = 100

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

/** The room for transactions, on the disk or in free pages of the database file. */
export class DiskRoom {
  readonly #path: string
  #freeBytes: number | null = null
  #measuredMs: Milliseconds = Number.NEGATIVE_INFINITY

  constructor(path: string) {
    this.#path = path
  }

  /**
   * Checks that a transaction has room.
   * @param bytes approximate bytes to store
   * @param size of the database; undefined before it exists
   * @throws Error with code ENOSPC
   */
  require(bytes: number, size?: () => FileUse): void {
    const neededBytes = bytes * WRITTEN_SHARE + RESERVE_BYTES
    const freeBytes = this.#measure(neededBytes)
    if (freeBytes === null || freeBytes >= neededBytes) return
    const { fileBytes, usedBytes } = size?.() ?? { fileBytes: 0, usedBytes: 0 }
    if (fileBytes - usedBytes >= neededBytes * FRAGMENTED_SHARE) return
    throw new DiskFullError(
      `disk full: ${freeBytes} bytes are free in ${this.#path}, and ${neededBytes} are needed`,
    )
  }

  #measure(neededBytes: number): number | null {
    const nowMs = performance.now()
    const isAmple = (this.#freeBytes ?? 0) >= neededBytes + AMPLE_BYTES
    if (isAmple && nowMs - this.#measuredMs < AMPLE_MS) return this.#freeBytes
    this.#measuredMs = nowMs
    this.#freeBytes = freeBytesOf(this.#path)
    return this.#freeBytes
  }
}

/** Reports whether a write failed because the disk was full. LMDB gives the number of the error. */
export function isDiskFull(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code
  return code === 'ENOSPC' || code === constants.errno.ENOSPC
}
