// Creates, lists, changes, rotates, revokes and authenticates API keys. Every call reads the
// database, so a key revoked in another process is refused at once. Stores the SHA-256 of a key,
// never its text.

import type { Actor } from '../../core/actor.ts'
import { hashApiKey, parseApiKey } from '../../core/apikey.ts'
import type { Clock } from '../../core/clock.ts'
import type { FileKey } from '../../core/config.ts'
import { GatewayError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import { type CallKey, type KeyTerms, NO_TERMS } from '../../core/key-terms.ts'
import { isoTime } from '../../core/time.ts'
import type { Environment } from '../environment/journaled.ts'
import type { UsageLog } from '../log/log.ts'
import { readJson, readU64, u64, writeJson } from '../tables/layout.ts'
import { whyNotKeyName } from './key-names.ts'
import {
  isOver,
  type KeyRecord,
  keyOfFile,
  type MadeKey,
  makeKey,
  type NewKey,
  ReadKeys,
  recordOf,
  rowOf,
  type StoredKey,
  stateOf,
} from './key-record.ts'
import { readTerms, sealedTerms } from './key-terms-fields.ts'
import { KeyUses } from './key-uses.ts'

/** Counts changes of keys; a new value invalidates the cached number of active keys. */
const CHANGES_KEY = Buffer.from('keychanges')

const KEY_RANDOM_BYTES = 32
const ID_RANDOM_BYTES = 16
/** Maximum keys, revoked ones included: they stay listed, and a list is one answer. */
const MAXIMUM_KEYS = 20_000
/** Longest id to look up, characters. */
const MAXIMUM_ID_CHARACTERS = 64

const noSuchKey = (): GatewayError => new GatewayError('not_found', 'There is no key with this id.')

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
  readonly #fileKeys: ReadonlyMap<string, CallKey>
  readonly #readKeys = new ReadKeys()
  readonly #uses: KeyUses
  #notRevoked: { readonly changes: number; readonly terms: readonly KeyTerms[] } = { changes: -1, terms: [] }

  constructor({ environment, log, clock, random, fileKeys }: KeyStoreOptions) {
    this.#environment = environment
    this.#uses = new KeyUses(environment)
    this.#log = log
    this.#clock = clock
    this.#random = random
    this.#fileKeys = new Map(fileKeys.map((key) => [key.sha256, keyOfFile(key)]))
  }

  /**
   * Creates a key. Resolves when the key is durable and its creation sealed. Names need not be
   * unique.
   * @param fields its terms, as `readTerms` reads them
   * @throws GatewayError `invalid_parameter` for a name that whyNotKeyName refuses; `conflict` at
   * MAXIMUM_KEYS; as `readTerms`
   */
  async create(name: string, actor: Actor, fields: JsonObject = {}): Promise<NewKey> {
    const reason = whyNotKeyName(name)
    if (reason !== null) throw new GatewayError('invalid_parameter', `name ${reason}`, { param: 'name' })
    const terms = readTerms(fields, NO_TERMS, this.#clock.now())
    const { rowKey, stored, key } = this.#newKey(name, terms)
    return this.#log.change(() => {
      this.#assertRoom()
      return {
        draft: {
          type: 'key_created',
          key_id: stored.id,
          key_name: name,
          source: 'api',
          terms: sealedTerms(terms),
          actor,
        },
        write: () => this.#add(rowKey, stored),
        result: { record: this.#describe(stored), key },
      }
    })
  }

  /**
   * Changes terms of a key. Resolves when the change is durable and sealed; from then on every
   * process follows it. A change to the same terms is not sealed.
   * @param fields as `readTerms` reads them
   * @throws GatewayError `not_found`; `conflict` for a declared or revoked key; as `readTerms`
   */
  change(id: string, fields: JsonObject, actor: Actor): Promise<KeyRecord> {
    return this.#log.change(() => {
      const { rowKey, stored } = this.#changeable(id)
      const before = stored.terms ?? NO_TERMS
      const terms = readTerms(fields, before, this.#clock.now())
      const changed: StoredKey = { ...stored, terms }
      const isSame = JSON.stringify(terms) === JSON.stringify(before)
      return {
        draft: isSame
          ? null
          : { type: 'key_changed', key_id: id, key_name: stored.name, terms: sealedTerms(terms), actor },
        write: () => this.#put(rowKey, changed),
        result: this.#describe(changed),
      }
    })
  }

  /**
   * Makes a successor with the same name and terms. The key itself works until the grace ends. Both
   * share limits and stored answers.
   * @throws GatewayError `not_found`; `conflict` for a declared, revoked or expired key, and at
   * MAXIMUM_KEYS
   */
  rotate(id: string, graceSeconds: number, actor: Actor): Promise<NewKey> {
    return this.#log.change(() => {
      const { rowKey, stored } = this.#changeable(id)
      const terms = stored.terms ?? NO_TERMS
      const nowMs = this.#clock.now()
      if (isOver(terms, nowMs)) throw new GatewayError('conflict', 'The key has expired; create another.')
      this.#assertRoom()
      const line = stored.line ?? stored.id
      const successor = this.#newKey(stored.name, terms, { line, replaces: stored.id })
      const endMs = Math.min(terms.expiresAtMs ?? Number.POSITIVE_INFINITY, nowMs + graceSeconds * 1000)
      return {
        draft: {
          type: 'key_rotated',
          key_id: stored.id,
          key_name: stored.name,
          successor_id: successor.stored.id,
          expires_at: isoTime(endMs),
          actor,
        },
        write: () => {
          this.#put(rowKey, { ...stored, terms: { ...terms, expiresAtMs: endMs } })
          this.#add(successor.rowKey, successor.stored)
        },
        result: { record: this.#describe(successor.stored), key: successor.key },
      }
    })
  }

  #newKey(name: string, terms: KeyTerms, after: Pick<StoredKey, 'line' | 'replaces'> = {}): MadeKey {
    const random = { key: this.#random(KEY_RANDOM_BYTES), id: this.#random(ID_RANDOM_BYTES) }
    return makeKey({ name, terms, ...after }, this.#clock.now(), random)
  }

  #add(rowKey: Buffer, stored: StoredKey): void {
    this.#put(rowKey, stored)
    this.#environment.tables.keyids.put(Buffer.from(stored.id), rowKey)
  }

  #assertRoom(): void {
    if (this.#environment.tables.keys.count() < MAXIMUM_KEYS) return
    throw new GatewayError('conflict', `The limit of ${MAXIMUM_KEYS} keys is reached, revoked ones included.`)
  }

  /** Returns the row of a key that can be changed. @throws GatewayError */
  #changeable(id: string): { readonly rowKey: Buffer; readonly stored: StoredKey } {
    if ([...this.#fileKeys.values()].some((key) => key.id === id))
      throw new GatewayError('conflict', 'The configuration declares this key; change it there.')
    const rowKey = this.#rowKeyOf(id)
    const stored = rowKey === undefined ? undefined : this.#storedAt(rowKey)
    if (rowKey === undefined || stored === undefined) throw noSuchKey()
    if (stored.revokedAtMs !== null) throw new GatewayError('conflict', 'The key is revoked.')
    return { rowKey, stored }
  }

  /** Returns all keys: declared ones first, then the others in order of creation. */
  list(): KeyRecord[] {
    this.#environment.refresh()
    const declared = Array.from(this.#fileKeys, (one) => this.#describeFileKey(...one))
    const names = new Set(declared.map(({ id }) => id))
    // A revoked declared key has a row as well.
    const stored = this.#rows().filter(({ id }) => !names.has(id))
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
    if (changes !== this.#notRevoked.changes) {
      const declared = [...this.#fileKeys].filter(([sha256]) => this.#storedFor(sha256) === undefined)
      const stored = this.#rows().filter(({ revokedAtMs }) => revokedAtMs === null)
      const terms = [...declared.map(([, key]) => key.terms), ...stored.map((key) => key.terms ?? NO_TERMS)]
      this.#notRevoked = { changes, terms }
    }
    const nowMs = this.#clock.now()
    return this.#notRevoked.terms.filter((terms) => !isOver(terms, nowMs)).length
  }

  /**
   * Revokes a key. Once this resolves, no process accepts the key. A repeated call changes nothing.
   * A declared key stays revoked in this database although it is still declared.
   * @throws GatewayError `not_found`
   */
  async revoke(id: string, actor: Actor): Promise<KeyRecord> {
    const declared = [...this.#fileKeys].find(([, identity]) => identity.id === id)
    const describe = (stored: StoredKey): KeyRecord =>
      declared === undefined
        ? this.#describe(stored)
        : { ...this.#describeFileKey(...declared), revokedAtMs: stored.revokedAtMs }
    return this.#log.change(() => {
      const rowKey = declared === undefined ? this.#rowKeyOf(id) : Buffer.from(declared[0], 'hex')
      const stored =
        rowKey === undefined ? undefined : (this.#storedAt(rowKey) ?? rowOf(declared?.[1], this.#clock.now()))
      if (rowKey === undefined || stored === undefined) throw noSuchKey()
      if (stored.revokedAtMs !== null) return { draft: null, write: () => {}, result: describe(stored) }
      const revoked: StoredKey = { ...stored, revokedAtMs: this.#clock.now() }
      return {
        draft: { type: 'key_revoked', key_id: stored.id, key_name: stored.name, actor },
        write: () => this.#put(rowKey, revoked),
        result: describe(revoked),
      }
    })
  }

  /** Returns the keys that a key replaces and that still work, the newest first. */
  workingPredecessors(id: string): KeyRecord[] {
    const found: KeyRecord[] = []
    const nowMs = this.#clock.now()
    for (let key = this.#storedById(id); key?.replaces != null; ) {
      key = this.#storedById(key.replaces)
      if (key === undefined) break
      const record = this.#describe(key)
      if (stateOf(record, nowMs) === 'active') found.push(record)
    }
    return found
  }

  #storedById(id: string): StoredKey | undefined {
    const rowKey = this.#rowKeyOf(id)
    return rowKey === undefined ? undefined : this.#storedAt(rowKey)
  }

  /**
   * Returns the key with its terms; null when the text is malformed, unknown or revoked, and
   * `expired` when its time is over.
   */
  authenticate(text: string): CallKey | 'expired' | null {
    if (!parseApiKey(text)) return null
    const sha256 = hashApiKey(text)
    this.#environment.refresh()
    const bytes = this.#environment.tables.keys.peek(Buffer.from(sha256, 'hex'))
    const key = bytes === undefined ? this.#fileKeys.get(sha256) : this.#readKeys.read(sha256, bytes)
    if (key === undefined) return null
    const nowMs = this.#clock.now()
    if (isOver(key.terms, nowMs)) return 'expired'
    this.#uses.note(key.id, nowMs)
    return key
  }

  /** Makes the times of last use durable. Call it every minute and before closing. */
  flush(): Promise<void> {
    return this.#uses.flush()
  }

  #rows(): StoredKey[] {
    return this.#environment.tables.keys.rows().map(({ value }) => readJson<StoredKey>(value))
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
    if (id === '' || id.length > MAXIMUM_ID_CHARACTERS) return undefined
    return this.#environment.tables.keyids.get(Buffer.from(id))
  }

  #describe(stored: StoredKey): NewKey['record'] {
    return recordOf(stored, this.#uses.lastUsed(stored.id))
  }

  #describeFileKey(sha256: string, { id, name, line, terms }: CallKey): KeyRecord {
    const lastUsedAtMs = this.#uses.lastUsed(id)
    const revokedAtMs = this.#storedFor(sha256)?.revokedAtMs ?? null
    const none = { prefix: null, createdAtMs: null, replaces: null }
    return { id, name, ...none, lastUsedAtMs, revokedAtMs, line, terms, source: 'file' }
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
