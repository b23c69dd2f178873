// The rows that are in the journal and not in the database yet. Values stay in the memory of their
// frame, outside V8's heap.

import { eachRow, type Frame } from './frame.ts'

/** The newest state of a row. */
interface JournaledRow {
  /** Number of its frame. */
  readonly frame: number
  /** Null when the row was removed. */
  readonly value: Buffer | null
}

/** Rows of one sub-database by key; the name of a key is its bytes as latin1, which sort alike. */
export type JournaledRows = ReadonlyMap<string, JournaledRow>

/** A frame whose rows are held. */
interface HeldFrame {
  readonly number: number
  readonly bytes: number
  /** Table and name of each of its rows. */
  readonly keys: readonly (readonly [table: number, name: string])[]
}

export class Overlay {
  readonly #tables: readonly Map<string, JournaledRow>[]
  /** Oldest first. */
  #frames: HeldFrame[] = []
  #bytes = 0

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

  rows(table: number): JournaledRows {
    return this.#tables[table] as JournaledRows
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
    this.#frames.push({ number, keys, bytes: body.length })
    this.#bytes += body.length
  }

  /** Removes the rows of the frames up to this number, which the database has. */
  drop(frame: number): void {
    const kept = this.#frames.findIndex(({ number }) => number > frame)
    for (const { number, bytes, keys } of this.#frames.splice(0, kept < 0 ? Infinity : kept)) {
      this.#bytes -= bytes
      for (const [table, name] of keys) {
        const rows = this.#tables[table] as Map<string, JournaledRow>
        // A newer frame may have the row, too.
        if (rows.get(name)?.frame === number) rows.delete(name)
      }
    }
  }

  clear(): void {
    this.drop(Infinity)
  }
}
