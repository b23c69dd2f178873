// Texts of a stream that do not grow from event to event: each is scanned by itself, and all are counted together, as
// there is no end of them.

import type { StreamChunk } from '../../chat/stream-chunk.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Steps } from '../../core/steps.ts'
import type { ScanOutput } from '../scan/scan-output.ts'
import { type ScanResult, TextScanner } from '../scan/text-scanner.ts'
import { type Answer, isClean } from './whole-answer.ts'

/** Of one event, all its texts together; what else is large in one is a picture. */
const MAX_TEXT_CHARACTERS = 4 * 1024 * 1024

const SO_FAR = /^choices\[\d+\]\.message\./

export class StandaloneTexts {
  readonly result: ScanResult = { findings: [], keywordHits: [] }
  /** A rule forbids one of them. */
  blocked = false
  readonly #answer: Answer

  constructor(answer: Answer) {
    this.#answer = answer
  }

  /** Lines of an event without data as they may leave: they pass, but are read like a text. */
  *scanLines(lines: string): Steps<string> {
    const rules = { ...this.#answer.scan, restoration: null }
    // Some servers keep a connection alive with a great deal of it.
    if (yield* isClean({ text: lines, encoding: 'plain' }, rules)) return lines
    const scanner = new TextScanner(rules, this.#answer.placeholders.fork(), 'plain')
    const { sent } = yield* scanner.allSteps(lines)
    this.#note(scanner)
    return sent
  }

  /** @throws GatewayError `upstream_unavailable` for an event with more than MAX_TEXT_CHARACTERS in its texts */
  *scanChunk(chunk: StreamChunk): Steps<ScanOutput[]> {
    let characters = 0
    for (const { text } of chunk.others) characters += text.length
    for (const { text } of chunk.deltas) characters += text.length
    if (characters > MAX_TEXT_CHARACTERS)
      throw new GatewayError('upstream_unavailable', 'The upstream sent an event with too much text.')
    // An error keeps its placeholders.
    const rules = chunk.error ? { ...this.#answer.scan, restoration: null } : this.#answer.scan
    const outputs: ScanOutput[] = []
    for (const text of chunk.others) {
      const scanner = new TextScanner(rules, this.#answer.placeholders.fork(), text.encoding)
      // Some servers repeat all that was said so far, and the end of that goes on as well.
      const continues = chunk.finished.length === 0 && SO_FAR.test(text.path)
      outputs.push(yield* continues ? scanner.pushSteps(text.text) : scanner.allSteps(text.text))
      this.#note(scanner)
    }
    return outputs
  }

  #note(scanner: TextScanner): void {
    for (const kind of scanner.findings) this.result.findings.push(kind)
    for (const rule of scanner.keywordHits) {
      if (!this.result.keywordHits.includes(rule)) this.result.keywordHits.push(rule)
    }
    this.blocked ||= scanner.blocked
  }
}

const REPEATING = /(?:content|text)$/

/** As they are, but for those that repeat a piece of a growing text, which leave as that piece does. */
export function withRepeats(
  { others, deltas }: StreamChunk,
  alone: readonly ScanOutput[],
  outputs: readonly ScanOutput[],
): readonly ScanOutput[] {
  if (others.length === 0 || deltas.length === 0) return alone
  const pieces = new Map(deltas.map(({ text }, index) => [text, outputs[index]!]))
  return alone.map((output, index) => {
    const { text, path } = others[index]!
    const piece = pieces.get(text)
    return piece !== undefined && REPEATING.test(path) ? piece : output
  })
}
