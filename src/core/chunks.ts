// Bytes that come piece by piece and are needed in one.

/** Pieces that are kept as they come; so many are put together, for each takes hundreds of bytes beside its own. */
const MAX_PIECES = 1024

/** Takes no more memory than the bytes in it, and a part of that, however small the pieces are. Linear in the bytes. */
export class Pieces {
  #last: Buffer[] = []
  /** What came before those, put together by so many. */
  #before: Buffer[] = []

  add(piece: Buffer): void {
    this.#last.push(piece)
    if (this.#last.length < MAX_PIECES) return
    this.#before.push(Buffer.concat(this.#last))
    this.#last = []
  }

  /** All of them in one, and from now on none. A single one is given out as it came. */
  take(): Buffer {
    const pieces = this.#before.length === 0 ? this.#last : [...this.#before, ...this.#last]
    this.#before = []
    this.#last = []
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
  }
}
