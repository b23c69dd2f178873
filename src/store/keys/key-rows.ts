// The rows of keys in the database, and a count of their changes.

import type { StoredKey } from '../../keys/key-record.ts'
import type { Environment } from '../environment/journaled.ts'
import { readJson, readU64, u64, writeJson } from '../tables/layout.ts'

/** Counts changes of keys; a new value invalidates what was computed from all rows. */
const CHANGES_KEY = Buffer.from('keychanges')
/** Longest id to look up, characters. */
const MAXIMUM_ID_CHARACTERS = 64

export class KeyRows {
  readonly #environment: Environment

  constructor(environment: Environment) {
    this.#environment = environment
  }

  get count(): number {
    return this.#environment.tables.keys.count()
  }

  /** Number of changes by any process. */
  get changes(): number {
    const bytes = this.#environment.tables.meta.get(CHANGES_KEY)
    return bytes === undefined ? 0 : readU64(bytes)
  }

  all(): StoredKey[] {
    return this.#environment.tables.keys.rows().map(({ value }) => readJson<StoredKey>(value))
  }

  /** @param sha256 of the key, hexadecimal */
  get(sha256: string): StoredKey | undefined {
    const bytes = this.#environment.tables.keys.get(Buffer.from(sha256, 'hex'))
    return bytes === undefined ? undefined : readJson<StoredKey>(bytes)
  }

  /** Returns the bytes of a row, valid until the next read. */
  peek(sha256: string): Buffer | undefined {
    return this.#environment.tables.keys.peek(Buffer.from(sha256, 'hex'))
  }

  /** Returns the hash of the key with an id. */
  hashOf(id: string): string | undefined {
    if (id === '' || id.length > MAXIMUM_ID_CHARACTERS) return undefined
    return this.#environment.tables.keyids.get(Buffer.from(id))?.toString('hex')
  }

  /** Writes a row. Call it inside a transaction. */
  put(sha256: string, stored: StoredKey): void {
    const { keys, keyids, meta } = this.#environment.tables
    const rowKey = Buffer.from(sha256, 'hex')
    keys.put(rowKey, writeJson(stored))
    // A declared key is found by its declaration.
    if (stored.prefix !== null) keyids.put(Buffer.from(stored.id), rowKey)
    meta.put(CHANGES_KEY, u64(this.changes + 1))
  }
}
