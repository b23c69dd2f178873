// One sub-database as its readers see it: the rows of the running transaction, over those of the
// journal, over those of the database.

import type { Range, Row, Table } from '../tables/table.ts'
import type { JournaledRows } from './overlay.ts'
import type { StagedTable } from './staged-rows.ts'

export interface TableLayers {
  readonly stored: Pick<Table, 'get' | 'peek' | 'rows' | 'keys' | 'size' | 'count'>
  readonly journaled: JournaledRows
  readonly staged: StagedTable
  /** @throws Error outside a transaction */
  change(key: Buffer, value: Buffer | null): void
}

const BYTES = 'latin1'

export class LayeredTable implements Table {
  readonly #layers: TableLayers

  constructor(layers: TableLayers) {
    this.#layers = layers
  }

  get size(): number {
    return this.#layers.stored.size + this.#difference(this.#names({}))
  }

  get(key: Buffer): Buffer | undefined {
    const upper = this.#upper(key)
    return upper === undefined ? this.#layers.stored.get(key) : (upper ?? undefined)
  }

  peek(key: Buffer): Buffer | undefined {
    const upper = this.#upper(key)
    return upper === undefined ? this.#layers.stored.peek(key) : (upper ?? undefined)
  }

  put(key: Buffer, value: Buffer): void {
    this.#layers.change(key, value)
  }

  remove(key: Buffer): void {
    this.#layers.change(key, null)
  }

  rows(range: Range = {}): Row[] {
    const names = this.#names(range)
    if (names.length === 0) return this.#layers.stored.rows(range)
    return merge(this.#layers.stored.rows(longer(range, names.length)), names, range, {
      nameOf: ({ key }) => key.toString('latin1'),
      upper: (name) => {
        const value = this.#upperNamed(name)
        return value == null ? null : { key: Buffer.from(name, BYTES), value }
      },
    })
  }

  keys(range: Range = {}): Buffer[] {
    const names = this.#names(range)
    if (names.length === 0) return this.#layers.stored.keys(range)
    return merge(this.#layers.stored.keys(longer(range, names.length)), names, range, {
      nameOf: (key) => key.toString('latin1'),
      upper: (name) => (this.#upperNamed(name) == null ? null : Buffer.from(name, BYTES)),
    })
  }

  count(range: Pick<Range, 'start' | 'end'> = {}): number {
    return this.#layers.stored.count(range) + this.#difference(this.#names(range))
  }

  /** Undefined when only the database can know the row; null when it was removed. */
  #upper(key: Buffer): Buffer | null | undefined {
    const { journaled, staged } = this.#layers
    return journaled.size + staged.size === 0 ? undefined : this.#upperNamed(key.toString('latin1'))
  }

  #upperNamed(name: string): Buffer | null | undefined {
    const { journaled, staged } = this.#layers
    return (staged.get(name) ?? journaled.get(name))?.value
  }

  /** Keys of the upper layers within a range, sorted in its direction. */
  #names({ start, end, reverse = false }: Range): string[] {
    const { journaled, staged } = this.#layers
    if (journaled.size + staged.size === 0) return []
    const first = start?.toString('latin1') ?? null
    const last = end?.toString('latin1') ?? null
    const isWithin = (name: string) =>
      reverse
        ? (first === null || name <= first) && (last === null || name > last)
        : (first === null || name >= first) && (last === null || name < last)
    const names = [...journaled.keys()].filter(isWithin)
    for (const name of staged.keys()) if (isWithin(name) && !journaled.has(name)) names.push(name)
    names.sort()
    return reverse ? names.reverse() : names
  }

  /** How many more rows there are than in the database. */
  #difference(names: readonly string[]): number {
    let more = 0
    for (const name of names) {
      const isStored = this.#layers.stored.peek(Buffer.from(name, BYTES)) !== undefined
      more += Number(this.#upperNamed(name) !== null) - Number(isStored)
    }
    return more
  }
}

/** The database must give as many rows more as the upper layers may remove. */
const longer = (range: Range, names: number): Range =>
  range.limit === undefined ? range : { ...range, limit: range.limit + names }

/** Merges sorted rows of the database with the sorted names of the upper layers. */
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
