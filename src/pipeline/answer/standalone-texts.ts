// Scans the texts of a stream that do not grow from event to event. Each is scanned alone; their
// results add up in one, because their number has no limit.

import type { StreamChunk } from '../../chat/stream-chunk.ts'
import type { Text } from '../../chat/texts.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Steps } from '../../core/steps.ts'
import { rulesFor } from '../scan/followed-rules.ts'
import { labelOf } from '../scan/named-value.ts'
import type { ScanOutput } from '../scan/scan-output.ts'
import { type FoundKind, type ScanResult, type ScanRules, TextScanner } from '../scan/text-scanner.ts'
import type { KeptBlock } from './growing-texts.ts'
import { type EditsByPath, keepEdits } from './moved-citations.ts'
import { withoutReceipts } from './receipt-lines.ts'
import { scanGroup } from './scan-group.ts'
import { type Answer, isClean } from './whole-answer.ts'

/** Maximum characters in the texts of one event. Larger events hold images, which are not texts. */
const MAXIMUM_TEXT_CHARACTERS = 4 * 1024 * 1024

const SO_FAR = /^choices\[\d+\]\.message\./

/** A text alone, or neighbouring blocks of text, which a client shows as one. */
interface StandaloneText {
  readonly parts: readonly string[]
  readonly text: string
  readonly encoding: Text['encoding']
  readonly label: string
  readonly rules: ScanRules
}

/** What becomes of the texts of an event, in their order, and where each changed. */
export interface StandaloneOutputs {
  readonly outputs: readonly ScanOutput[]
  readonly edits: EditsByPath
}

interface ScannedText extends StandaloneText {
  readonly scanner: TextScanner
  readonly outputs: readonly ScanOutput[]
}

const isSame = (
  last: ScannedText | null,
  { parts, text, encoding, label, rules }: StandaloneText,
): last is ScannedText =>
  last !== null &&
  last.text === text &&
  last.encoding === encoding &&
  last.label === label &&
  last.rules === rules &&
  last.parts.length === parts.length &&
  last.parts.every((part, index) => part === parts[index])

export class StandaloneTexts {
  readonly result: ScanResult = { findings: [], keywordHits: [] }
  /** Findings in the last event, when it repeats the whole answer. */
  readonly repeated: FoundKind[] = []
  /** True when a rule blocks one of the texts. */
  blocked = false
  readonly #answer: Answer
  /** The last text of an event that repeats others: several events in a row repeat the same one. */
  #last: ScannedText | null = null

  constructor(answer: Answer) {
    this.#answer = answer
  }

