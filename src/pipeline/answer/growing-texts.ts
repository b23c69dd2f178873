// The texts of a stream that grow from event to event, each with its scan, by choice and channel.

import { type Channel, isToolCall } from '../../chat/channel.ts'
import type { Delta } from '../../chat/stream-chunk.ts'
import { GatewayError } from '../../core/errors.ts'
import { type ScanResult, TextScanner } from '../scan/text-scanner.ts'
import type { TextProgress } from './logprobs.ts'
import type { Answer } from './whole-answer.ts'

/** Texts that may grow side by side in one answer: choices × channels. */
const MAX_TEXTS = 4096

export class GrowingTexts {
  readonly #answer: Answer
  readonly #results: ScanResult[]
  readonly #choices = new Map<number, Map<Channel, TextScanner>>()
  #count = 0

  /** @param met takes each text, for what is met in it */
  constructor(answer: Answer, results: ScanResult[]) {
    this.#answer = answer
    this.#results = results
  }

  choices(): Iterable<number> {
    return this.#choices.keys()
  }

  /** Those of a choice, so far. */
  ofChoice(choice: number): ReadonlyMap<Channel, TextScanner> | undefined {
    return this.#choices.get(choice)
  }

  /** The scan of a text, begun if it is new. @throws GatewayError `upstream_unavailable` beyond MAX_TEXTS */
  scannerOf({ choice, channel, encoding }: Pick<Delta, 'choice' | 'channel' | 'encoding'>): TextScanner {
    let texts = this.#choices.get(choice)
    if (texts === undefined) {
      texts = new Map()
      this.#choices.set(choice, texts)
    }
    let scanner = texts.get(channel)
    if (scanner === undefined) {
      if (this.#count++ >= MAX_TEXTS)
        throw new GatewayError('upstream_unavailable', 'The upstream sent too many texts side by side.')
      const isJson = channel === 'content' && this.#answer.call.record.asksForJson
      scanner = new TextScanner(
        this.#answer.scan,
        this.#answer.placeholders.fork(),
        isJson ? 'json' : encoding,
      )
      texts.set(channel, scanner)
      this.#results.push(scanner)
    }
    return scanner
  }

  /**
   * Whether a text holds back the beginning of a value, which may go on behind the first piece of another; where that is
   * a call of a tool it is over.
   * @param starting first pieces of texts
   */
  holdsValue(choice: number, channel: Channel, starting: readonly Delta[]): boolean {
    const isCalling = starting.some((delta) => delta.choice === choice && isToolCall(delta.channel))
    return !isCalling && this.#choices.get(choice)?.get(channel)?.holdsValue === true
  }

  /** Probabilities listed with one text may be of another: of the arguments of a tool, or of what a model thinks. */
  readonly progress = (choice: number, channel: Channel): TextProgress | null => {
    const texts = this.#choices.get(choice)
    const text = texts?.get(channel)
    if (texts === undefined || text === undefined) return null
    const { receivedCharacters, sentCharacters } = text
    return { receivedCharacters, sentCharacters, redacted: [...texts.values()].some((one) => one.redacted) }
  }
}
