// Verifies the chain record by record, trusting only the hash function. Accepts hostile input: the
// answer is a verdict, never an exception.

import { isUtf8 } from 'node:buffer'
import { isObject, type JsonObject } from '../core/json.ts'
import { isCanonical } from './canonical.ts'
import { ENTRY_VERSION, type Head, hashEntry } from './chain.ts'
import { type Members, PlainObject } from './plain.ts'

/** One stored record: its position, its hash and the hashed canonical bytes. */
export interface StoredRecord {
  readonly seq: number
  /** `sha256:` and 64 hexadecimal digits. */
  readonly hash: string
  readonly bytes: Uint8Array
}

/** Longest entry to seal or verify, bytes. Bounds the work that a hostile record can cause. */
export const MAXIMUM_ENTRY_BYTES = 262_144

export interface ChainFault {
  /** The first sequence number at which the log differs from the sealed one. */
  readonly seq: number
  readonly reason: string
}

export type ChainVerdict =
  | { readonly ok: true; readonly checked: number; readonly head: Head | null }
  | { readonly ok: false; readonly checked: number; readonly fault: ChainFault }

/**
 * Verifies records one after the other, so a long log can be read in pages. A chain alone does not
 * show a truncated tail: compare `head` with a copy kept elsewhere.
 */
export class ChainVerifier {
  readonly #plain = new PlainObject()
  #head: Head | null
  #entry: CanonicalEntry | null = null
  #checked = 0
  readonly #acceptsUnknown: boolean
  #fault: ChainFault | null = null

  /**
   * @param after the entry before the first record; null to start at the genesis entry
   * @param acceptsUnknown verify entries of an unknown version by hash, form and place
   */
  constructor(after: Head | null = null, acceptsUnknown = false) {
    this.#head = after
    this.#acceptsUnknown = acceptsUnknown
  }

  /** Verifies the next record; false from the first fault on. */
  push(record: StoredRecord): boolean {
    if (this.#fault !== null) return false
    const expected = this.#head === null ? 0 : this.#head.seq + 1
    const fault = this.#verify(record, expected)
    if (fault !== null) {
      this.#fault = { seq: expected, reason: fault }
      return false
    }
    this.#checked++
    return true
  }

  /** The newest valid entry, without its hash. Fields beyond the envelope may have any value. */
  get entry(): JsonObject | null {
    return this.#entry === null ? null : parseEntry(this.#entry.bytes)
  }

  /**
   * Members of the newest valid entry, until the next record; null after a fault. Cheaper than
   * `entry` for a few members.
   */
  get members(): Members | null {
    return this.#fault === null ? (this.#entry?.members ?? null) : null
  }

  /** Id of the log; null before the first valid entry. */
  get log(): string | null {
    return this.#checked === 0 ? null : (this.#head?.log ?? null)
  }

  /** @returns the fault, or null */
  #verify(record: StoredRecord, expected: number): string | null {
    const { seq, bytes, hash } = record
    if (seq !== expected) return `record ${expected} is missing`
    const fault = faultOfHash(record)
    if (fault !== null) return fault
    const members = readCanonical(bytes, this.#plain)
    if (typeof members === 'string') return members
    const faultOf = this.#acceptsUnknown ? faultOfPlace : faultOfEnvelope
    const misplaced = faultOf(members, expected, this.#head)
    if (misplaced !== null) return misplaced
    const log = this.#head?.log ?? (members.get('log') as string)
    this.#head = { log, seq: expected, hash }
    this.#entry = { bytes, members }
    return null
  }

  get verdict(): ChainVerdict {
    if (this.#fault !== null) return { ok: false, checked: this.#checked, fault: this.#fault }
    return { ok: true, checked: this.#checked, head: this.#head }
  }
}

/**
 * Verifies a whole sequence.
 * @param after as for ChainVerifier
 */
export function verifyChain(records: Iterable<StoredRecord>, after: Head | null = null): ChainVerdict {
  const verifier = new ChainVerifier(after)
  for (const record of records) {
    if (!verifier.push(record)) break
  }
  return verifier.verdict
}

/** Returns the fault of a record whose bytes do not match its hash; null if they do. */
export function faultOfHash({ bytes, hash }: Omit<StoredRecord, 'seq'>): string | null {
  if (bytes.length > MAXIMUM_ENTRY_BYTES) return 'the entry is too long'
  return hashEntry(bytes) === hash ? null : 'the hash does not match the entry'
}

/** All versions so far have the same envelope. */
const KNOWN_VERSIONS: ReadonlySet<unknown> = new Set([1, ENTRY_VERSION])

/** Reports whether this release knows what the members of an entry of a version mean. */
export const isKnownVersion = (version: unknown): boolean => KNOWN_VERSIONS.has(version)

/** An entry's bytes, known to be the canonical form of an object, and its members. */
interface CanonicalEntry {
  readonly bytes: Uint8Array
  readonly members: Members
}

/** What `faultOfPlace` returns for an entry that comes too early or too late. */
export const OUT_OF_ORDER = 'the entry has another sequence number'
/** What `faultOfPlace` returns for an entry that follows another one. */
export const UNLINKED = 'the entry does not link to the one before'

/**
 * Returns the fault of an entry's envelope, or of its position after `head`; null if there is none.
 */
function faultOfEnvelope(members: Members, expected: number, head: Head | null): string | null {
  if (!isKnownVersion(members.get('v'))) return 'the entry is of an unknown version'
  return faultOfPlace(members, expected, head)
}

/** As `faultOfEnvelope`, for an entry of any version. */
export function faultOfPlace(members: Members, expected: number, head: Head | null): string | null {
  if (members.get('seq') !== expected) return OUT_OF_ORDER
  const log = members.get('log')
  if (typeof log !== 'string') return 'the entry names no log'
  const type = members.get('type')
  if (typeof members.get('ts') !== 'string' || typeof type !== 'string')
    return 'the entry lacks a time or a type'
  if (head === null) {
    const isGenesis = type === 'genesis' && members.get('prev') === null
    return isGenesis ? null : 'the first entry is not a genesis entry'
  }
  if (type === 'genesis') return 'a genesis entry has sequence number 0, and this one has another'
  if (log !== head.log) return 'the entry belongs to another log'
  return members.get('prev') === head.hash ? null : UNLINKED
}

/**
 * Returns the members of an entry, or why it is not in canonical form.
 * @param plain reads most entries
 */
export function readCanonical(bytes: Uint8Array, plain: PlainObject): Members | string {
  if (plain.read(viewOf(bytes))) return plain
  if (!isUtf8(bytes)) return 'the entry is not UTF-8'
  try {
    const text = viewOf(bytes).toString('utf8')
    const value: unknown = JSON.parse(text)
    if (!isObject(value)) return 'the entry is not an object'
    if (!isCanonical(value, text)) return 'the entry is not in canonical form'
    return { get: (name) => (Object.hasOwn(value, name) ? value[name] : undefined) }
  } catch {
    return 'the entry is not canonical JSON'
  }
}

const parseEntry = (bytes: Uint8Array): JsonObject => JSON.parse(viewOf(bytes).toString('utf8')) as JsonObject

/**
 * Returns the same bytes as a Buffer. Most already are one; a view of each would cost as much as
 * its hash.
 */
export const viewOf = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
