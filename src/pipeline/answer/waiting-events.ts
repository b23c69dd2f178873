// Keeps the events of a stream that wait for text which is held back: the ends of a block, until
// the next event shows whether another block continues its text, and citations, until their text
// is sent.

import { endOfCitations } from '../../chat/citations.ts'
import type { StreamChunk } from '../../chat/stream-chunk.ts'
import type { GrowingTexts } from './growing-texts.ts'
import type { Written } from './stream-writer.ts'

/** Maximum events that end one block. */
const MAXIMUM_ENDS = 8

/** Maximum events with citations. */
const MAXIMUM_CITED = 256

/** A chunk with the data and the event that it was read from. */
export interface ReceivedChunk {
  readonly chunk: StreamChunk
  readonly data: string
  readonly written: Written
}

/** The events that end a block. */
interface EndingBlock {
  readonly choice: number
  readonly events: ReceivedChunk[]
}

export class WaitingEvents {
  readonly #texts: GrowingTexts
  #ending: EndingBlock | null = null
  #cited: ReceivedChunk[] = []

  constructor(texts: GrowingTexts) {
    this.#texts = texts
  }

  get isEmpty(): boolean {
    return this.#ending === null && this.#cited.length === 0
  }

  /**
   * Keeps a chunk that ends a block whose text the next block may continue. @returns whether it did
   */
  takesEnd(received: ReceivedChunk): boolean {
    const { endsBlock, error, isLast } = received.chunk
    if (endsBlock === undefined || error || isLast) return false
    const ending = this.#ending
    if (ending === null) {
      if (!this.#texts.holdsBack(endsBlock)) return false
      this.#ending = { choice: endsBlock, events: [received] }
      return true
    }
    if (ending.choice !== endsBlock || ending.events.length === MAXIMUM_ENDS) return false
    ending.events.push(received)
    return true
  }

  /** Returns the end of a block that waits, once; null without one. */
  takeEnd(): EndingBlock | null {
    const ending = this.#ending
    this.#ending = null
    return ending
  }

  /** Keeps a chunk whose citations name text that is held back. @returns whether it did */
  takesCitation(received: ReceivedChunk): boolean {
    if (this.#cited.length === MAXIMUM_CITED || !this.#citesHeldText(received)) return false
    this.#cited.push(received)
    return true
  }

  /** Returns the citations whose text is sent, once. */
  takeCited(): readonly ReceivedChunk[] {
    if (this.#cited.length === 0) return this.#cited
    const { sent = [], held = [] } = Object.groupBy(this.#cited, (one) =>
      this.#citesHeldText(one) ? 'held' : 'sent',
    )
    this.#cited = held
    return sent
  }

  #citesHeldText({ chunk: { cited = [] } }: ReceivedChunk): boolean {
    return cited.some(({ choice, channel, citations }) =>
      this.#texts.holdsBefore(choice, channel, endOfCitations(citations)),
    )
  }
}
