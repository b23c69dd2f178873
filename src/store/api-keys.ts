// Creates, lists, revokes and authenticates API keys. Every call reads the database, so a key
// revoked in another process is refused at once. Stores the SHA-256 of a key, never its text.

import { createApiKey, hashApiKey, type KeyIdentity, keyPrefix, parseApiKey } from '../core/apikey.ts'
import type { Clock, Milliseconds } from '../core/clock.ts'
import type { FileKey } from '../core/config.ts'
import { GatewayError } from '../core/errors.ts'
import { uuidv5, uuidv7 } from '../core/ids.ts'
import { whyNotKeyName } from './key-names.ts'
import { readJson, readU64, u64, writeJson } from './layout.ts'
import type { Environment } from './lmdb.ts'
import type { UsageLog } from './log/log.ts'

/**
 * Marks the row of an active key, without parsing it. A quote in a name is escaped, so a name
 * cannot contain this.
 */
const NOT_REVOKED = '"revokedAtMs":null'

/** Counts creations and revocations; a new value invalidates the cached number of active keys. */
const CHANGES_KEY = Buffer.from('keychanges')

const KEY_RANDOM_BYTES = 32
const ID_RANDOM_BYTES = 16
/** Most keys, revoked ones included: they stay listed, and a list is one answer. */
const MAX_KEYS = 20_000
/** Rows in the cache of parsed rows, which is cleared when full. */
const MAX_READ_ROWS = 1024
/** Longest id to look up, characters. */
const MAX_ID_CHARACTERS = 64

export interface KeyRecord extends KeyIdentity {
  /** The part that lists show; null when only the hash of the key is cached. */
  readonly prefix: string | null
  /** Null for keys declared in the configuration. */
  readonly createdAtMs: Milliseconds | null
  readonly lastUsedAtMs: Milliseconds | null
  readonly revokedAtMs: Milliseconds | null
  readonly source: 'api' | 'file'
}

export interface NewKey {
  readonly record: KeyRecord & { readonly createdAtMs: Milliseconds }
  /** The key itself; returned once and never stored. */
  readonly key: string
}

interface StoredKey {
  readonly id: string
  readonly name: string
  readonly prefix: string | null
  readonly createdAtMs: Milliseconds
  readonly revokedAtMs: Milliseconds | null
}

/** A stored row and the owner of its key; undefined for a revoked one. */
interface ReadRow {
  readonly bytes: Buffer
  readonly identity: KeyIdentity | undefined
}

export interface KeyStoreOptions {
  readonly environment: Environment
  readonly log: UsageLog
  readonly clock: Clock
  readonly random: (length: number) => Buffer
  /** Keys that the configuration declares by hash. */
  readonly fileKeys: readonly FileKey[]
}

export class KeyStore {
  readonly #environment: Environment
  readonly #log: UsageLog
  readonly #clock: Clock
  readonly #random: (length: number) => Buffer
  readonly #fileKeys: ReadonlyMap<string, KeyIdentity>
  /** Last seen rows, by hash. Saves parsing an unchanged row; the row is still read. */
  readonly #parsedRows = new Map<string, ReadRow>()
  /** Uses since the last flush, by id: at most one for each key. */
  readonly #lastUses = new Map<string, Milliseconds>()
  #active = { changes: -1, count: 0 }

