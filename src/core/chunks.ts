// Collects chunks of bytes and returns them as one buffer.

/**
 * Chunks kept apart before they are joined: each Buffer costs hundreds of bytes besides its own.
 */
const MAXIMUM_CHUNKS = 1024

/** Takes little more memory than the bytes, however small the chunks are. Linear in the bytes. */
export class Pieces {
  #recent: Buffer[] = []
  /** Chunks added before `#recent`, joined `MAXIMUM_CHUNKS` at a time. */
  #joined: Buffer[] = []

  add(chunk: Buffer): void {
    this.#recent.push(chunk)
    if (this.#recent.length < MAXIMUM_CHUNKS) return
    this.#joined.push(Buffer.concat(this.#recent))
    this.#recent = []
  }

  /** Returns all bytes and forgets them. A single chunk is returned without a copy. */
  take(): Buffer {
    const chunks = this.#joined.length === 0 ? this.#recent : [...this.#joined, ...this.#recent]
    this.#joined = []
    this.#recent = []
    return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
  }
}
