// The lines of a file that comes in chunks. Holds the pieces of one line and puts them together once; knows nothing
// of what lines mean, nor where chunks come from.

const LINE_FEED = 0x0a
/** Enough of a line to tell what it is going to be. */
const BEGINNING_BYTES = 32

/** A line went on beyond what its beginning allows. */
export class LongLineError extends Error {
  override readonly name = 'LongLineError'
}

/** Cuts chunks into lines, in time linear in their bytes. Not safe to share. */
export class LineSplitter {
  readonly #limitOf: (beginning: Buffer) => number
  #pieces: Buffer[] = []
  #bytes = 0
  /** Null until enough of the line is there to tell. */
  #limitBytes: number | null = null

  /** @param limitOf bytes that a line with this beginning may have; what is held may pass it by one chunk */
  constructor(limitOf: (beginning: Buffer) => number) {
    this.#limitOf = limitOf
  }

  /**
   * The lines that end in the next chunk, without their line feeds; most are views of it.
   * @throws LongLineError when the line that has begun is too long already
   */
  *push(chunk: Buffer): Generator<Buffer, void, undefined> {
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      const piece = chunk.subarray(start, end)
      start = end + 1
      yield this.#pieces.length === 0 ? piece : this.#join(piece)
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start))
  }

  /** What came after the last line feed; null when nothing did. */
  end(): Buffer | null {
    return this.#pieces.length === 0 ? null : this.#join(Buffer.alloc(0))
  }

  #join(last: Buffer): Buffer {
    const line = Buffer.concat([...this.#pieces, last], this.#bytes + last.length)
    this.#pieces = []
    this.#bytes = 0
    this.#limitBytes = null
    return line
  }

  #keep(piece: Buffer): void {
    this.#pieces.push(piece)
    this.#bytes += piece.length
    if (this.#limitBytes === null && this.#bytes >= BEGINNING_BYTES) {
      this.#limitBytes = this.#limitOf(Buffer.concat(this.#pieces).subarray(0, BEGINNING_BYTES))
    }
    if (this.#bytes > (this.#limitBytes ?? BEGINNING_BYTES)) throw new LongLineError('the line is too long')
  }
}
