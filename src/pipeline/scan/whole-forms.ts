// Searches texts for the values of rules, and keeps placeholders whole: a match inside one would
// break it, so that nothing is restored and the answer is mangled.

import { firstEndingAfter } from '../../core/ranges.ts'
import type { Steps } from '../../core/steps.ts'
import type { PatternSpan, SpanStream } from '../../keyword/spans/span-search.ts'
import type { ValueRules } from '../../policy/value-rules.ts'
import { beginsSpelling, FIRST_CHARACTER, mayHoldPlaceholder, readSpelling } from './placeholder-spelling.ts'
import { isLabel } from './placeholders.ts'
import { PSEUDONYM_CHARACTERS } from './pseudonyms.ts'

/** Maximum digits of the number of a placeholder that is kept. A case number may have more. */
const MAXIMUM_DIGITS = 5
const INNER = new RegExp(`^([A-Z_]+)_(?:[1-9][0-9]{0,${MAXIMUM_DIGITS - 1}}|${PSEUDONYM_CHARACTERS})$`)
const BEGINNING = /^[A-Z_]*(?:_[0-9a-z]*)?$/
/** Longest text between the brackets of a placeholder: a label, `_` and a pseudonym. */
const MAXIMUM_INNER_CHARACTERS = 96
/** Longest spelling of one character. */
const MAXIMUM_SPELLING_CHARACTERS = 12

interface Form {
  readonly start: number
  /** Exclusive. */
  readonly end: number
}

/** A text may end before the form does. */
const UNFINISHED = -1
const NO_FORM = 0

/** Returns where the form at an offset ends; UNFINISHED or NO_FORM without one. */
function endOfForm(text: string, from: number, labels: ReadonlySet<string>): number {
  let inner = ''
  for (let at = from; at < text.length; ) {
    const length = spellingAt(text, at)
    if (length <= 0) return length
    const { character } = readSpelling(text.slice(at, at + length))!
    const isFirst = at === from
    at += length
    if (isFirst) {
      if (character !== '[') return NO_FORM
    } else if (character === ']') {
      const label = INNER.exec(inner)?.[1]
      return label !== undefined && isLabel(label, labels) ? at : NO_FORM
    } else {
      inner += character
      if (inner.length > MAXIMUM_INNER_CHARACTERS || !BEGINNING.test(inner)) return NO_FORM
    }
  }
  return UNFINISHED
}

/** Returns the length of the character that is spelled at an offset; UNFINISHED or NO_FORM. */
function spellingAt(text: string, at: number): number {
  const end = Math.min(text.length, at + MAXIMUM_SPELLING_CHARACTERS)
  for (let length = 1; at + length <= end; length++) {
    const written = text.slice(at, at + length)
    if (readSpelling(written) !== null) return length
    if (!beginsSpelling(written)) return NO_FORM
  }
  return at + MAXIMUM_SPELLING_CHARACTERS > text.length ? UNFINISHED : NO_FORM
}

/**
 * Adds the forms in a text to a list.
 * @returns the offset where the end of the text may begin one; the text's length otherwise
 */
function readForms(forms: Form[], text: string, base: number, labels: ReadonlySet<string>): number {
  let from = 0
  for (;;) {
    FIRST_CHARACTER.lastIndex = from
    const first = FIRST_CHARACTER.exec(text)
    if (first === null) return text.length
    const end = endOfForm(text, first.index, labels)
    if (end === UNFINISHED) return first.index
    if (end !== NO_FORM) forms.push({ start: base + first.index, end: base + end })
    from = end === NO_FORM ? first.index + 1 : end
  }
}

/**
 * Returns what is left of a match without the form that it begins or ends in; null for one inside a
 * form. A match that holds a form and more is a value. @param forms in order
 */
function outsideForms(span: PatternSpan, forms: readonly Form[]): PatternSpan | null {
  let { start, end } = span
  const first = forms[firstEndingAfter(forms, start)]
  if (first === undefined || first.start >= end) return span
  if (first.start <= start && end <= first.end) return null
  if (first.start < start) start = first.end
  const last = forms.findLast((form) => form.start < end)!
  if (last.end > end) end = last.start
  if (start >= end) return null
  return start === span.start && end === span.end ? span : { ...span, start, end }
}

/** Finds the values of rules in a whole text. */
export function* findOutsideForms({ searcher, labels }: ValueRules, text: string): Steps<PatternSpan[]> {
  const found = yield* searcher.find(text)
  if (found.length === 0 || !mayHoldPlaceholder(text)) return found
  const forms: Form[] = []
  readForms(forms, text, 0, labels)
  return forms.length === 0 ? found : found.flatMap((span) => outsideForms(span, forms) ?? [])
}

/** Finds in a growing text what `findOutsideForms` finds in the whole. */
export class FormGuard implements SpanStream {
  readonly #stream: SpanStream
  readonly #labels: ReadonlySet<string>
  /** Text in which a form may begin or have begun. */
  #tail = ''
  /** Offset of the tail: no later form begins before it. */
  #settled = 0
  #forms: Form[] = []
  /** Matches that end in the tail. */
  #waiting: PatternSpan[] = []

  constructor({ searcher, labels }: ValueRules) {
    this.#stream = searcher.stream()
    this.#labels = labels
  }

  get safe(): number {
    return this.#waiting.reduce(
      (least, { start }) => Math.min(least, start),
      Math.min(this.#stream.safe, this.#settled),
    )
  }

  get work(): number {
    return this.#stream.work
  }

  push(chunk: string): PatternSpan[] {
    const text = this.#tail + chunk
    const settled = readForms(this.#forms, text, this.#settled, this.#labels)
    this.#tail = text.slice(settled)
    this.#settled += settled
    return this.#take(this.#stream.push(chunk))
  }

  finish(): PatternSpan[] {
    this.#settled += this.#tail.length
    this.#tail = ''
    return this.#take(this.#stream.finish())
  }

  #take(found: readonly PatternSpan[]): PatternSpan[] {
    const known = this.#waiting.length === 0 ? found : [...this.#waiting, ...found]
    this.#waiting = known.filter(({ end }) => end > this.#settled)
    const final = known.filter(({ end }) => end <= this.#settled)
    const out =
      this.#forms.length === 0 ? final : final.flatMap((span) => outsideForms(span, this.#forms) ?? [])
    if (this.#forms.length > 0) {
      const { safe } = this
      this.#forms = this.#forms.filter(({ end }) => end > safe)
    }
    return [...out]
  }
}
