// Reversible redaction: what was taken out of a prompt under a rule with the action `restore` is put back where the
// answer names its placeholder. This is the last thing that happens to a text on its way to the client; whoever keeps
// the answer gets the placeholders.

import type { JsonSpan } from '../../chat/json-text.ts'
import { GatewayError } from '../../core/errors.ts'
import type { KeywordHit, KeywordStream } from '../../keyword/matcher.ts'
import type { KeywordRules } from '../../policy/keyword-rules.ts'
import type { RuleReference } from '../../policy/rule.ts'
import { loggedOf, plainSpan, rawOf, type TextSpan, TextSpanQueue, viewOf } from './spans.ts'

const CLOSING = ']'
/** The rest of what may be one: only what it consists of, and its end. Always matches, be it nothing. */
const AFTER_OPENING = /[A-Z0-9_]*\]?/y

/**
 * One text with its values put back as it grows. Holds back the beginning of a placeholder that was given out, at most
 * all of it but one character, and what may begin a forbidden word.
 *
 * Keywords are matched here a second time, on what the client will read: the scan before has matched the text as it is
 * kept, and a word may stand in either alone (`project [EMAIL_1]` for a value that begins with `aurora`).
 */
export class TextRestorer {
  readonly keywordHits: RuleReference[] = []
  /** A value has left. */
  restored = false
  /** A keyword rule forbids what comes next. */
  blocked = false
  readonly #restoration: Restoration
  readonly #keywords: KeywordRules | null
  readonly #encoding: 'plain' | 'json'
  /** Values are written as in a JSON string; null until the text has begun. */
  #escaping: boolean | null = null
  #matcher: KeywordStream | null
  #unmatched = new TextSpanQueue()
  /** What may become a placeholder, and what it says so far. */
  #held: JsonSpan[] = []
  #form = ''
  #logged = ''

  /**
   * @param encoding `json`: values are escaped, so that JSON stays JSON; in a plain text, too, that begins with a brace,
   * as structured output does. Few values hold anything that escaping would change.
   */
  constructor(restoration: Restoration, keywords: KeywordRules | null, encoding: 'plain' | 'json') {
    this.#restoration = restoration
    this.#keywords = keywords
    this.#encoding = encoding
    this.#matcher = keywords?.matcher.stream() ?? null
  }

  get holds(): boolean {
    return this.#form !== '' || !this.#unmatched.isEmpty
  }

  /** Takes what is redacted and final; returns what may leave, with values. */
  push(spans: readonly JsonSpan[]): string {
    if (this.blocked) return ''
    const read: TextSpan[] = []
    for (const span of spans) {
      this.#escaping ??= this.#readBeginning(span.view)
      this.#read(span, read)
    }
    return this.#match(read)
  }

