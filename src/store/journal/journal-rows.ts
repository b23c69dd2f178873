// The rows that the database does not have: those of the journal, and over them those of the batch
// of transactions that runs. Values of the journal stay in the memory of their frame, outside V8's
// heap.

import type { Range, Row, Table } from '../tables/table.ts'
import { bytesOf, eachRow, type Frame, type RowChange, requireKey } from './frame.ts'

/** The newest state of a row. Without a frame it belongs to the running batch. */
interface UpperRow {
  /** Number of its frame. */
  readonly frame: number | null
  /** Null when the row was removed. */
  readonly value: Buffer | null
}

/** By key as latin1, which sorts as the bytes do. */
type UpperRows = Map<string, UpperRow>

/** A frame whose rows are held. */
interface HeldFrame {
  readonly number: number
  readonly bytes: number
  /** Table and name of each of its rows. */
  readonly keys: readonly (readonly [table: number, name: string])[]
}

/** A row that the batch changes, and what it replaces. */
interface Change {
  readonly table: number
  readonly key: Buffer
  readonly name: string
  readonly earlier: UpperRow | undefined
}

/** The database's part of a table. */
type DatabaseTable = Pick<Table, 'get' | 'peek' | 'rows' | 'keys' | 'size' | 'count'>

export class JournalRows {
  readonly #tables: readonly UpperRows[]
  /** Oldest first. */
  #frames: HeldFrame[] = []
  #bytes = 0
  /** Changes of the running batch, in order. */
  #changes: Change[] = []
  #isOpen = false

  /** @param tables number of sub-databases */
  constructor(tables: number) {
    this.#tables = Array.from({ length: tables }, () => new Map())
  }

  /** Bytes of the frames. */
  get bytes(): number {
    return this.#bytes
  }

  /** Number of frames. */
  get frames(): number {
    return this.#frames.length
  }

  /** Whether the rows of a transaction are seen that is not in the journal. */
  get isInTransaction(): boolean {
    return this.#isOpen || this.#changes.length > 0
  }

  /** Returns a sub-database as its readers see it. */
  table(index: number, stored: DatabaseTable): Table {
    const change = (key: Buffer, value: Buffer | null) => this.#change(index, key, value)
    return new LayeredTable(stored, this.#tables[index] as UpperRows, change)
  }

  /** @throws RangeError for a frame that is not a list of rows of the sub-databases */
  add({ number, body }: Frame): void {
    const keys: (readonly [number, string])[] = []
    eachRow(body, (table, key, value) => {
      const rows = this.#tables[table]
      if (rows === undefined) throw new RangeError(`the journal names an unknown table ${table}`)
      const name = key.toString('latin1')
      rows.set(name, { frame: number, value })
      keys.push([table, name])
    })
    const bytes = bytesOf(body)
    this.#frames.push({ number, keys, bytes })
    this.#bytes += bytes
  }

  /** Removes the rows of the frames up to this number, which the database has. */
  drop(frame: number): void {
    const kept = this.#frames.findIndex(({ number }) => number > frame)
    for (const { number, bytes, keys } of this.#frames.splice(0, kept < 0 ? Infinity : kept)) {
      this.#bytes -= bytes
      for (const [table, name] of keys) {
        const rows = this.#tables[table] as UpperRows
        // A newer frame may have the row, too.
        if (rows.get(name)?.frame === number) rows.delete(name)
      }
    }
  }

  clear(): void {
    this.drop(Infinity)
  }

  /**
   * Runs one transaction of the batch. It sees the rows of those before it. To be followed by
   * `take` before the event loop continues, because readers see the rows, too.
   * @throws what `write` throws, without its changes
   */
  run<Result>(write: () => Result): Result {
    const begin = this.#changes.length
    this.#isOpen = true
    try {
      return write()
    } catch (error) {
      this.#undo(begin)
      throw error
    } finally {
      this.#isOpen = false
    }
  }

  /** Ends the batch. @returns its changes, of which nothing is left */
  take(): RowChange[] {
    const newest = new Map<UpperRow, RowChange>()
    for (const { table, key, name } of this.#changes) {
      const row = this.#tables[table]?.get(name) as UpperRow
      newest.set(row, { table, key, value: row.value })
    }
    this.#undo(0)
    return [...newest.values()]
  }

  /** @throws Error outside a transaction, RangeError for a key that the database would refuse */
  #change(table: number, key: Buffer, value: Buffer | null): void {
    if (!this.#isOpen) throw new Error('writes belong inside a transaction')
    requireKey(key)
    const rows = this.#tables[table] as UpperRows
    const name = key.toString('latin1')
    this.#changes.push({ table, key, name, earlier: rows.get(name) })
    rows.set(name, { frame: null, value })
  }

  #undo(begin: number): void {
    for (const { table, name, earlier } of this.#changes.splice(begin).reverse()) {
      const rows = this.#tables[table] as UpperRows
      if (earlier === undefined) rows.delete(name)
      else rows.set(name, earlier)
    }
  }
}

