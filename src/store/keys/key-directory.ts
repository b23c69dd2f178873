// Creates, lists, changes, rotates and revokes API keys. A change is sealed in the transaction that
// writes it.

import type { Actor } from '../../core/actor.ts'
import type { Clock } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import type { CallKey } from '../../core/key-terms.ts'
import {
  assertRoomForKey,
  changingTerms,
  creating,
  type KeyChange,
  type KeyCreation,
  noSuchKey,
  revoking,
  rotating,
} from '../../keys/key-changes.ts'
import {
  ID_RANDOM_BYTES,
  KEY_RANDOM_BYTES,
  type KeyRandom,
  type KeyRecord,
  type KeyRow,
  type NewKey,
  recordOf,
  rowOf,
  type StoredKey,
  stateOf,
} from '../../keys/key-record.ts'
import type { Environment } from '../environment/journaled.ts'
import type { Change } from '../log/batch.ts'
import type { UsageLog } from '../log/log.ts'
import type { KeyRing } from './key-ring.ts'
import { KeyRows } from './key-rows.ts'

export interface KeyDirectoryOptions {
  readonly environment: Environment
  readonly log: UsageLog
  readonly clock: Clock
  readonly random: (length: number) => Buffer
  readonly ring: KeyRing
  /** The hub that makes and changes keys, and what it sent; null without one. */
  readonly hub: KeysOfHub | null
}

/** The keys of a hub, for lists. */
export interface KeysOfHub {
  /** Where keys are managed. */
  readonly url: string
  /** The keys that the hub sent and that are not revoked. */
  stored(): readonly StoredKey[]
}

export class KeyDirectory {
  readonly #environment: Environment
  readonly #log: UsageLog
  readonly #clock: Clock
  readonly #random: (length: number) => Buffer
  readonly #ring: KeyRing
  readonly #rows: KeyRows
  readonly #hub: KeysOfHub | null

  constructor({ environment, log, clock, random, ring, hub }: KeyDirectoryOptions) {
    this.#hub = hub
    this.#environment = environment
    this.#log = log
    this.#clock = clock
    this.#random = random
    this.#ring = ring
    this.#rows = new KeyRows(environment)
  }

  /**
   * Creates a key. Resolves when the key is durable and its creation sealed.
   * @throws GatewayError (rejects) `managed_by_hub`; `conflict` at MAXIMUM_KEYS; as `creating`
   */
  async create(name: string, actor: Actor, fields: JsonObject = {}): Promise<NewKey> {
    this.#assertNoHub()
    const change = creating({ name, fields }, actor, this.#clock.now(), this.#newRandom())
    return this.#log.change(() => {
      assertRoomForKey(this.#rows.count)
      return this.#making(change)
    })
  }

