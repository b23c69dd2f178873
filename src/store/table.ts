// One sub-database: bytes to bytes, in the order of the keys. Sees to it that writes happen inside transactions;
// knows nothing of what is kept.

import type { Database } from 'lmdb'

export interface Range {
  /** Inclusive; the first key, or the last when reverse, if left out. */
  readonly start?: Buffer
  /** Exclusive. */
  readonly end?: Buffer
  readonly reverse?: boolean
  readonly limit?: number
}

export interface Row {
  readonly key: Buffer
  readonly value: Buffer
}

/** One sub-database. Reads outside a transaction see one snapshot until the next await or `refresh`. */
export interface Table {
  get(key: Buffer): Buffer | undefined
  /** As `get`, but the value is there only until the next `peek`: for those who look at millions. */
  peek(key: Buffer): Buffer | undefined
  /** Only inside `Environment.transaction`, whose reads see it at once. @throws Error elsewhere */
  put(key: Buffer, value: Buffer): void
  /** As `put`; removing what is not there is fine. */
  remove(key: Buffer): void
  /** Copies, so that rows may be written while they are gone through. Bound it where the table is not small. */
  rows(range?: Range): Row[]
  keys(range?: Range): Buffer[]
  /** How many rows there are by the database's own account, which goes through none of them. */
  readonly size: number
  /** Goes through all keys between the bounds. */
  count(range?: Pick<Range, 'start' | 'end'>): number
}

export class LmdbTable implements Table {
  readonly #database: Database<Buffer, Buffer>
  readonly #isWriting: () => boolean
  #peeked = Buffer.alloc(0)

  constructor(database: Database<Buffer, Buffer>, isWriting: () => boolean) {
    this.#database = database
    this.#isWriting = isWriting
  }

  get size(): number {
    return (this.#database.getStats() as { readonly entryCount: number }).entryCount
  }

  get(key: Buffer): Buffer | undefined {
    return this.#database.get(key)
  }

  peek(key: Buffer): Buffer | undefined {
    // The library's own, which is longer than its `length`, or the very pages: of use until the next read of any table.
    const shared = this.#database.getBinaryFast(key)
    if (shared === undefined) return undefined
    const bytes = shared.subarray(0, shared.length)
    if (this.#peeked.length < bytes.length) this.#peeked = Buffer.allocUnsafeSlow(2 * bytes.length)
    this.#peeked.set(bytes)
    return this.#peeked.subarray(0, bytes.length)
  }

  put(key: Buffer, value: Buffer): void {
    this.#assertWriting()
    // Inside a transaction it is done when it returns, and throws when it fails; the promise says nothing more.
    void this.#database.put(key, value)
  }

  remove(key: Buffer): void {
    this.#assertWriting()
    void this.#database.remove(key)
  }

  rows(range: Range = {}): Row[] {
    return Array.from(this.#database.getRange(range))
  }

  keys(range: Range = {}): Buffer[] {
    return Array.from(this.#database.getKeys(range))
  }

  count(range: Pick<Range, 'start' | 'end'> = {}): number {
    return this.#database.getKeysCount(range)
  }

  #assertWriting(): void {
    // The library would take it, and write it some time later in a transaction of its own.
    if (!this.#isWriting()) throw new Error('writes belong inside a transaction')
  }
}