  /**
   * Scans lines other than data, such as comments, and returns them redacted, without those that
   * could be taken for a receipt.
   */
  *scanLines(lines: string): Steps<string> {
    const rules = { ...this.#answer.scan, restoration: null }
    // Some servers send many such lines to keep a connection alive.
    if (yield* isClean({ text: lines, encoding: 'plain' }, rules)) return withoutReceipts(lines)
    const scanner = new TextScanner(rules, this.#answer.placeholders.fork(), 'plain')
    if (rules.outside !== undefined) scanner.expect(rules.outside.of({ text: lines, encoding: 'plain' }))
    const { sent } = yield* scanner.allSteps(lines)
    this.#note(scanner, this.result.findings)
    return withoutReceipts(sent)
  }

  /**
   * @param goesOn whether the next block continues the texts: what they hold back comes there
   * @throws GatewayError `upstream_unavailable` for more than MAXIMUM_TEXT_CHARACTERS characters in
   * one event
   */
  *scanChunk(chunk: StreamChunk, goesOn = false): Steps<StandaloneOutputs> {
    let characters = 0
    for (const { text } of chunk.others) characters += text.length
    for (const { text } of chunk.deltas) characters += text.length
    if (characters > MAXIMUM_TEXT_CHARACTERS)
      throw new GatewayError(
        'upstream_unavailable',
        `The upstream sent an event with more than ${MAXIMUM_TEXT_CHARACTERS} characters of text.`,
      )
    // Placeholders in errors are not restored.
    const rules = chunk.error ? { ...this.#answer.scan, restoration: null } : this.#answer.scan
    const outputs: ScanOutput[] = []
    const edits: EditsByPath = new Map()
    if (chunk.others.length === 0) return { outputs, edits }
    const findings = findingsOf(chunk, this)
    const { api, record } = this.#answer.call
    for (const group of yield* api.answer.group(chunk.others, record.asksForJson)) {
      const { text, encoding } = group
      const parts = group.parts.map((part) => chunk.others[part]!.text)
      const ruled = rulesFor(group, rules)
      const named = labelOf(group)
      const label = named !== '' && (yield* isClean(group, ruled)) ? named : ''
      const one = { parts, text, encoding, label, rules: ruled }
      // Some servers repeat the message so far in each event; its end may continue in the next.
      const isSoFar = chunk.finished.length === 0 && SO_FAR.test(chunk.others[group.parts[0]]!.path)
      const isKnown = chunk.isRepeat && !goesOn && isSame(this.#last, one)
      const scanned = isKnown ? this.#last! : yield* this.#scan(one, isSoFar || goesOn)
      if (chunk.isRepeat && !goesOn) this.#last = scanned
      group.parts.forEach((part, index) => {
        outputs[part] = scanned.outputs[index]!
      })
      const { edits: made } = scanned.scanner
      if (made.length > 0)
        keepEdits(
          edits,
          group.parts.map((part) => chunk.others[part]!),
          made,
        )
      this.#note(scanned.scanner, findings)
    }
    return { outputs, edits }
  }

  *#scan(text: StandaloneText, continues: boolean): Steps<ScannedText> {
    const { parts, encoding, label, rules } = text
    const { placeholders } = this.#answer
    return { ...text, ...(yield* scanGroup(parts, encoding, rules, placeholders, label, continues)) }
  }

  #note(scanner: TextScanner, findings: FoundKind[]): void {
    for (const found of scanner.findings) findings.push(found)
    for (const rule of scanner.keywordHits) {
      if (!this.result.keywordHits.includes(rule)) this.result.keywordHits.push(rule)
    }
    this.blocked ||= scanner.blocked
  }
}

/** Where the findings of an event count. Those of a repeated text count once. */
function findingsOf({ isRepeat, isLast }: StreamChunk, { result, repeated }: StandaloneTexts): FoundKind[] {
  if (!isRepeat) return result.findings
  return isLast ? repeated : []
}

/** Counts the findings of an answer once when the last event of its stream repeats it whole. */
export function countedOnce(
  results: readonly ScanResult[],
  repeated: readonly FoundKind[],
): readonly ScanResult[] {
  const counted = results.reduce((sum, { findings }) => sum + findings.length, 0)
  if (repeated.length <= counted) return results
  const hits = results.map(({ keywordHits }) => ({ findings: [], keywordHits }))
  return [{ findings: [...repeated], keywordHits: [] }, ...hits]
}

const REPEATING = /(?:content|text)$/

/**
 * Returns the outputs of standalone texts. A text that repeats a delta of the same chunk gets that
 * delta's output.
 */
export function withRepeats(
  { others, deltas }: StreamChunk,
  alone: readonly ScanOutput[],
  outputs: readonly ScanOutput[],
): readonly ScanOutput[] {
  if (others.length === 0 || deltas.length === 0) return alone
  const byText = new Map(deltas.map(({ text }, index) => [text, outputs[index]!]))
  return alone.map((output, index) => {
    const { text, path } = others[index]!
    const repeated = byText.get(text)
    return repeated !== undefined && REPEATING.test(path) ? repeated : output
  })
}

/** Returns the outputs of standalone texts. One that repeats a block gets what was sent of it. */
export function withBlocks(
  { others }: StreamChunk,
  { outputs, edits }: StandaloneOutputs,
  blocks: readonly KeptBlock[],
): StandaloneOutputs {
  if (blocks.length === 0) return { outputs, edits }
  const byText = new Map(blocks.map((block) => [block.received, block]))
  return {
    outputs: outputs.map((output, index) => byText.get(others[index]!.text)?.output ?? output),
    edits: new Map([
      ...edits,
      ...others.flatMap(({ text, path }) => {
        const block = byText.get(text)
        return block === undefined ? [] : [[path, block.edits] as const]
      }),
    ]),
  }
}
