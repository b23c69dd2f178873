// Collects chunks of bytes and returns them as one buffer.

import type { Steps } from './steps.ts'

/** Bytes that one step copies: a few milliseconds where memory is new to the process. */
const BYTES_OF_STEP = 1024 * 1024

/**
 * Chunks kept apart before they are joined: each Buffer costs hundreds of bytes besides its own.
 */
const MAXIMUM_CHUNKS = 1024

/** Takes little more memory than the bytes, however small the chunks are. Linear in the bytes. */
export class Pieces {
  #recent: Buffer[] = []
  /** Chunks added before `#recent`, joined `MAXIMUM_CHUNKS` at a time. */
  #joined: Buffer[] = []
  #bytes = 0

  /** Bytes so far. */
  get bytes(): number {
    return this.#bytes
  }

  add(chunk: Buffer): void {
    this.#bytes += chunk.length
    this.#recent.push(chunk)
    if (this.#recent.length < MAXIMUM_CHUNKS) return
    this.#joined.push(Buffer.concat(this.#recent))
    this.#recent = []
  }

  /** Returns all bytes and forgets them. A single chunk is returned without a copy. */
  take(): Buffer {
    const chunks = this.#takeChunks()
    return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
  }

  /** Works like `take`, in steps. Forgets the bytes at once. */
  takeSteps(): Steps<Buffer> {
    return joinSteps(this.#takeChunks())
  }

  #takeChunks(): Buffer[] {
    const chunks = this.#joined.length === 0 ? this.#recent : [...this.#joined, ...this.#recent]
    this.#joined = []
    this.#recent = []
    this.#bytes = 0
    return chunks
  }
}

/** Returns, in steps, the bytes of all chunks. A single chunk is returned without a copy. */
export function* joinSteps(chunks: readonly Buffer[]): Steps<Buffer> {
  if (chunks.length === 1) return chunks[0]!
  const joined = Buffer.allocUnsafeSlow(chunks.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  let stepEnd = BYTES_OF_STEP
  for (const chunk of chunks) {
    for (let from = 0; from < chunk.length; ) {
      const copied = chunk.copy(joined, at, from, from + stepEnd - at)
      from += copied
      at += copied
      if (at < stepEnd) continue
      stepEnd = at + BYTES_OF_STEP
      yield
    }
  }
  return joined
}
