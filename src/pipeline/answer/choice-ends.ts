// Tracks which choices of a stream have ended. Some servers send a finish reason with every piece,
// so one that comes with text is postponed while any of the choice's text is held back.

import { type StreamChunk, takeFinish } from '../../chat/stream-chunk.ts'
import type { JsonObject } from '../../core/json.ts'

/** Choices that end in one chunk. */
interface EndingChoices {
  /** The chunk has text of them, so more text may follow. */
  readonly early: readonly number[]
  readonly final: readonly number[]
}

export class ChoiceEnds {
  /** Later text for an ended choice is held back until the stream ends. */
  readonly #ended = new Set<number>()
  /** Finish reasons by choice, in their logged form. */
  readonly #postponed = new Map<number, string>()

  findIn({ finished, deltas }: StreamChunk): EndingChoices {
    const ending = finished.filter((choice) => !this.#ended.has(choice))
    const withText = new Set(deltas.flatMap(({ choice, text }) => (text === '' ? [] : [choice])))
    return {
      early: ending.filter((choice) => withText.has(choice)),
      final: ending.filter((choice) => !withText.has(choice)),
    }
  }

  /**
   * Removes the finish reason of a choice from a chunk until the choice ends. @param logged the
   * chunk in its logged form
   */
  postpone(choice: number, sent: JsonObject, logged: JsonObject): void {
    for (const body of new Set([sent, logged])) this.#postponed.set(choice, takeFinish(body, choice))
  }

  end(choice: number): void {
    this.#ended.add(choice)
    this.#postponed.delete(choice)
  }

  /** Returns the postponed ends and forgets them. */
  takePostponed(): [choice: number, reason: string][] {
    const ends = [...this.#postponed]
    this.#postponed.clear()
    return ends
  }
}
