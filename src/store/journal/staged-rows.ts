// The rows that the transactions of one batch change. Each transaction sees those of the ones
// before it; one that throws leaves none.

import { type RowChange, requireKey } from './frame.ts'

/** By key as latin1; null removes the row. */
export type StagedTable = ReadonlyMap<string, RowChange>

/** How to undo a change: the earlier one of the same row, if any. */
interface Undo {
  readonly table: number
  readonly name: string
  readonly earlier: RowChange | undefined
}

export class StagedRows {
  readonly #tables: readonly Map<string, RowChange>[]
  #undo: Undo[] = []
  #isOpen = false

  constructor(tables: number) {
    this.#tables = Array.from({ length: tables }, () => new Map())
  }

  rows(table: number): StagedTable {
    return this.#tables[table] as StagedTable
  }

  /** Runs one transaction. @throws what `write` throws, without its changes */
  run<Result>(write: () => Result): Result {
    this.#isOpen = true
    this.#undo = []
    try {
      return write()
    } catch (error) {
      for (const { table, name, earlier } of this.#undo.reverse()) this.#restore(table, name, earlier)
      throw error
    } finally {
      this.#isOpen = false
    }
  }

  /** @throws Error outside a transaction */
  change(table: number, key: Buffer, value: Buffer | null): void {
    if (!this.#isOpen) throw new Error('writes belong inside a transaction')
    requireKey(key)
    const rows = this.#tables[table] as Map<string, RowChange>
    const name = key.toString('latin1')
    this.#undo.push({ table, name, earlier: rows.get(name) })
    rows.set(name, { table, key, value })
  }

  /** Returns all changes, and begins the next batch. */
  take(): RowChange[] {
    const changes: RowChange[] = []
    for (const rows of this.#tables) {
      for (const change of rows.values()) changes.push(change)
      rows.clear()
    }
    return changes
  }

  #restore(table: number, name: string, earlier: RowChange | undefined): void {
    const rows = this.#tables[table] as Map<string, RowChange>
    if (earlier === undefined) rows.delete(name)
    else rows.set(name, earlier)
  }
}
