// What is stored and listed of an API key, and how a row becomes the key of a call.

import { createApiKey, hashApiKey, type KeyIdentity, keyPrefix } from '../../core/apikey.ts'
import type { Milliseconds } from '../../core/clock.ts'
import type { FileKey } from '../../core/config.ts'
import { uuidv5, uuidv7 } from '../../core/ids.ts'
import { type CallKey, type KeyTerms, NO_TERMS } from '../../core/key-terms.ts'
import { readJson } from '../tables/layout.ts'

/** Rows in the cache of parsed rows, which is cleared when full. */
const MAXIMUM_READ_ROWS = 1024

export interface KeyRecord extends KeyIdentity {
  /** The part that lists show; null when only the hash of the key is cached. */
  readonly prefix: string | null
  /** Null for keys declared in the configuration. */
  readonly createdAtMs: Milliseconds | null
  readonly lastUsedAtMs: Milliseconds | null
  readonly revokedAtMs: Milliseconds | null
  /** Id of the key that this one replaces; null for none. */
  readonly replaces: string | null
  /** As in CallKey. */
  readonly line: string
  readonly terms: KeyTerms
  readonly source: 'api' | 'file'
}

/** Whether a key is accepted. */
export function stateOf(
  { revokedAtMs, terms }: Pick<KeyRecord, 'revokedAtMs' | 'terms'>,
  nowMs: Milliseconds,
): 'active' | 'expired' | 'revoked' {
  if (revokedAtMs !== null) return 'revoked'
  return isOver(terms, nowMs) ? 'expired' : 'active'
}

/** Reports whether the time of a key is over. */
export const isOver = ({ expiresAtMs }: KeyTerms, nowMs: Milliseconds): boolean =>
  expiresAtMs !== null && expiresAtMs <= nowMs

export interface NewKey {
  readonly record: KeyRecord & { readonly createdAtMs: Milliseconds }
  /** The key itself; returned once and never stored. */
  readonly key: string
}

/** The row of a key. */
export interface StoredKey {
  readonly id: string
  readonly name: string
  readonly prefix: string | null
  readonly createdAtMs: Milliseconds
  readonly revokedAtMs: Milliseconds | null
  /** As in CallKey and KeyRecord; absent in rows of releases without them. */
  readonly line?: string
  readonly replaces?: string | null
  readonly terms?: KeyTerms
}

/** What lists show of a row. */
export function recordOf(stored: StoredKey, lastUsedAtMs: Milliseconds | null): NewKey['record'] {
  const { id, name, prefix, createdAtMs, revokedAtMs, replaces = null, line = id, terms = NO_TERMS } = stored
  return { id, name, prefix, createdAtMs, lastUsedAtMs, revokedAtMs, replaces, line, terms, source: 'api' }
}

/** The key that the configuration declares. Its id is the same in every process. */
export function keyOfFile({ name, sha256, terms }: FileKey): CallKey {
  const id = uuidv5(`key:${sha256}`)
  return { id, name, line: id, terms }
}

/** The row by which a declared key is revoked; undefined without a key. */
export function rowOf(key: CallKey | undefined, nowMs: Milliseconds): StoredKey | undefined {
  if (key === undefined) return undefined
  const { id, name } = key
  return { id, name, prefix: null, createdAtMs: nowMs, revokedAtMs: null }
}

/** A key that is not stored yet. */
export interface MadeKey {
  readonly rowKey: Buffer
  readonly stored: StoredKey
  readonly key: string
}

/** @param random bytes of the CSPRNG for the key and for its id */
export function makeKey(
  { name, terms, ...after }: Pick<StoredKey, 'name' | 'line' | 'replaces'> & { readonly terms: KeyTerms },
  nowMs: Milliseconds,
  random: { readonly key: Buffer; readonly id: Buffer },
): MadeKey {
  const key = createApiKey(random.key)
  const own = { id: uuidv7(nowMs, random.id), name, prefix: keyPrefix(key), createdAtMs: nowMs }
  const stored: StoredKey = { ...own, revokedAtMs: null, ...after, terms }
  return { rowKey: Buffer.from(hashApiKey(key), 'hex'), stored, key }
}

/** A stored row and its key; undefined for a revoked one. */
interface ReadRow {
  readonly bytes: Buffer
  readonly key: CallKey | undefined
}

/** Last seen rows, by hash. Saves parsing an unchanged row; the row is still read. */
export class ReadKeys {
  readonly #rows = new Map<string, ReadRow>()

  /**
   * Returns the key of a row; undefined for a revoked one.
   * @param bytes the current row, valid until the next read
   */
  read(sha256: string, bytes: Buffer): CallKey | undefined {
    const known = this.#rows.get(sha256)
    if (known?.bytes.equals(bytes) === true) return known.key
    const { id, name, revokedAtMs, line = id, terms = NO_TERMS } = readJson<StoredKey>(bytes)
    const key = revokedAtMs === null ? { id, name, line, terms } : undefined
    if (this.#rows.size >= MAXIMUM_READ_ROWS) this.#rows.clear()
    this.#rows.set(sha256, { bytes: Buffer.from(bytes), key })
    return key
  }
}
