// The parts of a hub on a database of its own.

import { randomBytes, randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import { type Head, seal } from '../../src/audit/chain.ts'
import { Frontier, leafHash } from '../../src/audit/merkle.ts'
import { TileCollector } from '../../src/audit/tiles.ts'
import { Database, type Queries } from '../../src/ledger/database.ts'
import { HubLog } from '../../src/ledger/hub-log.ts'
import { JoinTokens } from '../../src/ledger/join-tokens.ts'
import { KeyLedger } from '../../src/ledger/key-ledger.ts'
import { storeTiles } from '../../src/ledger/log-tiles.ts'
import { PolicyLedger } from '../../src/ledger/policy-ledger.ts'
import { SessionLedger } from '../../src/ledger/session-ledger.ts'
import { requestDraft } from '../audit/drafts.ts'
import { testClock } from '../store/fixture.ts'
import { run } from './postgres.ts'

/** Connects to a database until the test ends. */
export function openDatabase(t: Test, url: string): Database {
  const database = new Database({ url, connections: 4, onError: () => {} })
  t.teardown(() => database.close())
  return database
}

export function partsOn(database: Database, clock = testClock()) {
  const shared = { database, clock, random: (length: number) => randomBytes(length) }
  const log = new HubLog(shared)
  return {
    database,
    clock,
    log,
    keys: new KeyLedger({ ...shared, log }),
    policy: new PolicyLedger({ ...shared, log }),
    joinTokens: new JoinTokens({ ...shared, log }),
    sessions: new SessionLedger({ ...shared, log }),
  }
}

/** A call of a sidecar, as a test stores it. */
interface StoredCall {
  readonly key_id?: string
  readonly created_at?: string
  /** When the hub received it; now by default. */
  readonly received_at?: string
  readonly user?: Buffer | null
  readonly labels?: Readonly<Record<string, string>>
}

/** The rows of a sidecar with one log, written by a test in place of an ingest. */
export class SidecarRows {
  readonly log = randomUUID()
  readonly id: string
  readonly #database: Database
  readonly #owner: string
  readonly #frontier = Frontier.empty()
  #head: Head | null = null

  constructor(database: Database, owner: string, id = 'first') {
    this.#database = database
    this.#owner = owner
    this.id = id
  }

  async register(): Promise<void> {
    await run(
      this.#owner,
      `insert into sidegate.sidecar
         (id, namespace, name, version, features, max_stale_seconds, acked_rev, last_seen_at, state)
       values ($1, 'shop', $1, '1', '{erase}', 60, 0, now(), 'connected')`,
      [this.id],
    )
  }

  /** Registers the sidecar, and begins its log. */
  async begin(): Promise<void> {
    await this.register()
    await this.store(this.#database, [])
  }

  /** Begins the log with calls. */
  async calls(count: number, callOf: (n: number) => StoredCall): Promise<void> {
    await this.register()
    await this.store(
      this.#database,
      Array.from({ length: count }, (_, n) => callOf(n)),
    )
  }

  /** Appends calls, each with an exchange. */
  async store(queries: Queries, calls: readonly StoredCall[]): Promise<void> {
    const tiles = new TileCollector(this.log, 0)
    const rows = calls.map((call) => this.#rowOf(call, tiles))
    const column = (name: string) => rows.map((row) => row[name as keyof typeof row])
    await queries.rows(
      `insert into entry (received_at, log_id, seq, hash, prev, created_at, type, call_id, key_id, labels, body)
       select r.received_at, $1, r.seq, r.hash, r.prev, r.created_at, 'request', r.call_id, r.key_id, r.labels, r.body
       from unnest($2::timestamptz[], $3::bigint[], $4::bytea[], $5::bytea[], $6::timestamptz[], $7::text[],
         $8::text[], $9::jsonb[], $10::bytea[])
         as r(received_at, seq, hash, prev, created_at, call_id, key_id, labels, body)`,
      [
        this.log,
        ...['received_at', 'seq', 'hash', 'prev', 'created_at', 'call_id', 'key_id', 'labels', 'body'].map(
          column,
        ),
      ],
    )
    await queries.rows(
      `insert into exchange (received_at, log_id, seq, labels, bytes)
       select r.received_at, $1, r.seq, r.labels, 'text'
       from unnest($2::timestamptz[], $3::bigint[], $4::jsonb[]) as r(received_at, seq, labels)`,
      [this.log, ...['received_at', 'seq', 'labels'].map(column)],
    )
    const named = rows.filter(({ user }) => user !== null)
    await queries.rows(
      `insert into entry_user (log_id, seq, hash) select $1, * from unnest($2::bigint[], $3::bytea[])`,
      [this.log, named.map(({ seq }) => seq), named.map(({ user }) => user)],
    )
    await this.#writeHead(queries)
    await storeTiles(queries, tiles.appends())
  }

  #rowOf(
    { key_id = 'k', created_at, received_at, user = null, labels = {} }: StoredCall,
    tiles: TileCollector,
  ) {
    const timeMs = created_at === undefined ? Date.now() : Date.parse(created_at)
    const seq = (this.#head?.seq ?? -1) + 1
    const draft = requestDraft({ id: `call-${seq}`, key_id, created_at: new Date(timeMs).toISOString() })
    const head = this.#head ?? { log: this.log, seq: -1, hash: `sha256:${'0'.repeat(64)}` }
    const { hash, bytes } = seal(head, draft, timeMs, null)
    this.#head = { log: this.log, seq, hash }
    this.#frontier.push(leafHash(hash), tiles.add)
    return {
      ...{ seq, key_id, user, labels: JSON.stringify(labels), call_id: `call-${seq}`, body: bytes },
      hash: Buffer.from(hash.slice(7), 'hex'),
      prev: seq === 0 ? null : Buffer.from(head.hash.slice(7), 'hex'),
      received_at: received_at ?? new Date().toISOString(),
      created_at: new Date(timeMs).toISOString(),
    }
  }

  async #writeHead(queries: Queries): Promise<void> {
    const { seq, hash } = this.#head ?? { seq: -1, hash: `sha256:${'0'.repeat(64)}` }
    await queries.rows(
      `insert into log_head (log_id, sidecar, seq, hash, size, frontier, state, first_seq, last_at)
       values ($1, $2, $3, $4, $5, $6, 'open', 0, now())
       on conflict (log_id) do update set seq = excluded.seq, hash = excluded.hash, size = excluded.size,
         frontier = excluded.frontier`,
      [this.log, this.id, seq, Buffer.from(hash.slice(7), 'hex'), seq + 1, this.#frontier.nodes()],
    )
  }
}
