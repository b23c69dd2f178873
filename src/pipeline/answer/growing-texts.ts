// Keeps the scanner of each text of a stream that grows from event to event, by choice and channel.

import { type Channel, isToolCall } from '../../chat/channel.ts'
import type { Delta } from '../../chat/stream-chunk.ts'
import type { TextProgress } from '../../chat/token-probabilities.ts'
import { GatewayError } from '../../core/errors.ts'
import { editsFrom, type TextEdit } from '../scan/text-edits.ts'
import { type KeptText, type ScanResult, TextScanner } from '../scan/text-scanner.ts'
import { JoinTrial } from './joined-blocks.ts'
import type { Answer } from './whole-answer.ts'

/** Maximum growing texts of one answer, counted over all choices and channels. */
const MAXIMUM_TEXTS = 4096

/** @throws GatewayError `upstream_unavailable` for another text besides MAXIMUM_TEXTS */
export function assertTexts(count: number): void {
  if (count < MAXIMUM_TEXTS) return
  throw new GatewayError(
    'upstream_unavailable',
    `The upstream's answer has more than ${MAXIMUM_TEXTS} growing texts.`,
  )
}

/** The block of a text, with the places where it changed. */
export interface KeptBlock extends Readonly<KeptText> {
  readonly edits: readonly TextEdit[]
}

export class GrowingTexts {
  readonly #answer: Answer
  readonly #results: ScanResult[]
  readonly #choices = new Map<number, Map<Channel, TextScanner>>()
  #count = 0

  /** @param results receives the scanner of each text */
  constructor(answer: Answer, results: ScanResult[]) {
    this.#answer = answer
    this.#results = results
  }

  choices(): Iterable<number> {
    return this.#choices.keys()
  }

  /** Scanners of one choice, by channel. */
  ofChoice(choice: number): ReadonlyMap<Channel, TextScanner> | undefined {
    return this.#choices.get(choice)
  }

  /**
   * Returns the scanner of a text; a new one for a new text.
   * @throws GatewayError `upstream_unavailable` for more than MAXIMUM_TEXTS texts
   */
  scannerOf({ choice, channel, encoding }: Pick<Delta, 'choice' | 'channel' | 'encoding'>): TextScanner {
    let texts = this.#choices.get(choice)
    if (texts === undefined) {
      texts = new Map()
      this.#choices.set(choice, texts)
    }
    let scanner = texts.get(channel)
    if (scanner === undefined) {
      assertTexts(this.#count++)
      scanner = new TextScanner(this.#answer.scan, this.#answer.placeholders.fork(), encoding)
      this.#expect(scanner, choice, channel)
      texts.set(channel, scanner)
      this.#results.push(scanner)
    }
    return scanner
  }

  /** Lets a new choice continue the texts of another, whose values may end in it. */
  continue(from: number, to: number): void {
    const texts = this.#choices.get(from)
    if (texts === undefined || this.#choices.has(to)) return
    this.#choices.set(to, texts)
    this.#choices.delete(from)
    for (const [channel, scanner] of texts) {
      scanner.keepFromHere()
      this.#expect(scanner, to, channel)
    }
  }

  /** Gives a scanner what recognisers find in a text that begins here. */
  #expect(scanner: TextScanner, choice: number, channel: Channel): void {
    const { outside } = this.#answer.scan
    if (outside !== undefined) scanner.expect(outside.growing(choice, channel))
  }

  /** The texts of a choice that continues another, as far as they are its own. */
  keptOf(choice: number): KeptBlock[] {
    const texts = [...(this.#choices.get(choice)?.values() ?? [])]
    return texts.flatMap(({ kept, edits }) =>
      kept === null ? [] : [{ ...kept, edits: editsFrom(edits, kept.from) }],
    )
  }

  /** Begins to decide whether a block continues the text of another; null where they must join. */
  trialOf(choice: number): JoinTrial | null {
    const held = [...(this.#choices.get(choice)?.values() ?? [])].filter((scanner) => scanner.holds)
    const text = held.length === 1 ? held[0]!.heldText : null
    return text === null ? null : new JoinTrial(text, this.#answer.scan, this.#answer.placeholders)
  }

  /** Reports whether a part of a block's text is held back, up to an offset in it. */
  holdsBefore(choice: number, channel: Channel, offset: number): boolean {
    const scanner = this.#choices.get(choice)?.get(channel)
    if (scanner === undefined || !scanner.holds) return false
    return scanner.releasedCharacters < (scanner.kept?.from ?? 0) + offset
  }

  /** Where a text changed so far, counted from the beginning of its block. */
  readonly editsOf = (choice: number, channel: Channel): readonly TextEdit[] => {
    const scanner = this.#choices.get(choice)?.get(channel)
    return scanner === undefined ? [] : editsFrom(scanner.edits, scanner.kept?.from ?? 0)
  }

  /** Reports whether any text of a choice is held back. */
  holdsBack(choice: number): boolean {
    return [...(this.#choices.get(choice)?.values() ?? [])].some((scanner) => scanner.holds)
  }

  /**
   * Reports whether a text holds back the beginning of a value that may continue after the first
   * delta of another text. A tool call ends the text instead.
   * @param starting the first deltas of new texts
   */
  holdsValue(choice: number, channel: Channel, starting: readonly Delta[]): boolean {
    const isCalling = starting.some((delta) => delta.choice === choice && isToolCall(delta.channel))
    return !isCalling && this.#choices.get(choice)?.get(channel)?.holdsValue === true
  }

  /**
   * Progress of one text. `redacted` covers the whole choice: probabilities listed with one text
   * may belong to another, such as tool-call arguments or reasoning.
   */
  readonly progress = (choice: number, channel: Channel): TextProgress | null => {
    const texts = this.#choices.get(choice)
    const text = texts?.get(channel)
    if (texts === undefined || text === undefined) return null
    const { receivedCharacters, sentCharacters } = text
    return { receivedCharacters, sentCharacters, redacted: [...texts.values()].some((one) => one.redacted) }
  }
}
