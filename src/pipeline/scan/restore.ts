// Restores redacted values in an answer: where it names a placeholder of a `restore` rule, the
// client gets the value. This is the last step before the client; the log keeps the placeholder.

import { escapeForJson, type JsonSpan } from '../../chat/inner-json/json-span.ts'
import { GatewayError } from '../../core/errors.ts'
import type { KeywordHit, KeywordStream } from '../../keyword/matcher.ts'
import type { KeywordRules } from '../../policy/keyword-rules.ts'
import type { RuleReference } from '../../policy/rule.ts'
import {
  beginsSpelling,
  type Escaping,
  escapeValue,
  FIRST_CHARACTER,
  mayHoldPlaceholder,
  readSpelling,
  withoutEscapes,
} from './placeholder-spelling.ts'
import { formOfShape, shapesIn } from './shapes.ts'
import {
  lengthOf,
  loggedOf,
  plainSpan,
  rawOf,
  signOf,
  type TextSpan,
  TextSpanQueue,
  viewOf,
  WHOLE_NUMBER,
} from './spans.ts'
import type { TextEdits } from './text-edits.ts'

/**
 * Maximum characters restored in one answer. A placeholder of ten characters may restore a key of
 * sixteen thousand, so a short answer could exhaust memory.
 */
const MAXIMUM_RESTORED_CHARACTERS = 16 * 1024 * 1024

/**
 * Placeholders of one call with the values to restore. Only the exact form counts, as written or
 * escaped in one way: `[email_1]` and unknown numbers stay. A value in the wrong place does more
 * harm than a placeholder.
 */
export class Restoration {
  readonly #texts: ReadonlyMap<string, string>
  readonly #numbers: ReadonlyMap<string, string>
  /** Sorted by code units, for the search by prefix. */
  readonly #forms: readonly string[]
  #left = MAXIMUM_RESTORED_CHARACTERS

  /**
   * @param texts values by placeholder, in the first spelling of each
   * @param numbers the same for values that were whole numbers of JSON
   */
  constructor(texts: ReadonlyMap<string, string>, numbers: ReadonlyMap<string, string> = new Map()) {
    this.#texts = texts
    this.#numbers = numbers
    this.#forms = [...new Set([...texts.keys(), ...numbers.keys()])].sort()
  }

  /** Reports whether this is a placeholder to restore. */
  has(form: string): boolean {
    return this.#texts.has(form) || this.#numbers.has(form)
  }

  /** Reports whether a JSON string that is this placeholder is restored as a number. */
  isNumber(form: string): boolean {
    return this.#numbers.has(form) && !this.#texts.has(form)
  }

  /**
   * Returns the value of a placeholder, which must be one to restore.
   * @param asNumber whether a spelling as a number is preferred
   * @throws GatewayError `upstream_unavailable` beyond MAXIMUM_RESTORED_CHARACTERS
   */
  take(form: string, asNumber = false): string {
    const text = this.#texts.get(form)
    const number = this.#numbers.get(form)
    const value = ((asNumber ? number : text) ?? text ?? number)!
    this.#left -= value.length
    if (this.#left < 0) {
      throw new GatewayError(
        'upstream_unavailable',
        `The values restored in the upstream's answer have more than ${MAXIMUM_RESTORED_CHARACTERS} characters.`,
      )
    }
    return value
  }

  /** Reports whether a placeholder begins with `start`. */
  begins(start: string): boolean {
    let low = 0
    let high = this.#forms.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#forms[middle]! < start) low = middle + 1
      else high = middle
    }
    return this.#forms[low]?.startsWith(start) === true
  }
}

/**
 * Prefilter: false for a text of an answer without a placeholder, in brackets or in a shape.
 * @param view the text, decoded
 */
export const mayBeRestored = (
  { restoration, shapes }: { readonly restoration: Restoration | null; readonly shapes: object | null },
  view: string,
): boolean =>
  (restoration !== null && mayHoldPlaceholder(view)) || (shapes !== null && shapesIn(view).length > 0)

/** The value percent-encoded as often as the placeholder is. */
const percentEncodedAs = (placeholder: string, value: string): string =>
  placeholder.includes('%')
    ? escapeValue(value, placeholder.includes('%25') ? 'percent twice' : 'percent')
    : value

/**
 * Restores the values of one growing text. Holds back what may become a placeholder or a blocked
 * keyword; that is less than one placeholder, or one keyword.
 * Matches keywords once more, in the restored text. The text may match in either form: with
 * `[EMAIL_1]` for `aurora@example.com`, `project [EMAIL_1]` matches `project aurora` only when
 * restored.
 */
