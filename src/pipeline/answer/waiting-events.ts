// Keeps the events of a stream that wait for text which is held back: the ends of a block, until
// the next event shows whether another block continues its text, and citations, until their text
// is sent.

import { endOfCitations } from '../../chat/citations.ts'
import type { StreamChunk } from '../../chat/stream-chunk.ts'
import type { GrowingTexts } from './growing-texts.ts'
import type { Join, JoinTrial } from './joined-blocks.ts'
import type { Written } from './stream-writer.ts'

/** Maximum events that end one block, those of empty blocks after it included. */
const MAXIMUM_ENDS = 32

/** Maximum events with citations. */
const MAXIMUM_CITED = 256

/** A chunk with the data and the event that it was read from. */
export interface ReceivedChunk {
  readonly chunk: StreamChunk
  readonly data: string
  readonly written: Written
}

/** Maximum events of the next block that are read before it is known to continue the text. */
const MAXIMUM_NEXT = 64

/** The events that end a block, and the first ones of the block that may continue its text. */
interface EndingBlock {
  readonly choice: number
  readonly events: ReceivedChunk[]
  /** The next block; null before it begins. */
  to: number | null
  trial: JoinTrial | null
  readonly next: ReceivedChunk[]
}

/** An end that has been decided. */
export interface DecidedEnd extends Readonly<EndingBlock> {
  /** Whether the next block continues the text. */
  readonly goesOn: boolean
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
      this.#ending = { choice: endsBlock, events: [received], to: null, trial: null, next: [] }
      return true
    }
    if (ending.choice !== endsBlock || ending.to !== null || ending.events.length === MAXIMUM_ENDS)
      return false
    ending.events.push(received)
    return true
  }

  /**
   * Keeps a chunk of the block after one that ends, until it is known to continue its text or not.
   * @returns whether it did; the end may be decided now
   */
  takesNext(received: ReceivedChunk): boolean {
    const ending = this.#ending
    const { continues, deltas } = received.chunk
    if (ending === null) return false
    if (continues?.from === ending.choice && ending.to === null) {
      ending.to = continues.to
      ending.trial = this.#texts.trialOf(ending.choice)
    } else if (ending.to === null || deltas.length === 0) return false
    if (deltas.some(({ choice }) => choice !== ending.to)) return false
    ending.next.push(received)
    return true
  }

  /**
   * Decides on the end of a block that waits, once it can; null before, and without one.
   * @param after the chunk that is not of the next block's text; null at the end of the stream, and
   *   undefined while its text comes
   */
  takeEnd(after: StreamChunk | null | undefined): DecidedEnd | null {
    const ending = this.#ending
    if (ending === null) return null
    const join = after === undefined ? joinSoFar(ending) : joinAtEnd(ending, after)
    if (join === 'unknown') return null
    this.#ending = null
    return { ...ending, goesOn: join === 'joined' }
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

/** Reads the newest chunk of the next block. */
function joinSoFar({ trial, next }: EndingBlock): Join {
  if (trial === null || next.length > MAXIMUM_NEXT) return 'joined'
  return trial.push((next.at(-1)?.chunk.deltas ?? []).map(({ text }) => text).join(''))
}

/** Decides without more text. A block that ends undecided may itself continue in the next. */
function joinAtEnd({ to, trial }: EndingBlock, after: StreamChunk | null): Join {
  if (to === null) return 'apart'
  return trial === null ? 'joined' : trial.finish(after?.endsBlock === to)
}