  /** Returns all that was held back. What comes later is a new text. */
  finish(): string {
    if (this.blocked) return ''
    const rest: TextSpan[] = []
    this.#flushHeld(rest)
    let out = this.#match(rest)
    if (this.#matcher !== null && !this.blocked)
      out += this.#applyHits(this.#matcher.finish(), Number.POSITIVE_INFINITY)
    this.#matcher = this.#keywords?.matcher.stream() ?? null
    this.#unmatched = new TextSpanQueue()
    this.#escaping = null
    return out
  }

  /** What has left since the last time, as it is kept: with placeholders. */
  takeLogged(): string {
    const logged = this.#logged
    this.#logged = ''
    return logged
  }

  /** All but an escape is written as it says, and may be taken apart. */
  #read(span: JsonSpan, out: TextSpan[]): void {
    if (span.kind === 'atom') {
      if (!this.#extend(span, out) && !this.#extend(span, out)) out.push(span)
      return
    }
    const { view } = span
    let at = 0
    while (this.#form !== '' && at < view.length && this.#extend(plainSpan(view[at]!), out)) at++
    let from = at
    for (;;) {
      const opening = view.indexOf(OPENING, at)
      if (opening < 0) break
      AFTER_OPENING.lastIndex = opening + 1
      AFTER_OPENING.test(view)
      at = AFTER_OPENING.lastIndex
      const isOpen = at === view.length && view[at - 1] !== CLOSING
      const form = view.slice(opening, at)
      if (isOpen ? !this.#restoration.begins(form) : !this.#restoration.has(form)) continue
      if (opening > from) out.push(plainSpan(view.slice(from, opening)))
      from = at
      this.#held.push(plainSpan(form))
      this.#form = form
      if (!isOpen) this.#restore(out)
    }
    if (from < view.length) out.push(plainSpan(view.slice(from)))
  }

  /**
   * Adds to what is held, if that can still become a placeholder; lets go of it if not, and returns false. No
   * placeholder holds an opening bracket inside, so none can begin in what is let go.
   */
  #extend(unit: JsonSpan, out: TextSpan[]): boolean {
    const form = this.#form + unit.view
    if (!this.#restoration.begins(form)) {
      this.#flushHeld(out)
      return false
    }
    this.#held.push(unit)
    this.#form = form
    if (this.#restoration.has(form)) this.#restore(out)
    return true
  }

  /** What is held is a placeholder. */
  #restore(out: TextSpan[]): void {
    const value = this.#restoration.take(this.#form)
    const logged = rawOf(this.#held)
    this.#held = []
    this.#form = ''
    out.push({ kind: 'atom', view: value, raw: this.#encode(value), logged })
  }

  #flushHeld(out: TextSpan[]): void {
    out.push(...this.#held)
    this.#held = []
    this.#form = ''
  }

  #readBeginning(view: string): boolean | null {
    if (this.#encoding === 'json') return true
    const beginning = view.trimStart()
    return beginning === '' ? null : beginning.startsWith('{')
  }

  #encode(value: string): string {
    return this.#escaping === true ? JSON.stringify(value).slice(1, -1) : value
  }

  #match(spans: readonly TextSpan[]): string {
    if (this.#matcher === null) return this.#release(spans)
    if (spans.length === 0) return ''
    for (const span of spans) this.#unmatched.push(span)
    const hits = this.#matcher.push(viewOf(spans))
    return this.#applyHits(hits, this.#matcher.safe)
  }

  /** A value leaves whole or not at all. */
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
    this.restored ||= spans.some(({ logged }) => logged !== undefined)
    return rawOf(spans)
  }
}

/**
 * Characters put back into one answer. A placeholder of ten characters may stand for a private key of sixteen
 * thousand, so an answer within its own limit could grow beyond all memory; no honest one comes near this.
 */
const MAX_RESTORED_CHARACTERS = 16 * 1024 * 1024

/** Every placeholder begins with it. */
export const OPENING = '['

/**
 * The placeholders of one call that are undone, with their values. Only the exact form is: `[email_1]`, `\[EMAIL\_1\]`
 * and numbers that were not given out stay as the model wrote them, because a client that sees a placeholder loses
 * little, and one that gets a value in the wrong place may lose much.
 */
export class Restoration {
  readonly #values: ReadonlyMap<string, string>
  /** In the order of their code units, so that prefixes can be looked up. */
  readonly #forms: readonly string[]
  #left = MAX_RESTORED_CHARACTERS

  /** @param values by placeholder; as first written where one value has several writings */
  constructor(values: ReadonlyMap<string, string>) {
    this.#values = values
    this.#forms = [...values.keys()].sort()
  }

  /** Whether a placeholder was given out for a value that is put back. */
  has(form: string): boolean {
    return this.#values.has(form)
  }

  /**
   * The value to put in the place of a placeholder that was given out.
   * @throws GatewayError `upstream_unavailable` when the answer grows beyond MAX_RESTORED_CHARACTERS by it
   */
  take(form: string): string {
    const value = this.#values.get(form)!
    this.#left -= value.length
    if (this.#left < 0) {
      throw new GatewayError(
        'upstream_unavailable',
        `The upstream's answer names so many placeholders that the values for them take more than ${MAX_RESTORED_CHARACTERS} characters.`,
      )
    }
    return value
  }

  /** False for a text in which no placeholder can stand. */
  mayOccurIn(text: string): boolean {
    return text.includes(OPENING)
  }

  /** Whether some placeholder that was given out begins with this. */
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