export class TextRestorer {
  readonly keywordHits: RuleReference[] = []
  /** True once a value was restored. */
  restored = false
  /** True when a keyword rule blocks the rest of the text. */
  blocked = false
  readonly #restoration: Restoration
  readonly #edits: TextEdits
  readonly #keywords: KeywordRules | null
  #matcher: KeywordStream | null
  #unmatched = new TextSpanQueue()
  /** Spans held back as a possible placeholder, and the characters they spell. */
  #held: JsonSpan[] = []
  #form = ''
  /** How the possible placeholder is escaped; null while no character is. */
  #spelling: Escaping | null = null
  /** How its first character is escaped. */
  #opening: Escaping | null = null
  /** Whether a later character is escaped. */
  #isEscapedInside = false
  /** Spans held back as the beginning of its next character, and their view. */
  #begun: JsonSpan[] = []
  #written = ''
  /** The quote before it, when it opens a value of JSON. */
  #quote: JsonSpan | null = null
  /** True once it is complete and, with both quotes, stands for a number. */
  #awaitsQuote = false
  #logged = ''

  /** @param edits receives what is released */
  constructor(restoration: Restoration, keywords: KeywordRules | null, edits: TextEdits) {
    this.#edits = edits
    this.#restoration = restoration
    this.#keywords = keywords
    this.#matcher = keywords?.matcher.stream() ?? null
  }

  get holds(): boolean {
    return this.#holdsForm || this.#quote !== null || !this.#unmatched.isEmpty
  }

  /** The text held back. */
  get heldText(): string {
    return this.#unmatched.view + rawOf([...this.#held, ...this.#begun])
  }

  /** Takes redacted text and returns what is safe, with values. */
  push(spans: readonly JsonSpan[]): string {
    if (this.blocked) return ''
    const read: TextSpan[] = []
    for (const span of spans) this.#read(span, read)
    return this.#match(read)
  }

