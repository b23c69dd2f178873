// Detection on a text that arrives in pieces: segments between cuts, each searched with a little of what came before.

import type { Finding } from '../../core/finding.ts'
import { Cutter } from './cuts.ts'
import { DEFAULT_KINDS, type KindSet } from './kinds.ts'
import { scanSegment } from './scan.ts'

/** Characters before a segment that a detector may look at. */
const CONTEXT_CHARACTERS = 64

/**
 * Finds what `detect` finds on the whole text, for every way to cut it into pieces. Offsets are UTF-16 and count from
 * the beginning of the stream. Holds at most one segment.
 */
export class StreamDetector {
  readonly #kinds: KindSet
  readonly #cutter = new Cutter()
  /** Context, then the segment that has not ended; begins at offset #start. */
  #text = ''
  #start = 0
  #safe = 0

  constructor(kinds: KindSet = DEFAULT_KINDS) {
    this.#kinds = kinds
  }

  /** Everything before this offset is final and may leave. */
  get safe(): number {
    return this.#safe
  }

  /** Takes a piece; returns the findings that have become certain, in order. */
  push(piece: string): Finding[] {
    this.#text += piece
    const findings: Finding[] = []
    this.#cutter.feed(this.#text.slice(this.#safe - this.#start), (end) => this.#scan(end, findings))
    this.#forget()
    return findings
  }

  /** The text is over: searches what is left. */
  finish(): Finding[] {
    const findings: Finding[] = []
    this.#scan(this.#start + this.#text.length, findings)
    return findings
  }

  #scan(end: number, findings: Finding[]): void {
    const contextFrom = Math.max(this.#start, this.#safe - CONTEXT_CHARACTERS)
    const text = this.#text.slice(contextFrom - this.#start, end - this.#start)
    scanSegment(text, this.#safe - contextFrom, contextFrom, this.#kinds, findings)
    this.#safe = end
  }

  #forget(): void {
    const keepFrom = Math.max(this.#start, this.#safe - CONTEXT_CHARACTERS)
    this.#text = this.#text.slice(keepFrom - this.#start)
    this.#start = keepFrom
  }
}
