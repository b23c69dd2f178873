// Finds values of the kinds that rules define, with those of built-in kinds, in whole and growing
// texts.

import type { Finding } from '../../core/finding.ts'
import type { Steps } from '../../core/steps.ts'
import type { TextPart } from '../../core/text-part.ts'
import { StreamDetector } from '../../detect/pii/detect-stream.ts'
import type { KindSet } from '../../detect/pii/kinds.ts'
import type { PatternSpan, SpanStream } from '../../keyword/spans/span-search.ts'
import type { ValueRules } from '../../policy/value-rules.ts'

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
  const found = yield* values.searcher.find(text)
  return found.map((span) => foundValue(values, span)).sort((a, b) => a.pattern - b.pattern)
}

/** Whether the rule of a pattern looks at a part of a prompt. */
export const concerns = ({ parts }: ValueRules, pattern: number, part: TextPart): boolean =>
  parts[pattern]?.includes(part) !== false

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

/** Orders findings: by their starts, the longer first, then as given. */
const inOrder = (one: Finding, other: Finding): number => one.start - other.start || other.end - one.end

/** What is left of a finding after an offset; null for nothing. */
const restAfter = <One extends Finding>(finding: One, covered: number): One | null => {
  if (finding.start >= covered) return finding
  return finding.end > covered ? { ...finding, start: covered } : null
}

/**
 * Joins findings, in order and without overlap. Where two overlap, the one that begins first
 * remains, then the longer, then one of the first list; of the other what it does not cover.
 */
export function joinFindings<One extends Finding>(
  first: readonly One[],
  second: readonly One[],
): readonly One[] {
  if (first.length === 0) return second
  let covered = 0
  return [...first, ...second].sort(inOrder).flatMap((finding) => {
    const rest = restAfter(finding, covered)
    if (rest !== null) covered = rest.end
    return rest ?? []
  })
}

/** What finds personal data in a growing text. */
export type GrowingDetector = Pick<StreamDetector, 'push' | 'finish' | 'safe'>

export const growingDetector = (kinds: KindSet, values: ValueRules | null): GrowingDetector =>
  values === null ? new StreamDetector(kinds) : new JoinedDetector(kinds, values)

/** Finds in a growing text what `joinFindings` gives of the whole. */
class JoinedDetector implements GrowingDetector {
  readonly #values: ValueRules
  readonly #builtIn: StreamDetector
  readonly #open: SpanStream
  /** Findings that others may come before, by list. */
  #waiting: { readonly finding: Finding; readonly list: number }[] = []
  #covered = 0

  constructor(kinds: KindSet, values: ValueRules) {
    this.#values = values
    this.#builtIn = new StreamDetector(kinds)
    this.#open = values.searcher.stream()
  }

  get safe(): number {
    return Math.min(this.#builtIn.safe, this.#open.safe)
  }

  push(chunk: string): Finding[] {
    this.#wait(this.#open.push(chunk), this.#builtIn.push(chunk))
    return this.#take(this.safe)
  }

  finish(): Finding[] {
    this.#wait(this.#open.finish(), this.#builtIn.finish())
    return this.#take(Number.POSITIVE_INFINITY)
  }

  #wait(open: readonly PatternSpan[], builtIn: readonly Finding[]): void {
    for (const span of open)
      this.#waiting.push({ finding: foundValue(this.#values, span), list: span.pattern })
    for (const finding of builtIn) this.#waiting.push({ finding, list: Number.POSITIVE_INFINITY })
    if (open.length + builtIn.length > 0)
      this.#waiting.sort((a, b) => inOrder(a.finding, b.finding) || a.list - b.list)
  }

  /** Takes the findings that begin before an offset. */
  #take(safe: number): Finding[] {
    const count = this.#waiting.findIndex(({ finding }) => finding.start >= safe)
    return this.#waiting.splice(0, count < 0 ? this.#waiting.length : count).flatMap(({ finding }) => {
      const rest = restAfter(finding, this.#covered)
      if (rest !== null) this.#covered = rest.end
      return rest ?? []
    })
  }
}
