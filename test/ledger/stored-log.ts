// Logs of sidecars as a hub stores them: real sealed entries, exchanges and end users.

import { randomBytes } from 'node:crypto'
import { genesis, type Head, type Sealed, seal } from '../../src/audit/chain.ts'
import { commit, SALT_BYTES } from '../../src/audit/content.ts'
import type { EntryDraft } from '../../src/audit/entry.ts'
import { Frontier, leafHash } from '../../src/audit/merkle.ts'
import { uuidv7 } from '../../src/core/ids.ts'
import type { Queries } from '../../src/ledger/database.ts'
import { columnsOf, digestOf, insertEntries } from '../../src/ledger/entry-columns.ts'

/** An entry to seal, and what is stored apart from it. */
export interface ShippedDraft {
  readonly draft: EntryDraft
  /** The exchange as JSON. */
  readonly content?: string
  readonly user?: { readonly hash: Buffer; readonly clear: string | null }
}

const START_MS = Date.UTC(2026, 2, 1)
const GENESIS = { type: 'genesis', product: 'sidegate', continues: null, actor: 'gateway' } as const

/** Registers a sidecar. */
export const registerSidecar = (queries: Queries, id: string, name: string): Promise<unknown> =>
  queries.rows(
    `insert into sidecar (id, namespace, name, version, features, max_stale_seconds, acked_rev, last_seen_at, state)
     values ($1, 'shop', $2, '0.2.0', '{}', 60, 0, now(), 'left')`,
    [id, name],
  )

/** The log of one sidecar, which begins with a genesis entry. */
export class StoredTestLog {
  readonly id: string
  readonly #queries: Queries
  readonly #frontier = Frontier.empty()
  #head: Head

  private constructor(queries: Queries, id: string, first: Sealed) {
    this.#queries = queries
    this.id = id
    this.#frontier.push(leafHash(first.hash))
    this.#head = { log: id, seq: 0, hash: first.hash }
  }

  static async begin(queries: Queries, sidecar: string, nowMs = START_MS): Promise<StoredTestLog> {
    const id = uuidv7(nowMs, randomBytes(16))
    const first = genesis(id, GENESIS, nowMs)
    const log = new StoredTestLog(queries, id, first)
    await log.#insert([first])
    await queries.rows(
      `insert into log_head (log_id, sidecar, seq, hash, size, frontier, state, first_seq, last_at)
       values ($1, $2, 0, $3, 1, $4, 'open', 0, now())`,
      [id, sidecar, digestOf(first.hash), log.#frontier.nodes()],
    )
    return log
  }

  /** Seals and stores entries. */
  async append(drafts: readonly ShippedDraft[], nowMs = START_MS): Promise<Sealed[]> {
    const sealed = drafts.map(({ draft, content }) => {
      const commitment = content === undefined ? null : commit(randomBytes(SALT_BYTES), content)
      const one = seal(this.#head, draft, nowMs, commitment?.hash ?? null)
      this.#head = { log: this.id, seq: one.entry.seq, hash: one.hash }
      this.#frontier.push(leafHash(one.hash))
      return { one, salted: commitment?.salted ?? null }
    })
    await this.#insert(sealed.map(({ one }) => one))
    for (const [index, { one, salted }] of sealed.entries()) {
      const { user } = drafts[index]!
      if (salted !== null)
        await this.#queries.rows(
          `insert into exchange (received_at, log_id, seq, bytes)
           select received_at, log_id, seq, $3 from entry where log_id = $1 and seq = $2`,
          [this.id, one.entry.seq, salted],
        )
      if (user !== undefined)
        await this.#queries.rows(
          'insert into entry_user (log_id, seq, hash, clear) values ($1, $2, $3, $4)',
          [...[this.id, one.entry.seq, user.hash, user.clear]],
        )
    }
    const { seq, hash } = this.#head
    await this.#queries.rows(
      'update log_head set seq = $2, hash = $3, size = $4, frontier = $5, last_at = now() where log_id = $1',
      [this.id, seq, digestOf(hash), seq + 1, this.#frontier.nodes()],
    )
    return sealed.map(({ one }) => one)
  }

  #insert(sealed: readonly Sealed[]): Promise<void> {
    const rows = sealed.map(({ entry, bytes, hash }) => ({
      ...{ log: this.id, seq: entry.seq, hash, bytes },
      columns: columnsOf(new Map<string, unknown>(Object.entries(entry))),
    }))
    return insertEntries(this.#queries, rows)
  }
}
