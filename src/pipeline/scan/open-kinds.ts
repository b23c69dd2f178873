// Finds values of the kinds that rules define, with those of built-in kinds, in whole and growing
// texts.

import type { Finding } from '../../core/finding.ts'
import type { Steps } from '../../core/steps.ts'
import type { TextPart } from '../../core/text-part.ts'
import { StreamDetector } from '../../detect/pii/detect-stream.ts'
import type { KindSet } from '../../detect/pii/kinds.ts'
import type { PatternSpan, SpanStream } from '../../keyword/spans/span-search.ts'
import type { ValueRules } from '../../policy/value-rules.ts'
import { FormGuard, findOutsideForms } from './whole-forms.ts'

/** A value that a rule finds, with the index of its pattern. */
export interface FoundValue extends Finding {
  readonly pattern: number
}

const foundValue = ({ kinds }: ValueRules, { pattern, start, end }: PatternSpan): FoundValue => ({
  kind: kinds[pattern]!,
  start,
  end,
  pattern,
})

/** Finds values in a text of a prompt. Without rules it costs nothing. */
export function* findValues(values: ValueRules | null, text: string, part: TextPart): Steps<FoundValue[]> {
  if (values === null) return []
  return (yield* findAnywhere(values, text)).filter(({ pattern }) => concerns(values, pattern, part))
}

/** Finds values in a text of any part, in the order of the patterns. */
export function* findAnywhere(values: ValueRules, text: string): Steps<FoundValue[]> {
  const found = yield* findOutsideForms(values, text)
  return found.map((span) => foundValue(values, span)).sort((a, b) => a.pattern - b.pattern)
}

/** Whether values of a pattern count in a part of a prompt. */
export const concerns = ({ parts }: ValueRules, pattern: number, part: TextPart): boolean =>
  parts[pattern]!.includes(part)

/** As `findValues`, for a text that is read after `label`. Offsets count in the text. */
export function* findNamedValues(
  values: ValueRules | null,
  label: string,
  text: string,
  part: TextPart,
): Steps<FoundValue[]> {
  const from = label.length
  if (from === 0 || values === null) return yield* findValues(values, text, part)
  const found = yield* findValues(values, label + text, part)
  return found
    .filter(({ end }) => end > from)
    .map((one) => ({ ...one, start: Math.max(0, one.start - from), end: one.end - from }))
}

/** What finds personal data in a growing text. Findings of rules may overlap others. */
export interface GrowingDetector extends Pick<StreamDetector, 'safe'> {
  push(chunk: string): FoundFinding[]
  finish(): FoundFinding[]
}

/** A finding, with the index of its pattern if a rule defines its kind. */
type FoundFinding = Finding & Partial<Pick<FoundValue, 'pattern'>>

export const growingDetector = (kinds: KindSet, values: ValueRules | null): GrowingDetector =>
  values === null ? new StreamDetector(kinds) : new DetectorOfBoth(kinds, values)

/** Finds values of built-in kinds and of those that rules define. */
class DetectorOfBoth implements GrowingDetector {
  readonly #values: ValueRules
  readonly #builtIn: StreamDetector
  readonly #open: SpanStream

  constructor(kinds: KindSet, values: ValueRules) {
    this.#values = values
    this.#builtIn = new StreamDetector(kinds)
    this.#open = new FormGuard(values)
  }

  get safe(): number {
    return Math.min(this.#builtIn.safe, this.#open.safe)
  }

  push(chunk: string): FoundFinding[] {
    return [...this.#open.push(chunk).map(this.#value), ...this.#builtIn.push(chunk)]
  }

  finish(): FoundFinding[] {
    return [...this.#open.finish().map(this.#value), ...this.#builtIn.finish()]
  }

  readonly #value = (span: PatternSpan): FoundValue => foundValue(this.#values, span)
}
