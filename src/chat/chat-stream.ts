// Reads and writes the chunks of chat completions, and of completions, whose choices have a `text`.

import type { JsonObject } from '../core/json.ts'
import type { RepeatedForm, StreamAssembler, StreamReader } from './api-format.ts'
import { Assembler } from './assembler.ts'
import { type ChannelText, finishChunk, flushChunk } from './channel.ts'
import { isEmptyChunk, repeatsIn } from './chunk-forms.ts'
import { DONE, encodeData } from './sse.ts'
import { readStreamChunk, type StreamChunk } from './stream-chunk.ts'
import { LogprobGate, type ProgressOf } from './token-probabilities.ts'

export class ChatStream implements StreamReader {
  readonly assembler: StreamAssembler
  /** Clients of chat send reasoning back by its id. */
  readonly thoughts = []
  readonly closing = encodeData(DONE)
  readonly nextNumber = 0
  readonly #asksForJson: boolean
  readonly #readsNumbers: boolean
  readonly #probabilities = new LogprobGate()

  constructor(asksForJson: boolean, readsNumbers = false, assembler: StreamAssembler = new Assembler()) {
    this.#asksForJson = asksForJson
    this.#readsNumbers = readsNumbers
    this.assembler = assembler
  }

  get holdsProbabilities(): boolean {
    return this.#probabilities.hasTokens
  }

  read(data: string): StreamChunk | null {
    return readStreamChunk(data, this.#asksForJson, this.#readsNumbers)
  }

  note(): void {}

  flush(like: JsonObject, choice: number, pieces: readonly ChannelText[]): JsonObject {
    return flushChunk(like, choice, pieces)
  }

  end(like: JsonObject, choice: number, reason: string): JsonObject {
    return finishChunk(like, choice, reason)
  }

  repeats(chunk: StreamChunk): RepeatedForm | null {
    return repeatsIn(chunk)
  }

  isEmpty(chunk: JsonObject): boolean {
    return isEmptyChunk(chunk)
  }

  releaseProbabilities(
    chunk: JsonObject,
    progress: ProgressOf,
    here: (choice: number, channel: string) => string,
    finished: readonly number[],
  ): boolean {
    return this.#probabilities.apply(chunk, progress, here, finished)
  }

  eventLine(): string {
    return ''
  }

  number(): boolean {
    return false
  }
}