  /**
   * Changes terms of a key. Resolves when the change is durable and sealed; from then on every
   * process follows it.
   * @throws GatewayError (rejects) `managed_by_hub`, `not_found`; `conflict` for a declared key; as
   * `changingTerms`
   */
  async change(id: string, fields: JsonObject, actor: Actor): Promise<KeyRecord> {
    this.#assertNoHub()
    return this.#log.change(() => {
      const change = changingTerms(this.#changeable(id), fields, actor, this.#clock.now())
      return this.#changing(change, this.#describe(change.stored))
    })
  }

  /**
   * Makes a successor of a key.
   * @throws GatewayError (rejects) `managed_by_hub`, `not_found`; `conflict` for a declared key and
   * at MAXIMUM_KEYS; as `rotating`
   */
  async rotate(id: string, graceSeconds: number, actor: Actor): Promise<NewKey> {
    this.#assertNoHub()
    const random = this.#newRandom()
    return this.#log.change(() => {
      const change = rotating(this.#changeable(id), graceSeconds, actor, this.#clock.now(), random)
      assertRoomForKey(this.#rows.count)
      return this.#making(change)
    })
  }

  /**
   * Revokes a key. Once this resolves, no process accepts the key. A declared key stays revoked in
   * this database although it is still declared.
   * @throws GatewayError (rejects) `managed_by_hub`, `not_found`
   */
  async revoke(id: string, actor: Actor): Promise<KeyRecord> {
    this.#assertNoHub()
    const declared = [...this.#ring.fileKeys].find(([, identity]) => identity.id === id)
    return this.#log.change(() => {
      const sha256 = declared?.[0] ?? this.#rows.hashOf(id)
      const stored =
        sha256 === undefined ? undefined : (this.#rows.get(sha256) ?? rowOf(declared?.[1], this.#clock.now()))
      if (sha256 === undefined || stored === undefined) throw noSuchKey()
      const change = revoking({ sha256, stored }, actor, this.#clock.now())
      const { revokedAtMs } = change.stored
      const record =
        declared === undefined
          ? this.#describe(change.stored)
          : { ...this.#describeFileKey(...declared), revokedAtMs }
      return this.#changing(change, record)
    })
  }

  /**
   * Returns all keys: declared ones first, then those made here and those of a hub, each group in
   * order of creation.
   */
  async list(): Promise<KeyRecord[]> {
    this.#environment.refresh()
    const declared = Array.from(this.#ring.fileKeys, (one) => this.#describeFileKey(...one))
    const names = new Set(declared.map(({ id }) => id))
    // A revoked declared key has a row as well.
    const stored = this.#rows.all().filter(({ id }) => !names.has(id))
    const hub = [...(this.#hub?.stored() ?? [])]
    for (const keys of [stored, hub])
      keys.sort((a, b) => a.createdAtMs - b.createdAtMs || (a.id < b.id ? -1 : 1))
    return [
      ...declared,
      ...stored.map((key) => this.#describe(key)),
      ...hub.map((key): KeyRecord => ({ ...this.#describe(key), source: 'hub' })),
    ]
  }

  /** Number of keys that were made here and are not revoked. */
  countOwn(): number {
    return this.#rows.all().filter(({ prefix, revokedAtMs }) => prefix !== null && revokedAtMs === null)
      .length
  }

  /** Returns the keys that a key replaces and that still work, the newest first. */
  async workingPredecessors(id: string): Promise<KeyRecord[]> {
    const found: KeyRecord[] = []
    const nowMs = this.#clock.now()
    for (let key = this.#rowOf(id)?.stored; key?.replaces != null; ) {
      key = this.#rowOf(key.replaces)?.stored
      if (key === undefined) break
      const record = this.#describe(key)
      if (stateOf(record, nowMs) === 'active') found.push(record)
    }
    return found
  }

  #assertNoHub(): void {
    if (this.#hub === null) return
    const message = `The keys of this gateway are managed by its hub; make this change there: ${this.#hub.url}. A key that it made before it had \`fleet\` can be changed without \`fleet\` only.`
    throw new GatewayError('managed_by_hub', message)
  }

  #newRandom(): KeyRandom {
    return { key: this.#random(KEY_RANDOM_BYTES), id: this.#random(ID_RANDOM_BYTES) }
  }

  #making({ key, ...change }: KeyCreation): Change<NewKey> {
    return this.#changing(change, { record: this.#describe(change.stored), key })
  }

  #changing<Result>({ draft, rows }: KeyChange, result: Result): Change<Result> {
    const write = () => {
      for (const { sha256, stored } of rows) this.#rows.put(sha256, stored)
    }
    return { draft, write, result }
  }

  /** Returns the row of a key that may be changed here. @throws GatewayError */
  #changeable(id: string): KeyRow {
    if ([...this.#ring.fileKeys.values()].some((key) => key.id === id))
      throw new GatewayError('conflict', 'The configuration declares this key; change it there.')
    const row = this.#rowOf(id)
    if (row === undefined) throw noSuchKey()
    return row
  }

  #rowOf(id: string): KeyRow | undefined {
    const sha256 = this.#rows.hashOf(id)
    const stored = sha256 === undefined ? undefined : this.#rows.get(sha256)
    return sha256 === undefined || stored === undefined ? undefined : { sha256, stored }
  }

  #describe(stored: StoredKey): NewKey['record'] {
    return recordOf(stored, this.#ring.lastUsed(stored.id))
  }

  #describeFileKey(sha256: string, { id, name, line, terms }: CallKey): KeyRecord {
    const lastUsedAtMs = this.#ring.lastUsed(id)
    const revokedAtMs = this.#rows.get(sha256)?.revokedAtMs ?? null
    const none = { prefix: null, createdAtMs: null, replaces: null }
    return { id, name, ...none, lastUsedAtMs, revokedAtMs, line, terms, source: 'file' }
  }
}
