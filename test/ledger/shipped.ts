// Logs of sidecars as a hub stores them, with the checkpoints that their gateways sign.

import { canonicalize } from '../../src/audit/canonical.ts'
import { genesis, hashEntry, type Sealed, seal } from '../../src/audit/chain.ts'
import { originOf, signCheckpoint } from '../../src/audit/checkpoint.ts'
import type { EntryDraft, SealedEntry } from '../../src/audit/entry.ts'
import { Frontier, leafHash } from '../../src/audit/merkle.ts'
import { readSigner, type Signer } from '../../src/audit/note.ts'
import { TileCollector } from '../../src/audit/tiles.ts'
import type { Queries } from '../../src/ledger/database.ts'
import { columnsOf, digestOf, insertEntries } from '../../src/ledger/entry-columns.ts'
import { storeTiles } from '../../src/ledger/log-tiles.ts'
import { newSigningKey } from '../../src/store/files/signingkey.ts'
import { bootDraft, requestDraft } from '../audit/drafts.ts'

const START_MS = Date.UTC(2026, 2, 1)

export const newSigner = (log: string): Signer => readSigner(originOf(log), newSigningKey())
export const logId = (number: number): string => `01980000-0000-7000-8000-${String(number).padStart(12, '0')}`

/** A log that a sidecar seals and a hub stores. */
export class ShippedLog {
  readonly id: string
  readonly sidecar: string
  readonly signer: Signer
  readonly sealed: Sealed[] = []
  readonly #frontiers = [Frontier.empty()]
  #shipped = 0
  #first: Frontier | null = null

  /** It begins with a genesis and a boot entry. */
  constructor(id: string, sidecar: string) {
    this.id = id
    this.sidecar = sidecar
    this.signer = newSigner(id)
    this.#take(
      genesis(id, { type: 'genesis', product: 'sidegate', continues: null, actor: 'gateway' }, START_MS),
    )
    this.add(bootDraft(this.signer.verifier.text))
  }

  get size(): number {
    return this.sealed.length
  }

  add(draft: EntryDraft = requestDraft()): this {
    const { hash } = this.sealed.at(-1)!
    const head = { log: this.id, seq: this.size - 1, hash }
    this.#take(seal(head, draft, START_MS + this.size, null))
    return this
  }

  addCalls(count: number): this {
    for (let call = 0; call < count; call++) this.add(requestDraft())
    return this
  }

  /** Adds an entry of the format of another release. */
  addOfVersion(v: number): this {
    const { entry } = new ShippedLog(this.id, this.sidecar).sealed[0]!
    const { hash: prev } = this.sealed.at(-1)!
    const { hash: _, ...said } = { ...entry, seq: this.size, prev, type: 'unheard', v }
    const bytes = Buffer.from(canonicalize(said))
    const hash = hashEntry(bytes)
    this.#take({ entry: { ...said, hash } as unknown as SealedEntry, bytes, hash })
    return this
  }

  /** Prunes what a hub does not have yet, before it ships anything. */
  prune(first: number): this {
    this.#first = this.#frontiers[first]!
    this.#shipped = first
    return this.add({
      ...{ type: 'prune', first_seq: first, reason: 'age', actor: 'gateway' },
      head: this.sealed[first - 1]!.hash,
      frontier: this.#first.encoded(),
    })
  }

  checkpoint(size = this.size, signer = this.signer): string {
    const root = this.#frontiers[size]!.root()
    const head = this.sealed[size - 1]!.hash
    return signCheckpoint({ log: this.id, size, root, head, time: null }, signer)
  }

  /** Stores what is not stored yet. */
  async ship(queries: Queries): Promise<void> {
    const first = this.#first ?? Frontier.empty()
    const fresh = this.sealed.slice(this.#shipped)
    const frontier = this.#frontiers[this.#shipped]!.copy()
    const tiles = new TileCollector(this.id, first.size)
    for (const { hash } of fresh) frontier.push(leafHash(hash), tiles.add)
    const { hash } = this.sealed.at(-1)!
    await queries.rows(
      `insert into log_head (log_id, sidecar, seq, hash, size, frontier, state, first_seq, first_frontier, last_at)
       values ($1, $2, $3::bigint, $4, $3::bigint + 1, $5, 'open', $6, $7, now())
       on conflict (log_id) do update set seq = $3, hash = $4, size = $3::bigint + 1, frontier = $5`,
      [
        ...[this.id, this.sidecar, this.size - 1, digestOf(hash), frontier.nodes()],
        ...[first.size, first.nodes()],
      ],
    )
    await insertEntries(
      queries,
      fresh.map(({ entry, bytes, hash }) => ({
        ...{ log: this.id, seq: entry.seq, hash, bytes },
        columns: columnsOf(new Map(Object.entries(entry))),
      })),
    )
    await storeTiles(queries, tiles.appends())
    this.#shipped = this.size
  }

  #take(sealed: Sealed): void {
    const frontier = this.#frontiers.at(-1)!.copy()
    frontier.push(leafHash(sealed.hash))
    this.#frontiers.push(frontier)
    this.sealed.push(sealed)
  }
}
