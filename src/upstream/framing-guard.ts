// Bounds the bytes of an answer that are no part of its body: the head, and the sizes and
// extensions of chunks. The parser reads them for as long as they come (RFC 9112 §4, §7.1).

import type { Socket } from 'node:net'

/** Maximum bytes before the head of an answer is complete. */
const MAXIMUM_HEAD_BYTES = 256 * 1024
/** Maximum bytes of head and framing of one answer: six bytes for each of millions of chunks. */
const MAXIMUM_FRAMING_BYTES = 16 * 1024 ** 2

/** The answer that a connection carries. */
export interface FramedAnswer {
  readonly hasHead: boolean
  /** Bytes of the body so far. */
  readonly bodyBytes: number
}

/** A connection with one answer at a time. */
export class FramingGuard {
  #socket: Socket | null = null
  #answer: FramedAnswer | null = null
  #beforeBytes = 0

  /** Watches a new socket. */
  watch(socket: Socket): void {
    this.#socket = socket
    socket.on('readable', () => {
      if (this.#isExceeded(socket))
        socket.destroy(new Error('the head or framing of the answer is too large'))
    })
  }

  /** An answer begins with the next byte. */
  expect(answer: FramedAnswer): void {
    this.#answer = answer
    this.#beforeBytes = this.#socket?.bytesRead ?? 0
  }

  #isExceeded(socket: Socket): boolean {
    const answer = this.#answer
    if (answer === null) return false
    // What the socket has read and not handed on is counted too; it holds some 64 KiB.
    const bytes = socket.bytesRead - this.#beforeBytes - answer.bodyBytes
    return bytes > (answer.hasHead ? MAXIMUM_FRAMING_BYTES : MAXIMUM_HEAD_BYTES)
  }
}
