// Releases the texts of a stream that are held back, where they end. Decides nothing about events.

import type { StreamReader } from '../../chat/api-format.ts'
import { type Channel, groupCompatible, isReasoning, isToolCall } from '../../chat/channel.ts'
import type { Delta, StreamChunk } from '../../chat/stream-chunk.ts'
import type { ScanOutput } from '../scan/scan-output.ts'
import type { ChoiceEnds } from './choice-ends.ts'
import type { GrowingTexts } from './growing-texts.ts'
import type { StreamWriter } from './stream-writer.ts'
import type { IsText } from './text-boundaries.ts'

export class HeldTexts {
  /** True when a rule blocks a text; nothing is released then. */
  blocked = false
  readonly #reader: StreamReader
  readonly #writer: StreamWriter
  readonly #texts: GrowingTexts
  readonly #ends: ChoiceEnds

  constructor(reader: StreamReader, writer: StreamWriter, texts: GrowingTexts, ends: ChoiceEnds) {
    this.#reader = reader
    this.#writer = writer
    this.#texts = texts
    this.#ends = ends
  }

  /** Flushes the texts that end before this chunk: where the next begins, or by a signature. */
  flushEnded({ signed }: StreamChunk, starting: readonly Delta[], isHere: IsText): string {
    const begun = new Set(starting.map(({ choice }) => choice))
    const continues: IsText = (...text) => isHere(...text) || this.#texts.holdsValue(...text, starting)
    return (
      this.flush(begun, (choice, channel) => isToolCall(channel) || continues(choice, channel)) +
      this.flush(new Set(signed), (choice, channel) => !isReasoning(channel) || isHere(choice, channel))
    )
  }

  /** Sends the postponed ends, each after the held-back text of its choice. */
  sendPostponedEnds(): string {
    let out = ''
    for (const [choice, reason] of this.#ends.takePostponed()) {
      out += this.flush([choice])
      if (this.blocked) break
      out += this.#writer.sendEnd(choice, reason, (chunk) =>
        this.#reader.releaseProbabilities(chunk, this.#texts.progress, () => '', [choice]),
      )
      this.#ends.end(choice)
    }
    return out
  }

  /**
   * Flushes the texts of some choices, each in an event of its own. Reasoning shares one event
   * where possible: some servers write it under two names, and clients read either.
   */
  flush(choices: Iterable<number>, except: IsText = () => false): string {
    let out = ''
    for (const choice of choices) {
      const reasoning: [Channel, ScanOutput][] = []
      let answer = ''
      for (const [channel, scanner] of this.#texts.ofChoice(choice) ?? []) {
        if (except(choice, channel) || this.blocked) continue
        const rest = scanner.finish()
        if (scanner.blocked) this.blocked = true
        if (isReasoning(channel)) reasoning.push([channel, rest])
        else answer += this.#writer.send(choice, [[channel, rest]])
      }
      for (const group of groupCompatible(reasoning)) out += this.#writer.send(choice, group)
      out += answer
    }
    return out
  }
}
