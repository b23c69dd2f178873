// One log of a fleet's database as a source of a verification: entries, checkpoints, and what the
// tables say besides.

import type { DumpedEntry } from '../audit/dump.ts'
import { Frontier } from '../audit/merkle.ts'
import type { Members } from '../audit/plain.ts'
import type { LogSurvey } from '../audit/survey.ts'
import { keyOf, NODE_BYTES, TileCollector, type TilePlace } from '../audit/tiles.ts'
import { differingColumn } from '../ledger/entry-columns.ts'
import { hashText } from '../ledger/hub-log.ts'
import type { StoredEntry, StoredLog, StoredLogs, StoredTile } from '../ledger/stored-logs.ts'
import {
  type LogReader,
  type LogSource,
  missingBeginning,
  type ReadResult,
} from '../store/verification/log-source.ts'
import { WITNESS_TYPES, type WitnessedSize } from './witnessed-roots.ts'

/** Entries of WITNESS_TYPES, in the order of the log. */
export type WitnessEntry = (seq: number, body: Buffer) => void

export class StoredLogSource implements LogSource {
  readonly #logs: StoredLogs
  /** As it was before the reading. Later entries are read as well. */
  readonly #log: StoredLog
  /** The columns of the entry that is read. */
  #columns: StoredEntry | null = null
  readonly #witnessed: readonly WitnessedSize[]
  readonly #onWitness: WitnessEntry
  /** Nodes of the entries that were read, which tiles repeat. */
  #nodes = new TileCollector('', 0)
  #wrongTile: string | null = null

  /**
   * @param witnessed roots of the log in the log of the hubs
   * @param onWitness receives valid entries
   */
  constructor(
    logs: StoredLogs,
    log: StoredLog,
    witnessed: readonly WitnessedSize[] = [],
    onWitness: WitnessEntry = () => {},
  ) {
    this.#logs = logs
    this.#log = log
    this.#witnessed = witnessed
    this.#onWitness = onWitness
  }

  /** A prune entry whose column says another type is found when it is read. */
  async survey(survey: LogSurvey): Promise<string | null> {
    const { log_id: log } = this.#log
    survey.acceptsUnknown = true
    this.#nodes = new TileCollector('', 0)
    for (const { size, root, isElsewhere } of this.#witnessed)
      survey.addWitnessed({ log, size, root }, isElsewhere)
    for (const { first_seq, prev, frontier } of await this.#logs.cuts(log))
      survey.addAnchor({
        size: first_seq,
        head: hashText(prev),
        frontier: Frontier.read(first_seq, frontier),
        unshipped: 0,
      })
    for (let size = 0; ; ) {
      const rows = await this.#logs.checkpoints(log, size)
      for (const { note } of rows) survey.addCheckpoint(note, null, true)
      const newest = rows.at(-1)
      if (newest === undefined) break
      size = newest.size
    }
    await this.#each('prune', ({ body }) => {
      survey.addEntry(body)
      return true
    })
    const first = await this.#logs.firstHash(log)
    return first === null ? null : hashText(first)
  }

  async read(reader: LogReader): Promise<string | null> {
    const { seq: last } = this.#log
    await this.#each(null, (row) => {
      this.#columns = row
      reader.progress(Math.min(1, row.seq / Math.max(1, last)))
      const entry: DumpedEntry = { hash: hashText(row.hash), bytes: row.body }
      return reader.entry(entry, row.seq)
    })
    this.#wrongTile = await this.#findWrongTile()
    return null
  }

  /** Compares what is stored of the tree with the entries that were read. */
  async #findWrongTile(): Promise<string | null> {
    const expected = new Map(this.#nodes.appends().map((append) => [keyOf(append), append]))
    for (let after: StoredTile | null = null; ; ) {
      const tiles: StoredTile[] = await this.#logs.tiles(this.#log.log_id, after)
      for (const tile of tiles) {
        const nodes = expected.get(keyOf(tile))
        // The months of its entries were dropped, or the log has grown since.
        if (nodes === undefined) continue
        const start = nodes.position * NODE_BYTES
        const stored = tile.hashes.subarray(start, start + nodes.hashes.length)
        if (!stored.equals(nodes.hashes)) return wrongTile(tile)
        expected.delete(keyOf(tile))
      }
      after = tiles.at(-1) ?? null
      if (after === null) break
    }
    const [missing] = expected.values()
    return missing === undefined ? null : wrongTile(missing)
  }

  async #each(type: string | null, take: (row: StoredEntry) => boolean): Promise<void> {
    let from = 0
    for (;;) {
      const rows = await this.#logs.page(this.#log.log_id, from, type)
      if (!rows.every(take)) return
      const newest = rows.at(-1)
      if (newest === undefined) return
      from = newest.seq + 1
    }
  }

  /** Compares the columns, by which entries are found, with what the entry says. */
  checkEntry(seq: number, members: Members): string | null {
    const row = this.#columns
    if (row === null || row.seq !== seq) return null
    if (WITNESS_TYPES.has(members.get('type'))) this.#onWitness(seq, row.body)
    if (members.get('log') !== this.#log.log_id) return 'the column log_id differs from the entry'
    const name = differingColumn(row, members)
    return name === null ? null : `the column ${name} differs from the entry`
  }

  /** Tiles are compared after the reading. */
  matchesStoredNode(level: number, index: number, node: Buffer): boolean {
    this.#nodes.add(level, index, node)
    return true
  }

  wasPruned(): boolean {
    return false
  }

  checkWhole({ beginning, firstSeq, head, root }: ReadResult): string | null {
    if (beginning === 'unanchored') return missingBeginning(firstSeq)
    if (this.#wrongTile !== null) return this.#wrongTile
    const { seq, hash, frontier } = this.#log
    if (head === null || head.seq < seq)
      return `the entries end at ${head?.seq ?? 'none'}, and log_head knows entry ${seq}`
    if (head.seq > seq) return null
    if (head.hash !== hashText(hash)) return `log_head has another hash of entry ${seq}`
    const stored = Frontier.read(seq + 1, frontier)
      .root()
      .toString('base64')
    return stored === root ? null : 'the tree in log_head is not that of the entries'
  }

  async close(): Promise<void> {}
}

const wrongTile = (place: TilePlace): string =>
  `tile ${place.index} of level ${place.level} differs from the entries`
