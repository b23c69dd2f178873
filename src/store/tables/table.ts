// One sub-database: maps bytes to bytes, ordered by key. Allows writes inside transactions only.

import type { Database } from 'lmdb'

export interface Range {
  /** Inclusive; by default the first key, or the last if reverse. */
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

/**
 * One sub-database. Reads outside a transaction see one snapshot until the next await or `refresh`.
 */
export interface Table {
  get(key: Buffer): Buffer | undefined
  /**
   * Works like `get`, but the value is valid only until the next `peek`; for reading millions of
   * rows.
   */
  peek(key: Buffer): Buffer | undefined
  /**
   * Allowed only inside `Environment.transaction`, whose reads see it at once.
   * @throws Error elsewhere
   */
  put(key: Buffer, value: Buffer): void
  /** Works like `put`; a missing key is fine. */
  remove(key: Buffer): void
  /**
   * Returns copies, so rows may be written during iteration. Limit it unless the table is small.
   */
  rows(range?: Range): Row[]
  keys(range?: Range): Buffer[]
  /** Number of rows, from the database's own count. */
  readonly size: number
  /** Counts the keys between the bounds, one by one. */
  count(range?: Pick<Range, 'start' | 'end'>): number
}

export class LmdbTable implements Table {
  readonly #open: () => Database<Buffer, Buffer>
  readonly #isWriting: () => boolean
  #peeked = Buffer.alloc(0)

  /** @param open returns the database, which may be opened anew between two calls */
  constructor(open: () => Database<Buffer, Buffer>, isWriting: () => boolean) {
    this.#open = open
    this.#isWriting = isWriting
  }

  get size(): number {
    return (this.#open().getStats() as { readonly entryCount: number }).entryCount
  }

  get(key: Buffer): Buffer | undefined {
    return this.#open().get(key)
  }

  peek(key: Buffer): Buffer | undefined {
    // The library's own buffer, longer than its `length`, or the very pages: valid until the next
    // read of any table.
    const shared = this.#open().getBinaryFast(key)
    if (shared === undefined) return undefined
    const bytes = shared.subarray(0, shared.length)
    if (this.#peeked.length < bytes.length) this.#peeked = Buffer.allocUnsafeSlow(2 * bytes.length)
    this.#peeked.set(bytes)
    return this.#peeked.subarray(0, bytes.length)
  }

  put(key: Buffer, value: Buffer): void {
    this.#assertWriting()
    // In a transaction this completes, or throws, before it returns; the promise adds nothing.
    void this.#open().put(key, value)
  }

  remove(key: Buffer): void {
    this.#assertWriting()
    void this.#open().remove(key)
  }

  rows(range: Range = {}): Row[] {
    return Array.from(this.#open().getRange(range))
  }

  keys(range: Range = {}): Buffer[] {
    // The library changes the object that it is given.
    return Array.from(this.#open().getKeys({ ...range }))
  }

  count(range: Pick<Range, 'start' | 'end'> = {}): number {
    return this.#open().getKeysCount(range)
  }

  #assertWriting(): void {
    // The library would accept the write and commit it later, in its own transaction.
    if (!this.#isWriting()) throw new Error('writes belong inside a transaction')
  }
}
