// Checks the database file before LMDB opens it: a foreign file would kill the process. Reads the
// two meta pages only.

import { closeSync, openSync, readSync } from 'node:fs'

/** LMDB's name for the database file in its folder. */
export const DATA_FILE = 'data.mdb'

/**
 * `MDB_MAGIC`, `mm_version` and their offsets on a meta page, as in `mdb.c` of lmdb 3.5;
 * little-endian machines only.
 */
const MAGIC = 0xbeefc0de
const FORMAT_VERSION = 2
const MAGIC_AT = 24
const VERSION_AT = 28
const PAGE_SIZE_AT = 48
const HEADER_BYTES = 56
const EMPTY = 'is empty'

/** Time in which another process that creates the file writes its first pages. */
const CREATION_MS = 200

/** Returns the fault of a database file; null if it is one or does not exist. */
export function faultOfFile(file: string): string | null {
  const fault = readFault(file)
  if (fault !== EMPTY) return fault
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, CREATION_MS)
  return readFault(file)
}

function readFault(file: string): string | null {
  let handle: number
  try {
    handle = openSync(file, 'r')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code === 'ENOENT' ? null : `cannot be read (${code})`
  }
  try {
    const first = Buffer.alloc(HEADER_BYTES)
    const length = readSync(handle, first, 0, HEADER_BYTES, 0)
    if (length === 0) return EMPTY
    if (length < HEADER_BYTES || !isMeta(first))
      return 'is not an LMDB database, or its first page is damaged'
    const second = Buffer.alloc(HEADER_BYTES)
    const complete =
      readSync(handle, second, 0, HEADER_BYTES, first.readUInt32LE(PAGE_SIZE_AT)) === HEADER_BYTES
    return complete && isMeta(second) ? null : 'is damaged: its second page is missing'
  } catch (error) {
    return `cannot be read (${(error as NodeJS.ErrnoException).code})`
  } finally {
    closeSync(handle)
  }
}

function isMeta(bytes: Buffer): boolean {
  return bytes.readUInt32LE(MAGIC_AT) === MAGIC && bytes.readUInt32LE(VERSION_AT) === FORMAT_VERSION
}
