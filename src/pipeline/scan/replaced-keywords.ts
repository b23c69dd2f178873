// Replaces keywords in a growing text by placeholders, once personal data is replaced and the rules
// that block have seen the words.

import type { JsonSpan } from '../../chat/inner-json/json-span.ts'
import type { Finding } from '../../core/finding.ts'
import { foldedText } from '../../keyword/normalise.ts'
import type { SpanStream } from '../../keyword/spans/span-search.ts'
import type { RuleReference } from '../../policy/rule.ts'
import type { ValueRules } from '../../policy/value-rules.ts'
import { replaceFindings, type TextSpan, TextSpanQueue, viewOf } from './spans.ts'
import { FormGuard } from './whole-forms.ts'

/** Returns what is written for a keyword. @param value without its disguise */
export type KeywordForm = (label: string, value: string) => string

/** A match that others may come before. */
interface Waiting extends Finding {
  readonly pattern: number
}

export class KeywordReplacer {
  readonly #rules: ValueRules
  readonly #formOf: KeywordForm
  readonly #note: (rule: RuleReference) => void
  #stream: SpanStream
  #queue = new TextSpanQueue()
  #waiting: Waiting[] = []
  /** Offset where text ends that was released before and is searched again. */
  #releasedEnd = 0
  #covered = 0

  /** @param note receives the rule of each keyword that is replaced */
  constructor(rules: ValueRules, formOf: KeywordForm, note: (rule: RuleReference) => void) {
    this.#rules = rules
    this.#formOf = formOf
    this.#note = note
    this.#stream = new FormGuard(rules)
  }

  /** The text that is held back. */
  get heldText(): string {
    return this.#queue.view
  }

  push(spans: readonly TextSpan[]): TextSpan[] {
    for (const span of spans) {
      this.#queue.push(span)
      if (span.released === true) this.#releasedEnd += span.view.length
    }
    this.#wait(this.#stream.push(viewOf(spans)))
    return this.#take(this.#stream.safe)
  }

  /** Flushes the text held back. Later text counts as a new text. */
  finish(): TextSpan[] {
    this.#wait(this.#stream.finish())
    const out = this.#take(Number.POSITIVE_INFINITY)
    this.#stream = new FormGuard(this.#rules)
    this.#queue = new TextSpanQueue()
    this.#releasedEnd = 0
    this.#covered = 0
    return out
  }

  #wait(found: ReturnType<SpanStream['push']>): void {
    if (found.length === 0) return
    for (const span of found) this.#waiting.push({ ...span, kind: this.#rules.kinds[span.pattern]! })
    this.#waiting.sort((a, b) => a.start - b.start || b.end - a.end || a.pattern - b.pattern)
  }

  #take(safe: number): TextSpan[] {
    const out: TextSpan[] = []
    while (this.#waiting.length > 0 && this.#waiting[0]!.start < safe) {
      const found = this.#waiting.shift()!
      const start = Math.max(found.start, this.#covered)
      // What ends in text that was released was replaced there.
      if (found.end <= Math.max(start, this.#releasedEnd)) continue
      for (const span of this.#queue.takeBefore(start)) out.push(span)
      const base = this.#queue.start
      const taken = this.#queue.takeUntil(found.end)
      // Rests of a value before the match have no text.
      const begins = taken.findIndex(({ view }) => view !== '')
      for (const span of taken.slice(0, begins)) out.push(span)
      const spans = taken.slice(begins)
      this.#covered = found.end
      // A placeholder is no text of anybody.
      const isPlaceholder = spans.some(({ received }) => received !== undefined)
      if (!isPlaceholder) this.#note(this.#rules.rules[found.pattern]!)
      for (const span of isPlaceholder ? spans : this.#replace(spans, base, { ...found, start }))
        out.push(span)
    }
    for (const span of this.#queue.takeUntil(safe)) out.push(span)
    return out
  }

  #replace(spans: readonly TextSpan[], base: number, found: Finding): JsonSpan[] {
    return replaceFindings(spans, base, [found], ({ kind }, value) => this.#formOf(kind, foldedText(value)))
  }
}
