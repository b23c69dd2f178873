// Reversible redaction: what was taken out of a prompt under a rule with the action `restore` is put back where the
// answer names its placeholder. This is the last thing that happens to a text on its way to the client; whoever keeps
// the answer gets the placeholders. Values live here for one call and must not be logged, counted or thrown.

import type { Run } from '../chat/arguments.ts'
import { GatewayError } from '../core/errors.ts'
import type { KeywordHit, KeywordMatcher, KeywordStream } from '../policy/keyword.ts'
import type { RuleReference } from '../policy/rule.ts'
import { keptOf, plainRun, RunQueue, rawOf, type SentRun, viewOf } from './runs.ts'

/**
 * Characters put back into one answer. A placeholder of ten characters may stand for a private key of sixteen
 * thousand, so an answer within its own limit could grow beyond all memory; no honest one comes near this.
 */
const MAX_RESTORED_CHARACTERS = 16 * 1024 * 1024

/** Every placeholder begins with it. */
const OPENING = '['

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

  /**
   * The value to put in the place of a placeholder; undefined for one that was not given out.
   * @throws GatewayError `upstream_unavailable` when the answer grows beyond MAX_RESTORED_CHARACTERS by it
   */
  take(form: string): string | undefined {
    const value = this.#values.get(form)
    if (value === undefined) return undefined
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

/**
 * One text with its values put back as it grows. Holds back the beginning of a placeholder that was given out, at most
 * all of it but one character, and what may begin a forbidden word.
 *
 * Keywords are matched here a second time, on what the client will read: the scan before has matched the text as it is
 * kept, and a word may stand in either alone (`project [EMAIL_1]` for a value that begins with `aurora`).
 */
export class RestoringText {
  readonly keywordHits: RuleReference[] = []
  /** A value has left. */
  restored = false
  /** A keyword rule forbids what comes next. */
  blocked = false
  readonly #restoration: Restoration
  readonly #keywords: KeywordMatcher | null
  readonly #encoding: 'plain' | 'json'
  #matcher: KeywordStream | null
  #unmatched = new RunQueue()
  /** What may become a placeholder, and what it says so far. */
  #held: Run[] = []
  #begun = ''
  #kept = ''

  /** @param encoding `json`: values are escaped, so that JSON stays JSON */
  constructor(restoration: Restoration, keywords: KeywordMatcher | null, encoding: 'plain' | 'json') {
    this.#restoration = restoration
    this.#keywords = keywords
    this.#encoding = encoding
    this.#matcher = keywords?.stream() ?? null
  }

  /** Takes what is redacted and final; returns what may leave, with values. */
  push(runs: readonly Run[]): string {
    if (this.blocked) return ''
    const read: SentRun[] = []
    for (const run of runs) this.#read(run, read)
    return this.#match(read)
  }

  /** Returns all that was held back. What comes later is a new text. */
  finish(): string {
    if (this.blocked) return ''
    const rest: SentRun[] = []
    this.#letGo(rest)
    let out = this.#match(rest)
    if (this.#matcher !== null && !this.blocked)
      out += this.#release(this.#matcher.finish(), Number.POSITIVE_INFINITY)
    this.#matcher = this.#keywords?.stream() ?? null
    this.#unmatched = new RunQueue()
    return out
  }

  /** What has left since the last time, as it is kept: with placeholders. */
  takeKept(): string {
    const kept = this.#kept
    this.#kept = ''
    return kept
  }

  /** All but escapes is taken apart: what it says is how it is written. */
  #read(run: Run, out: SentRun[]): void {
    if (run.kind === 'atom') {
      this.#take(run, out)
      return
    }
    const { view } = run
    let at = 0
    while (at < view.length) {
      if (this.#begun === '') {
        const opening = view.indexOf(OPENING, at)
        const end = opening < 0 ? view.length : opening
        if (end > at) out.push(plainRun(view.slice(at, end)))
        at = end
        if (opening < 0) return
      }
      this.#take(plainRun(view[at]!), out)
      at++
    }
  }

  /** No placeholder holds an opening bracket inside, so none can begin in what is held but at its beginning. */
  #take(unit: Run, out: SentRun[]): void {
    const grown = this.#begun + unit.view
    if (!this.#restoration.begins(grown)) {
      const wasHolding = this.#begun !== ''
      this.#letGo(out)
      if (wasHolding) this.#take(unit, out)
      else out.push(unit)
      return
    }
    this.#held.push(unit)
    this.#begun = grown
    const value = this.#restoration.take(grown)
    if (value === undefined) return
    const kept = rawOf(this.#held)
    this.#held = []
    this.#begun = ''
    out.push({ kind: 'atom', view: value, raw: this.#encode(value), kept })
  }

  #letGo(out: SentRun[]): void {
    out.push(...this.#held)
    this.#held = []
    this.#begun = ''
  }

  #encode(value: string): string {
    return this.#encoding === 'json' ? JSON.stringify(value).slice(1, -1) : value
  }

  #match(runs: readonly SentRun[]): string {
    if (this.#matcher === null) return this.#leave(runs)
    if (runs.length === 0) return ''
    for (const run of runs) this.#unmatched.push(run)
    const hits = this.#matcher.push(viewOf(runs))
    return this.#release(hits, this.#matcher.safe)
  }

  /** A value leaves whole or not at all. */
  #release(hits: readonly KeywordHit[], safe: number): string {
    for (const { rule, start } of hits) {
      if (!this.keywordHits.includes(rule)) this.keywordHits.push(rule)
      if (rule.action !== 'block') continue
      this.blocked = true
      return this.#leave(this.#unmatched.takeBefore(start))
    }
    return this.#leave(this.#unmatched.takeBefore(safe))
  }

  #leave(runs: readonly SentRun[]): string {
    this.#kept += keptOf(runs)
    this.restored ||= runs.some(({ kept }) => kept !== undefined)
    return rawOf(runs)
  }
}