  /** Flushes the text held back. Later text counts as a new text. */
  finish(): string {
    if (this.blocked) return ''
    const rest: TextSpan[] = []
    this.#flushHeld(rest)
    let out = this.#match(rest)
    if (this.#matcher !== null && !this.blocked)
      out += this.#applyHits(this.#matcher.finish(), Number.POSITIVE_INFINITY)
    this.#matcher = this.#keywords?.matcher.stream() ?? null
    this.#unmatched = new TextSpanQueue()
    return out
  }

  /** Returns the logged form of the text released since the last call. */
  takeLogged(): string {
    const logged = this.#logged
    this.#logged = ''
    return logged
  }

  /** Reads a span. Escapes stay whole; all other text may be cut. */
  #read(span: JsonSpan, out: TextSpan[]): void {
    const { view, raw, level } = span
    if (span.received !== undefined) {
      const unsigned = view.slice(signOf(span).length)
      // A value that the model wrote out; it is one of the prompt, or new in the answer.
      this.#flushHeld(out)
      const form = formOfShape(unsigned) ?? withoutEscapes(unsigned)
      out.push(this.#restoration.has(form) ? this.#valueFor(form, span) : span)
      return
    }
    if (this.#awaitsQuote) {
      if (span.kind === 'structure' && view === '"') {
        out.push(this.#number(span))
        return
      }
      this.#restore(out)
    }
    if (span.opensValue) {
      this.#flushHeld(out)
      this.#quote = span
      return
    }
    if ((span.kind === 'atom' || span.kind === 'number') && this.#restoration.has(view)) {
      this.#flushHeld(out)
      out.push(this.#valueFor(view, span))
      return
    }
    if (view !== raw || span.kind === 'atom') {
      this.#take(span, out)
      return
    }
    let from = 0
    for (;;) {
      while (this.#holdsForm && from < view.length) this.#take(plainSpan(view[from++]!, level), out)
      if (from === view.length) return
      FIRST_CHARACTER.lastIndex = from
      const first = FIRST_CHARACTER.exec(view)?.index ?? view.length
      if (first > from) {
        this.#flushQuote(out)
        out.push(plainSpan(view.slice(from, first), level))
      }
      if (first === view.length) return
      this.#take(plainSpan(view[first]!, level), out)
      from = first + 1
    }
  }

  /** The value for a span that is a whole placeholder, such as a shape. */
  #valueFor(form: string, span: JsonSpan): TextSpan {
    const { kind, raw, level, quote = '"' } = span
    const value = signOf(span) + this.#restoration.take(form, kind === 'number')
    const written = escapeForJson(percentEncodedAs(raw, value), level)
    const received = lengthOf(span)
    if (kind !== 'number') return { kind: 'atom', view: value, raw: written, level, logged: raw, received }
    const isNumber = WHOLE_NUMBER.test(value)
    const inQuotes = isNumber ? value : quote + escapeForJson(value, level + 1) + quote
    return { kind: 'number', view: value, raw: inQuotes, level, logged: raw, received }
  }

  get #holdsForm(): boolean {
    return this.#form !== '' || this.#written !== ''
  }

  /** Adds to the possible placeholder, or flushes what can no longer become one. */
  #take(unit: JsonSpan, out: TextSpan[]): void {
    if (this.#awaitsQuote) this.#restore(out)
    if (this.#extend(unit, out)) return
    // The character that does not fit may begin the next placeholder, as in `[EMAIL\[EMAIL_1\]`.
    const again = this.#form === '' ? [] : this.#begun
    if (again.length > 0) this.#begun = []
    this.#flushHeld(out)
    for (const span of [...again, unit]) if (!this.#extend(span, out)) this.#flushHeld(out, span)
  }

  /** Adds to the possible placeholder; false without any change if it can no longer become one. */
  #extend(unit: JsonSpan, out: TextSpan[]): boolean {
    const written = this.#written + unit.view
    const spelling = readSpelling(written)
    if (spelling === null) {
      if (!beginsSpelling(written)) return false
      this.#begun.push(unit)
      this.#written = written
      return true
    }
    const { character, escaping } = spelling
    const form = this.#form + character
    const isMixed = escaping !== null && this.#spelling !== null && escaping !== this.#spelling
    if (isMixed || !this.#restoration.begins(form) || !this.#closes(character, escaping)) return false
    this.#held.push(...this.#begun, unit)
    this.#begun = []
    this.#written = ''
    this.#spelling ??= escaping
    if (this.#form === '') this.#opening = escaping
    else if (escaping !== null) this.#isEscapedInside = true
    this.#form = form
    if (!this.#restoration.has(form)) return true
    if (this.#quote !== null && this.#spelling === null && this.#restoration.isNumber(form))
      this.#awaitsQuote = true
    else this.#restore(out)
    return true
  }

  /**
   * Whether a bracket may close the placeholder: escaped like the one that opens it. Markdown needs
   * one escape of the two.
   */
  #closes(character: string, escaping: Escaping | null): boolean {
    if (character !== ']' || escaping === this.#opening) return true
    return escaping === null && (this.#opening === 'markdown' || this.#opening === 'markdown in json')
  }

  /** The number for a JSON string that is a placeholder. */
  #number(closing: JsonSpan): TextSpan {
    const value = this.#restoration.take(this.#form)
    const { level } = this.#quote!
    const logged = rawOf([this.#quote!, ...this.#held, closing])
    this.#quote = null
    this.#forget()
    return { kind: 'number', view: value, raw: value, level, logged, received: logged.length }
  }

  #flushQuote(out: TextSpan[]): void {
    if (this.#quote === null) return
    out.push(this.#quote)
    this.#quote = null
  }

  /** Replaces the complete placeholder by its value. */
  #restore(out: TextSpan[]): void {
    this.#flushQuote(out)
    // In `C:\[EMAIL_1]` nothing else is escaped, so the backslash belongs to the text before it.
    if (this.#opening !== null && !this.#isEscapedInside) {
      while (this.#held[0]!.view === '\\') out.push(this.#held.shift()!)
      this.#spelling = null
    }
    const value = this.#restoration.take(this.#form)
    const logged = rawOf(this.#held)
    // A bracket may be escaped once more than the text around it.
    const level = Math.max(...this.#held.map((span) => span.level))
    const raw = escapeForJson(this.#spelling === null ? value : escapeValue(value, this.#spelling), level)
    this.#forget()
    out.push({ kind: 'atom', view: value, raw, level, logged, received: logged.length })
  }

  #flushHeld(out: TextSpan[], ...more: readonly JsonSpan[]): void {
    if (this.#awaitsQuote) this.#restore(out)
    this.#flushQuote(out)
    out.push(...this.#held, ...this.#begun, ...more)
    this.#forget()
  }

  #forget(): void {
    this.#awaitsQuote = false
    this.#held = []
    this.#form = ''
    this.#spelling = null
    this.#opening = null
    this.#isEscapedInside = false
    this.#begun = []
    this.#written = ''
  }

  #match(spans: readonly TextSpan[]): string {
    if (this.#matcher === null) return this.#release(spans)
    if (spans.length === 0) return ''
    for (const span of spans) this.#unmatched.push(span)
    const hits = this.#matcher.push(viewOf(spans))
    return this.#applyHits(hits, this.#matcher.safe)
  }

  /** Releases text up to `safe`, or up to the first blocking hit. A value is released whole. */
  #applyHits(hits: readonly KeywordHit[], safe: number): string {
    for (const { pattern, start } of hits) {
      const rule = this.#keywords!.rules[pattern]!
      if (!this.keywordHits.includes(rule)) this.keywordHits.push(rule)
      if (rule.action !== 'block') continue
      this.blocked = true
      return this.#release(this.#unmatched.takeBefore(start))
    }
    return this.#release(this.#unmatched.takeBefore(safe))
  }

  #release(spans: readonly TextSpan[]): string {
    this.#logged += loggedOf(spans)
    this.#edits.add(spans)
    this.restored ||= spans.some(({ logged }) => logged !== undefined)
    return rawOf(spans)
  }
}
