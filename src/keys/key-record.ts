// What is stored and listed of an API key. Only the SHA-256 of a key is stored, never its text.

import { createApiKey, hashApiKey, type KeyIdentity, keyPrefix } from '../core/apikey.ts'
import type { Milliseconds } from '../core/clock.ts'
import { uuidv5, uuidv7 } from '../core/ids.ts'
import type { FileKey } from '../core/key-config.ts'
import { type CallKey, type KeyTerms, NO_TERMS } from '../core/key-terms.ts'

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
  readonly source: 'api' | 'file' | 'hub'
}

export const KEY_STATES = ['active', 'expired', 'revoked'] as const
export type KeyState = (typeof KEY_STATES)[number]

/** Whether a key is accepted. */
export function stateOf(
  { revokedAtMs, terms }: Pick<KeyRecord, 'revokedAtMs' | 'terms'>,
  nowMs: Milliseconds,
): KeyState {
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

/** The key of a call for a row; undefined for a revoked one. */
export function keyOf({
  id,
  name,
  revokedAtMs,
  line = id,
  terms = NO_TERMS,
}: StoredKey): CallKey | undefined {
  return revokedAtMs === null ? { id, name, line, terms } : undefined
}

/** A row with the hash by which a key finds it. */
export interface KeyRow {
  /** Lower-case hexadecimal. */
  readonly sha256: string
  readonly stored: StoredKey
}

/** Random bytes of a new key. */
export interface KeyRandom {
  readonly key: Buffer
  readonly id: Buffer
}

export const KEY_RANDOM_BYTES = 32
export const ID_RANDOM_BYTES = 16

/** Makes the row of a new key, and the key itself. */
export function makeKey(
  { name, terms, ...after }: Pick<StoredKey, 'name' | 'line' | 'replaces'> & { readonly terms: KeyTerms },
  nowMs: Milliseconds,
  random: KeyRandom,
): KeyRow & { readonly key: string } {
  const key = createApiKey(random.key)
  const own = { id: uuidv7(nowMs, random.id), name, prefix: keyPrefix(key), createdAtMs: nowMs }
  const stored: StoredKey = { ...own, revokedAtMs: null, ...after, terms }
  return { sha256: hashApiKey(key), stored, key }
}
