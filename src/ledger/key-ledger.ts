// Creates, lists, changes, rotates and revokes the keys of a fleet. A change is sealed, and
// numbered for the feed, in the transaction that makes it.

import type { Actor } from '../core/actor.ts'
import type { Milliseconds } from '../core/clock.ts'
import type { JsonObject } from '../core/json.ts'
import { inOrder, type KeyTerms } from '../core/key-terms.ts'
import { isoTime, isoTimeOrNull } from '../core/time.ts'
import {
  assertRoomForKey,
  changingTerms,
  creating,
  type KeyChange,
  noSuchKey,
  revoking,
  rotating,
} from '../keys/key-changes.ts'
import {
  ID_RANDOM_BYTES,
  KEY_RANDOM_BYTES,
  type KeyRandom,
  type KeyRecord,
  type KeyRow,
  type NewKey,
  recordOf,
  type StoredKey,
  stateOf,
} from '../keys/key-record.ts'
import { onlyRow, type Queries } from './database.ts'
import type { FeedChange, LedgerChange, LedgerOptions, MadeChange } from './hub-log.ts'

/** Terms of a key that names no namespaces. */
const EVERY_NAMESPACE = { namespaces: null }

export interface KeyColumns {
  readonly id: string
  readonly sha256: Buffer
  readonly name: string
  readonly prefix: string | null
  readonly line: string
  readonly replaces: string | null
  readonly terms: KeyTerms
  readonly namespaces: readonly string[] | null
  readonly created_at: Milliseconds
  readonly revoked_at: Milliseconds | null
  readonly last_used_at: Milliseconds | null
}

export const COLUMNS =
  'id, sha256, name, prefix, line, replaces, terms, namespaces, created_at, revoked_at, last_used_at'

export class KeyLedger {
  readonly #parts: LedgerOptions

  constructor(parts: LedgerOptions) {
    this.#parts = parts
  }

  /**
   * Creates a key. Resolves when the key is durable and its creation sealed.
   * @throws GatewayError (rejects) `conflict` at MAXIMUM_KEYS, `fleet_unavailable`; as `creating`
   */
  async create(name: string, actor: Actor, fields: JsonObject): Promise<MadeChange<NewKey>> {
    const given = { name, fields: { ...EVERY_NAMESPACE, ...fields } }
    const { key, ...change } = creating(given, actor, this.#parts.clock.now(), this.#newRandom())
    return this.#parts.log.change(async (queries) => {
      assertRoomForKey(await countIn(queries))
      return changing(change, { record: recordOf(change.stored, null), key })
    })
  }

  /**
   * Changes terms of a key.
   * @throws GatewayError (rejects) `not_found`, `fleet_unavailable`; as `changingTerms`
   */
  change(id: string, fields: JsonObject, actor: Actor): Promise<MadeChange<KeyRecord>> {
    return this.#parts.log.change(async (queries) => {
      const { row, lastUsedAtMs } = await rowIn(queries, id)
      const change = changingTerms(row, fields, actor, this.#parts.clock.now())
      return changing(change, recordOf(change.stored, lastUsedAtMs))
    })
  }

  /**
   * Makes a successor of a key.
   * @throws GatewayError (rejects) `not_found`, `conflict` at MAXIMUM_KEYS, `fleet_unavailable`; as
   * `rotating`
   */
  rotate(id: string, graceSeconds: number, actor: Actor): Promise<MadeChange<NewKey>> {
    const random = this.#newRandom()
    return this.#parts.log.change(async (queries) => {
      const { row } = await rowIn(queries, id)
      const { key, ...change } = rotating(row, graceSeconds, actor, this.#parts.clock.now(), random)
      assertRoomForKey(await countIn(queries))
      return changing(change, { record: recordOf(change.stored, null), key })
    })
  }

  /**
   * Revokes a key.
   * @throws GatewayError (rejects) `not_found`, `fleet_unavailable`
   */
  revoke(id: string, actor: Actor): Promise<MadeChange<KeyRecord>> {
    return this.#parts.log.change(async (queries) => {
      const { row, lastUsedAtMs } = await rowIn(queries, id)
      const change = revoking(row, actor, this.#parts.clock.now())
      return changing(change, recordOf(change.stored, lastUsedAtMs))
    })
  }

  /** Returns all keys in order of creation. */
  async list(): Promise<KeyRecord[]> {
    const rows = await this.#parts.database.rows<KeyColumns>(
      `select ${COLUMNS} from api_key order by created_at, id`,
    )
    return rows.map((one) => recordOf(storedOf(one), one.last_used_at))
  }

  /** Returns the keys that a key replaces and that still work, the newest first. */
  async workingPredecessors(id: string): Promise<KeyRecord[]> {
    const nowMs = this.#parts.clock.now()
    const rows = await this.#parts.database.rows<KeyColumns>(
      `select ${COLUMNS} from api_key where line = (select line from api_key where id = $1)
       and created_at < (select created_at from api_key where id = $1) order by created_at desc`,
      [id],
    )
    return rows
      .map((one) => recordOf(storedOf(one), one.last_used_at))
      .filter((record) => stateOf(record, nowMs) === 'active')
  }

  /** Writes when keys were last used; a time before the one that is known changes nothing. */
  async noteUses(uses: ReadonlyMap<string, Milliseconds>): Promise<void> {
    await this.#parts.database.rows(
      `update api_key k set last_used_at = u.at from unnest($1::text[], $2::timestamptz[]) as u(id, at)
       where k.id = u.id and (k.last_used_at is null or k.last_used_at < u.at)`,
      [[...uses.keys()], [...uses.values()].map(isoTime)],
    )
  }

  #newRandom(): KeyRandom {
    return { key: this.#parts.random(KEY_RANDOM_BYTES), id: this.#parts.random(ID_RANDOM_BYTES) }
  }
}

