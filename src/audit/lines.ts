// Splits a file that arrives in chunks into lines. Knows neither the meaning of lines nor the
// source of the chunks.

const LINE_FEED = 0x0a
/** Bytes of a line that determine its type. */
const BEGINNING_BYTES = 32

/** A line is longer than its beginning allows. */
export class LongLineError extends Error {
  override readonly name = 'LongLineError'
}

/** Cuts chunks into lines, in time linear in their bytes. */
export class LineSplitter {
  readonly #limitOf: (beginning: Buffer) => number
  #parts: Buffer[] = []
  #bytes = 0
  /** Null until the beginning of the line is complete. */
  #limitBytes: number | null = null

  /**
   * @param limitOf returns the longest line with this beginning, bytes; memory may exceed it by one
   * chunk
   */
  constructor(limitOf: (beginning: Buffer) => number) {
    this.#limitOf = limitOf
  }

  /**
   * Yields the lines that end in the next chunk, without their line feeds; most are views of it.
   * @throws LongLineError when the unfinished line is already too long
   */
  *push(chunk: Buffer): Generator<Buffer, void, undefined> {
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      const part = chunk.subarray(start, end)
      start = end + 1
      yield this.#parts.length === 0 ? part : this.#join(part)
    }
    if (start < chunk.length) this.#append(chunk.subarray(start))
  }

  /** Returns the bytes after the last line feed; null if there are none. */
  end(): Buffer | null {
    return this.#parts.length === 0 ? null : this.#join(Buffer.alloc(0))
  }

  #join(last: Buffer): Buffer {
    const line = Buffer.concat([...this.#parts, last], this.#bytes + last.length)
    this.#parts = []
    this.#bytes = 0
    this.#limitBytes = null
    return line
  }

  #append(part: Buffer): void {
    this.#parts.push(part)
    this.#bytes += part.length
    if (this.#limitBytes === null && this.#bytes >= BEGINNING_BYTES) {
      this.#limitBytes = this.#limitOf(Buffer.concat(this.#parts).subarray(0, BEGINNING_BYTES))
    }
    if (this.#bytes > (this.#limitBytes ?? BEGINNING_BYTES)) throw new LongLineError('the line is too long')
  }
}
