// A look at the database file before LMDB gets it: given a file that is none of its own, LMDB does not fail but
// takes the process down with it. Knows the two meta pages and nothing behind them.

import { closeSync, openSync, readSync } from 'node:fs'

/** The database file in its folder: LMDB's name for it. */
export const DATA_FILE = 'data.mdb'

/** `MDB_MAGIC`, `mm_version` and their places on a meta page, as in lmdb 3.5's `mdb.c`; little-endian machines only. */
const MAGIC = 0xbeefc0de
const FORMAT_VERSION = 2
const MAGIC_AT = 24
const VERSION_AT = 28
const PAGE_SIZE_AT = 48
const HEADER_BYTES = 56

/** What is wrong with a database file, or null: it is one, it is empty, or there is none yet. */
export function faultOfFile(file: string): string | null {
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
    if (length === 0) return null
    if (length < HEADER_BYTES || !isMeta(first)) return 'is not a database, or its beginning is lost'
    const second = Buffer.alloc(HEADER_BYTES)
    const complete =
      readSync(handle, second, 0, HEADER_BYTES, first.readUInt32LE(PAGE_SIZE_AT)) === HEADER_BYTES
    return complete && isMeta(second) ? null : 'is damaged: its second page is lost'
  } catch (error) {
    return `cannot be read (${(error as NodeJS.ErrnoException).code})`
  } finally {
    closeSync(handle)
  }
}

function isMeta(bytes: Buffer): boolean {
  return bytes.readUInt32LE(MAGIC_AT) === MAGIC && bytes.readUInt32LE(VERSION_AT) === FORMAT_VERSION
}