export const storedOf = (columns: KeyColumns): StoredKey => ({
  id: columns.id,
  name: columns.name,
  prefix: columns.prefix,
  createdAtMs: columns.created_at,
  revokedAtMs: columns.revoked_at,
  line: columns.line,
  replaces: columns.replaces,
  terms: termsIn(columns),
})

/** The database keeps no order of members. */
const termsIn = ({ terms, namespaces }: KeyColumns): KeyTerms => ({
  models: terms.models,
  expiresAtMs: terms.expiresAtMs,
  owner: terms.owner,
  labels: inOrder(terms.labels),
  capture: terms.capture,
  maxParallel: terms.maxParallel,
  namespaces,
})

const countIn = async (queries: Queries): Promise<number> =>
  (await onlyRow(queries.rows<{ count: number }>('select count(*) as count from api_key'))).count

async function rowIn(
  queries: Queries,
  id: string,
): Promise<{ readonly row: KeyRow; readonly lastUsedAtMs: Milliseconds | null }> {
  const [found] = await queries.rows<KeyColumns>(`select ${COLUMNS} from api_key where id = $1`, [id])
  if (found === undefined) throw noSuchKey()
  const row = { sha256: found.sha256.toString('hex'), stored: storedOf(found) }
  return { row, lastUsedAtMs: found.last_used_at }
}

const changing = <Result>({ draft, rows }: KeyChange, result: Result): LedgerChange<Result> => ({
  draft,
  feed: rows.map(feedOf),
  result,
})

/** What sidecars learn of a key: everything but the key itself. */
function feedOf({ sha256, stored }: KeyRow): FeedChange {
  const { id, name, prefix, line = id, replaces = null, createdAtMs, revokedAtMs } = stored
  const { namespaces = null, ...terms } = stored.terms!
  const times = { created_at: isoTime(createdAtMs), revoked_at: isoTimeOrNull(revokedAtMs) }
  const body = { id, sha256, name, prefix, line, replaces, terms, namespaces, ...times }
  return {
    kind: 'key',
    id,
    op: 'put',
    body: body as unknown as JsonObject,
    write: (queries, rev) =>
      queries.rows(
        `insert into api_key (id, sha256, name, prefix, line, replaces, terms, namespaces, created_at, revoked_at, rev)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
         on conflict (id) do update set terms = excluded.terms, namespaces = excluded.namespaces,
           revoked_at = excluded.revoked_at, rev = excluded.rev`,
        [
          ...[id, Buffer.from(sha256, 'hex'), name, prefix, line, replaces, terms, namespaces],
          ...[times.created_at, times.revoked_at, rev],
        ],
      ),
  }
}