  constructor({ environment, log, clock, random, fileKeys }: KeyStoreOptions) {
    this.#environment = environment
    this.#log = log
    this.#clock = clock
    this.#random = random
    this.#fileKeys = new Map(
      fileKeys.map(({ name, sha256 }) => [sha256, { id: uuidv5(`key:${sha256}`), name }]),
    )
  }

  /**
   * Creates a key. Resolves when the key is durable and its creation sealed. Names need not be
   * unique.
   * @throws GatewayError `invalid_parameter` for a name that whyNotKeyName refuses; `conflict` at
   * MAX_KEYS
   */
  create(name: string): Promise<NewKey> {
    const reason = whyNotKeyName(name)
    if (reason !== null)
      return Promise.reject(new GatewayError('invalid_parameter', `name ${reason}`, { param: 'name' }))
    const { keys, keyids } = this.#environment.tables
    const key = createApiKey(this.#random(KEY_RANDOM_BYTES))
    const rowKey = Buffer.from(hashApiKey(key), 'hex')
    const createdAtMs = this.#clock.now()
    const id = uuidv7(createdAtMs, this.#random(ID_RANDOM_BYTES))
    const stored: StoredKey = { id, name, prefix: keyPrefix(key), createdAtMs, revokedAtMs: null }
    return this.#log.change(() => {
      if (keys.count() >= MAX_KEYS) {
        throw new GatewayError('conflict', `The limit of ${MAX_KEYS} keys is reached, revoked ones included.`)
      }
      return {
        draft: { type: 'key_created', key_id: id, key_name: name, source: 'api' },
        write: () => {
          this.#put(rowKey, stored)
          keyids.put(Buffer.from(id), rowKey)
        },
        result: { record: { ...stored, lastUsedAtMs: null, source: 'api' }, key },
      }
    })
  }

  /** Returns all keys: declared ones first, then the others in order of creation. */
  list(): KeyRecord[] {
    this.#environment.refresh()
    const declared = Array.from(this.#fileKeys, ([sha256, identity]) =>
      this.#describeFileKey(sha256, identity),
    )
    const names = new Set(declared.map(({ id }) => id))
    const rows = this.#environment.tables.keys.rows().map(({ value }) => readJson<StoredKey>(value))
    // A revoked declared key has a row as well.
    const stored = rows.filter(({ id }) => !names.has(id))
    stored.sort((a, b) => a.createdAtMs - b.createdAtMs || (a.id < b.id ? -1 : 1))
    return [...declared, ...stored.map((key) => this.#describe(key))]
  }

  /**
   * Number of keys accepted now. Reads the rows only if a process has changed one since the last
   * call.
   */
  countActive(): number {
    this.#environment.refresh()
    const changes = this.#changes()
    if (changes !== this.#active.changes) {
      const stored = this.#environment.tables.keys.rows()
      const declared = Array.from(this.#fileKeys.keys()).filter(
        (sha256) => this.#storedFor(sha256) === undefined,
      )
      const count = declared.length + stored.filter(({ value }) => value.includes(NOT_REVOKED)).length
      this.#active = { changes, count }
    }
    return this.#active.count
  }

  /**
   * Revokes a key. Once this resolves, no process accepts the key. A repeated call changes nothing.
   * A declared key stays revoked in this database although it is still declared.
   * @throws GatewayError `not_found`
   */
  async revoke(id: string): Promise<KeyRecord> {
    const declared = [...this.#fileKeys].find(([, identity]) => identity.id === id)
    const describe = (stored: StoredKey): KeyRecord =>
      declared === undefined
        ? this.#describe(stored)
        : { ...this.#describeFileKey(...declared), revokedAtMs: stored.revokedAtMs }
    return this.#log.change(() => {
      const rowKey = declared === undefined ? this.#rowKeyOf(id) : Buffer.from(declared[0], 'hex')
      const stored =
        rowKey === undefined ? undefined : (this.#storedAt(rowKey) ?? this.#toStored(declared?.[1]))
      if (rowKey === undefined || stored === undefined)
        throw new GatewayError('not_found', 'There is no key with this id.')
      if (stored.revokedAtMs !== null) return { draft: null, write: () => {}, result: describe(stored) }
      const revoked: StoredKey = { ...stored, revokedAtMs: this.#clock.now() }
      return {
        draft: { type: 'key_revoked', key_id: stored.id, key_name: stored.name },
        write: () => {
          this.#put(rowKey, revoked)
        },
        result: describe(revoked),
      }
    })
  }

  /** Returns the row that revokes a declared key. */
  #toStored(identity: KeyIdentity | undefined): StoredKey | undefined {
    if (identity === undefined) return undefined
    return { ...identity, prefix: null, createdAtMs: this.#clock.now(), revokedAtMs: null }
  }

  /** Returns the key's owner; null when the key is malformed, unknown or revoked. */
  authenticate(key: string): KeyIdentity | null {
    if (!parseApiKey(key)) return null
    const sha256 = hashApiKey(key)
    this.#environment.refresh()
    const bytes = this.#environment.tables.keys.peek(Buffer.from(sha256, 'hex'))
    const identity = bytes === undefined ? this.#fileKeys.get(sha256) : this.#readActive(sha256, bytes)
    if (identity === undefined) return null
    this.#lastUses.set(identity.id, this.#clock.now())
    return identity
  }

  /** @param bytes the current row, valid until the next read */
  #readActive(sha256: string, bytes: Buffer): KeyIdentity | undefined {
    const cached = this.#parsedRows.get(sha256)
    if (cached?.bytes.equals(bytes) === true) return cached.identity
    const { id, name, revokedAtMs } = readJson<StoredKey>(bytes)
    const identity = revokedAtMs === null ? { id, name } : undefined
    if (this.#parsedRows.size >= MAX_READ_ROWS) this.#parsedRows.clear()
    this.#parsedRows.set(sha256, { bytes: Buffer.from(bytes), identity })
    return identity
  }

  /** Makes the times of last use durable. Call it every minute and before closing. */
  async flush(): Promise<void> {
    if (this.#lastUses.size === 0) return
    const used = [...this.#lastUses]
    const { keyuse } = this.#environment.tables
    await this.#environment.transaction(() => {
      for (const [id, timeMs] of used) keyuse.put(Buffer.from(id), u64(timeMs))
    })
    for (const [id, timeMs] of used) {
      if (this.#lastUses.get(id) === timeMs) this.#lastUses.delete(id)
    }
  }

  #put(rowKey: Buffer, stored: StoredKey): void {
    const { keys, meta } = this.#environment.tables
    keys.put(rowKey, writeJson(stored))
    meta.put(CHANGES_KEY, u64(this.#changes() + 1))
  }

  #changes(): number {
    const bytes = this.#environment.tables.meta.get(CHANGES_KEY)
    return bytes === undefined ? 0 : readU64(bytes)
  }

  #rowKeyOf(id: string): Buffer | undefined {
    if (id === '' || id.length > MAX_ID_CHARACTERS) return undefined
    return this.#environment.tables.keyids.get(Buffer.from(id))
  }

  #lastUsed(id: string): Milliseconds | null {
    const flushed = this.#environment.tables.keyuse.get(Buffer.from(id))
    return this.#lastUses.get(id) ?? (flushed === undefined ? null : readU64(flushed))
  }

  #describe(stored: StoredKey): KeyRecord {
    return { ...stored, lastUsedAtMs: this.#lastUsed(stored.id), source: 'api' }
  }

  #describeFileKey(sha256: string, { id, name }: KeyIdentity): KeyRecord {
    const lastUsedAtMs = this.#lastUsed(id)
    const revokedAtMs = this.#storedFor(sha256)?.revokedAtMs ?? null
    return { id, name, prefix: null, createdAtMs: null, lastUsedAtMs, revokedAtMs, source: 'file' }
  }

  /** Returns the row with this hash. It overrides a declaration: a revoked key stays revoked. */
  #storedFor(sha256: string): StoredKey | undefined {
    return this.#storedAt(Buffer.from(sha256, 'hex'))
  }

  #storedAt(rowKey: Buffer): StoredKey | undefined {
    const bytes = this.#environment.tables.keys.get(rowKey)
    return bytes === undefined ? undefined : readJson<StoredKey>(bytes)
  }
}