/** One sub-database as its readers see it: the upper rows over those of the database. */

class LayeredTable implements Table {
  readonly #stored: DatabaseTable
  readonly #upper: ReadonlyMap<string, UpperRow>
  readonly #change: (key: Buffer, value: Buffer | null) => void

  constructor(
    stored: DatabaseTable,
    upper: ReadonlyMap<string, UpperRow>,
    change: (key: Buffer, value: Buffer | null) => void,
  ) {
    this.#stored = stored
    this.#upper = upper
    this.#change = change
  }

  get size(): number {
    return this.#stored.size + this.#difference(this.#names({}))
  }

  get(key: Buffer): Buffer | undefined {
    const upper = this.#find(key)
    return upper === undefined ? this.#stored.get(key) : (upper.value ?? undefined)
  }

  peek(key: Buffer): Buffer | undefined {
    const upper = this.#find(key)
    return upper === undefined ? this.#stored.peek(key) : (upper.value ?? undefined)
  }

  put(key: Buffer, value: Buffer): void {
    this.#change(key, value)
  }

  remove(key: Buffer): void {
    this.#change(key, null)
  }

  rows(range: Range = {}): Row[] {
    const names = this.#names(range)
    if (names.length === 0) return this.#stored.rows(range)
    return merge(this.#stored.rows(longer(range, names.length)), names, range, {
      nameOf: ({ key }) => key.toString('latin1'),
      upper: (name) => {
        const value = this.#upper.get(name)?.value
        return value == null ? null : { key: Buffer.from(name, 'latin1'), value }
      },
    })
  }

  keys(range: Range = {}): Buffer[] {
    const names = this.#names(range)
    if (names.length === 0) return this.#stored.keys(range)
    return merge(this.#stored.keys(longer(range, names.length)), names, range, {
      nameOf: (key) => key.toString('latin1'),
      upper: (name) => (this.#upper.get(name)?.value == null ? null : Buffer.from(name, 'latin1')),
    })
  }

  count(range: Pick<Range, 'start' | 'end'> = {}): number {
    return this.#stored.count(range) + this.#difference(this.#names(range))
  }

  /** Undefined when only the database can know the row. */
  #find(key: Buffer): UpperRow | undefined {
    return this.#upper.size === 0 ? undefined : this.#upper.get(key.toString('latin1'))
  }

  /** Keys of the upper rows within a range, sorted in its direction. */
  #names({ start, end, reverse = false }: Range): string[] {
    if (this.#upper.size === 0) return []
    const first = start?.toString('latin1') ?? null
    const last = end?.toString('latin1') ?? null
    const isWithin = (name: string) =>
      reverse
        ? (first === null || name <= first) && (last === null || name > last)
        : (first === null || name >= first) && (last === null || name < last)
    const names = [...this.#upper.keys()].filter(isWithin).sort()
    return reverse ? names.reverse() : names
  }

  /** How many more rows there are than in the database. */
  #difference(names: readonly string[]): number {
    let more = 0
    for (const name of names) {
      const isStored = this.#stored.peek(Buffer.from(name, 'latin1')) !== undefined
      more += Number(this.#upper.get(name)?.value !== null) - Number(isStored)
    }
    return more
  }
}

/** The database must give as many rows more as the upper ones may remove. */
const longer = (range: Range, names: number): Range =>
  range.limit === undefined ? range : { ...range, limit: range.limit + names }

/** Merges sorted rows of the database with the sorted names of the upper rows. */
function merge<Item>(
  stored: readonly Item[],
  names: readonly string[],
  { reverse = false, limit = Infinity }: Range,
  { nameOf, upper }: { nameOf(item: Item): string; upper(name: string): Item | null },
): Item[] {
  const merged: Item[] = []
  let at = 0
  const take = (name: string) => {
    const item = upper(name)
    if (item !== null) merged.push(item)
  }
  for (const item of stored) {
    if (merged.length >= limit) break
    const key = nameOf(item)
    for (let name = names[at]; name !== undefined && (reverse ? name > key : name < key); name = names[++at])
      take(name)
    if (names[at] === key) take(names[at++] as string)
    else merged.push(item)
  }
  for (; at < names.length && merged.length < limit; at++) take(names[at] as string)
  return merged.slice(0, limit)
}
