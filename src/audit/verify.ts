// Checks a log record by record, as an auditor would who trusts nothing but the hash function.
// Takes hostile input: whatever the bytes are, the answer is a verdict and never an exception.

import { isUtf8 } from 'node:buffer'
import { isObject, type JsonObject } from '../core/json.ts'
import { isCanonical } from './canonical.ts'
import { ENTRY_VERSION, type Head, hashEntry } from './chain.ts'

/** One record as it is kept: the place it was found at, its hash, and the canonical bytes that were hashed. */
export interface StoredRecord {
  readonly seq: number
  /** `sha256:` and 64 hexadecimal digits. */
  readonly hash: string
  readonly bytes: Uint8Array
}

/** Longest entry anybody seals or checks, bytes: a bound on the work a hostile record can cause. */
export const MAX_ENTRY_BYTES = 262_144

export interface ChainFault {
  /** The first sequence number at which the log is not what was sealed. */
  readonly seq: number
  readonly reason: string
}

export type ChainVerdict =
  | { readonly ok: true; readonly checked: number; readonly head: Head | null }
  | { readonly ok: false; readonly checked: number; readonly fault: ChainFault }

/**
 * Checks records handed in one after the other, so that a long log can be read page by page.
 * A chain alone cannot show that its tail was cut off: compare `head` with one kept elsewhere.
 */
export class ChainVerifier {
  #head: Head | null
  #entry: JsonObject | null = null
  #checked = 0
  #fault: ChainFault | null = null

  /** @param after the entry before the first record; null to start at the genesis entry */
  constructor(after: Head | null = null) {
    this.#head = after
  }

  /** Takes the next record; false once anything was wrong, whatever comes later. */
  push(record: StoredRecord): boolean {
    if (this.#fault !== null) return false
    const expected = this.#head === null ? 0 : this.#head.seq + 1
    const outcome = checkRecord(record, expected, this.#head)
    if (typeof outcome === 'string') {
      this.#fault = { seq: expected, reason: outcome }
      return false
    }
    this.#head = outcome.head
    this.#entry = outcome.entry
    this.#checked++
    return true
  }

  /** The newest entry that was found in order, without its hash; its fields beyond the envelope may be anything. */
  get entry(): JsonObject | null {
    return this.#entry
  }

  get verdict(): ChainVerdict {
    if (this.#fault !== null) return { ok: false, checked: this.#checked, fault: this.#fault }
    return { ok: true, checked: this.#checked, head: this.#head }
  }
}

/** Checks a whole sequence. @param after as for ChainVerifier */
export function verifyChain(records: Iterable<StoredRecord>, after: Head | null = null): ChainVerdict {
  const verifier = new ChainVerifier(after)
  for (const record of records) {
    if (!verifier.push(record)) break
  }
  return verifier.verdict
}

/** The new head and its entry, or what is wrong. */
function checkRecord(
  record: StoredRecord,
  expected: number,
  head: Head | null,
): { readonly head: Head; readonly entry: JsonObject } | string {
  if (record.seq !== expected) return `record ${expected} is missing`
  if (record.bytes.length > MAX_ENTRY_BYTES) return 'the entry is too long'
  if (hashEntry(record.bytes) !== record.hash) return 'the hash does not fit the entry'
  const entry = readCanonical(record.bytes)
  if (typeof entry === 'string') return entry
  if (entry['v'] !== ENTRY_VERSION) return 'the entry is of an unknown version'
  if (entry['seq'] !== expected) return 'the entry carries another sequence number'
  if (typeof entry['log'] !== 'string') return 'the entry names no log'
  if (typeof entry['ts'] !== 'string' || typeof entry['type'] !== 'string')
    return 'the entry lacks a time or a type'
  if (head === null) {
    if (entry['type'] !== 'genesis' || entry['prev'] !== null) return 'the first entry is not a genesis entry'
  } else {
    if (entry['type'] === 'genesis') return 'a second genesis entry'
    if (entry['log'] !== head.log) return 'the entry belongs to another log'
    if (entry['prev'] !== head.hash) return 'the entry does not follow the one before'
  }
  return { head: { log: entry['log'], seq: expected, hash: record.hash }, entry }
}

function readCanonical(bytes: Uint8Array): JsonObject | string {
  if (!isUtf8(bytes)) return 'the entry is not UTF-8'
  try {
    const text = viewOf(bytes).toString('utf8')
    const value: unknown = JSON.parse(text)
    if (!isObject(value)) return 'the entry is not an object'
    return isCanonical(value, text) ? value : 'the entry is not in canonical form'
  } catch {
    return 'the entry is not canonical JSON'
  }
}

/** The same bytes as a Buffer. Most are one; a view of each would cost as much as its hash. */
export const viewOf = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
