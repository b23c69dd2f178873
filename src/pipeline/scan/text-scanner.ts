// Scans one growing text of an answer: redacts personal data, stops at blocked keywords, and
// releases everything else once no later text can change it. The released text does not depend on
// where the pieces were cut, because decoder, detector, matcher and restorer are functions of the
// text alone.

import type { JsonSpan } from '../../chat/inner-json/json-span.ts'
import { JsonTextDecoder } from '../../chat/inner-json/json-text.ts'
import type { Finding, PiiKind } from '../../core/finding.ts'
import type { RuleAction } from '../../core/rule-action.ts'
import { STEP_UNITS, type Steps } from '../../core/steps.ts'
import type { KindSet } from '../../detect/pii/kinds.ts'
import type { KeywordHit, KeywordStream } from '../../keyword/matcher.ts'
import type { KeywordRules } from '../../policy/keyword-rules.ts'
import type { PiiDecision } from '../../policy/pii-decisions.ts'
import { isReplacing, type RuleReference } from '../../policy/rule.ts'
import type { ValueRules } from '../../policy/value-rules.ts'
import { CredentialFilter } from './credential-filter.ts'
import { GrowingValues, type SettledValues } from './growing-values.ts'
import type { OutsideValue, OutsideValues } from './outside-values.ts'
import type { Placeholders } from './placeholders.ts'
import { type KeywordForm, KeywordReplacer } from './replaced-keywords.ts'
import { type Restoration, TextRestorer } from './restore.ts'
import { joinOutputs, NO_OUTPUT, type ScanOutput } from './scan-output.ts'
import { ShapeFilter } from './shape-filter.ts'
import type { ShapedKinds } from './shaped-kinds.ts'
import { rawOf, releasedSpan, replaceFindings, type TextSpan, TextSpanQueue, viewOf } from './spans.ts'
import { type TextEdit, TextEdits } from './text-edits.ts'
import { writtenPlaceholder } from './written-placeholder.ts'

/** Text per step where rules find values: dozens of patterns take 0.1 ms for a hard character. */
const VALUE_STEP_UNITS = 128

/** What to scan for; shared by all texts of an answer. */
export interface ScanRules {
  readonly kinds: KindSet
  /** Rules that define kinds; absent or null without any. */
  readonly openKinds?: ValueRules | null
  /** @param value without escapes */
  decide(kind: PiiKind, value: string): PiiDecision
  /** Rules that replace keywords; absent or null without any. */
  readonly replacedKeywords?: ValueRules | null
  readonly keywords: KeywordRules | null
  /** The upstream's credential, which no answer may repeat; null without one. */
  readonly credential: string | null
  /** Values to restore; null when there are none. */
  readonly restoration: Restoration | null
  /** Kinds whose placeholders are written in the shape of a value; null when none is. */
  readonly shapes: ShapedKinds | null
  /** What recognisers found in the texts; absent without any that reads answers. */
  readonly outside?: OutsideValues
}

/** A value that was found, and the decision on it. */
export interface FoundKind {
  readonly kind: PiiKind
  readonly decision: PiiDecision
}

/** Findings and hits of one text. */
export interface ScanResult {
  /** Each finding whose action is not `allow`. */
  readonly findings: FoundKind[]
  /** Each rule once. */
  readonly keywordHits: RuleReference[]
}

/** A block of a text, as received and as released. */
export interface KeptText {
  /** Offset of the block in the text as received. */
  readonly from: number
  received: string
  output: ScanOutput
}

/** The beginning of a value: an address, five digits, or a token with a digit. */
const VALUE = /@|\d(?:\D{0,2}\d){4}|\d[\w-]{19}|[\w-]{19}\d/

export class TextScanner implements ScanResult {
  readonly findings: FoundKind[] = []
  readonly keywordHits: RuleReference[] = []
  /**
   * True once text was replaced or restored, so that fields that repeat it (logprobs) must be
   * dropped.
   */
  redacted = false
  /** Characters pushed so far. */
  receivedCharacters = 0
  /** Characters released so far. */
  sentCharacters = 0
  /**
   * What was received and released since `keepFromHere`; null before. It is the text of one block,
   * in a text that began in an earlier one.
   */
  kept: KeptText | null = null
  /** True when a rule blocks the rest of the text; nothing more is released. */
  blocked = false
  readonly #edits = new TextEdits()
  readonly #rules: ScanRules
  readonly #placeholders: Placeholders
  readonly #decoder: JsonTextDecoder
  readonly #isJson: boolean
  readonly #filter: CredentialFilter | null
  readonly #shapes: ShapeFilter | null
  readonly #values: GrowingValues
  #undetected = new TextSpanQueue()
  #matcher: KeywordStream | null
  #unmatched = new TextSpanQueue()
  readonly #replacer: KeywordReplacer | null
  readonly #restorer: TextRestorer | null
  /** Depth of open brackets in JSON text. */
  #depth = 0
  /** Text that was flushed while more may follow; scanned again in front of later text. */
  #released = ''
  /** Collects the text while it is flushed; null otherwise. */
  #releasing: string | null = null
  /** Offset in the detector where that text ends. */
  #releasedEnd = 0

  /** @param encoding `json` for text that is JSON (tool-call arguments) and must stay valid */
  constructor(rules: ScanRules, placeholders: Placeholders, encoding: 'plain' | 'json') {
    this.#rules = rules
    this.#placeholders = placeholders
    this.#decoder = new JsonTextDecoder(encoding)
    this.#isJson = encoding === 'json'
    this.#filter = rules.credential === null ? null : new CredentialFilter(rules.credential)
    this.#shapes = rules.shapes === null ? null : new ShapeFilter()
    this.#values = new GrowingValues(rules)
    const { replacedKeywords = null } = rules
    this.#replacer = replacedKeywords === null ? null : this.#newReplacer(replacedKeywords)
    this.#matcher = rules.keywords?.matcher.stream() ?? null
    this.#restorer =
      rules.restoration === null ? null : new TextRestorer(rules.restoration, rules.keywords, this.#edits)
  }

  /** Whether any text is held back. */
  get holds(): boolean {
    return (
      this.#decoder.holds ||
      this.#filter?.holds === true ||
      this.#shapes?.holds === true ||
      !this.#undetected.isEmpty ||
      !this.#unmatched.isEmpty ||
      (this.#replacer?.heldText ?? '') !== '' ||
      this.#restorer?.holds === true
    )
  }

  /** The text held back as it is sent; null where it is not known, as in JSON. */
  get heldText(): string | null {
    if (this.#isJson || this.#decoder.holds || this.#filter?.holds || this.#shapes?.holds) return null
    const held = [this.#restorer?.heldText, this.#replacer?.heldText, this.#unmatched.view]
    return held.join('') + this.#undetected.view
  }

  /** Whether the text held back may be the beginning of a value, not only words. */
  get holdsValue(): boolean {
    return VALUE.test(this.#undetected.view)
  }

  /** Characters received that were released, in any form. */
  get releasedCharacters(): number {
    return this.#edits.length
  }

  /** Where the text changed so far, counted as in the text as received. */
  get edits(): readonly TextEdit[] {
    return this.#edits.edits
  }

  /** Keeps what is received and released from here on. */
  keepFromHere(): void {
    this.kept = { from: this.receivedCharacters, received: '', output: NO_OUTPUT }
  }

  /** Reads the text as what follows `label`, which is not released. Call it before any piece. */
  readAfter(label: string): void {
    this.#released = label
  }

  /** Takes what recognisers found in the text from here on, known before the text arrives. */
  expect(values: readonly OutsideValue[]): void {
    this.#values.expect(values)
  }

  /** Takes a piece and returns what is safe. */
  push(piece: string): ScanOutput {
    if (this.blocked || piece === '') return NO_OUTPUT
    this.receivedCharacters += piece.length
    if (this.kept !== null) this.kept.received += piece
    return this.#output(this.#scanDecoded(this.#decoder.push(piece)))
  }

  /**
   * Flushes the text held back. Text may still arrive afterwards, because a delta of another text
   * can look like the end of this one. It never completes a value or a keyword that began before
   * the flush: the flushed text is scanned again in front of it.
   */
  finish(): ScanOutput {
    if (this.blocked) return NO_OUTPUT
    this.#releasing = ''
    const rest = this.#scanDecoded(this.#decoder.finish())
    const output = this.#output(rest + this.#flush())
    if (this.#releasing !== '') this.#released = this.#releasing
    this.#releasing = null
    return output
  }

  /** Scans a complete text. */
  *allSteps(text: string): Steps<ScanOutput> {
    return joinOutputs(yield* this.pushSteps(text), this.finish())
  }

  /** The same as `push`, in steps. */
  *pushSteps(text: string): Steps<ScanOutput> {
    const { openKinds = null, replacedKeywords = null } = this.#rules
    const units = openKinds === null && replacedKeywords === null ? STEP_UNITS : VALUE_STEP_UNITS
    let output = NO_OUTPUT
    for (let at = 0; at < text.length && !this.blocked; at += units) {
      if (at > 0) yield
      output = joinOutputs(output, this.push(text.slice(at, at + units)))
    }
    return output
  }

  #output(sent: string): ScanOutput {
    this.sentCharacters += sent.length
    const output = { sent, logged: this.#restorer?.takeLogged() ?? sent }
    if (this.kept !== null) this.kept.output = joinOutputs(this.kept.output, output)
    return output
  }

  /** Complete JSON is released at once: clients act on a tool call as soon as it parses. */
  #scanDecoded(spans: readonly JsonSpan[]): string {
    if (!this.#isJson) return this.#scan(spans)
    let out = ''
    let first = 0
    for (let i = 0; i < spans.length; i++) {
      const { kind, level, raw } = spans[i]!
      if (kind !== 'structure' || level > 0 || !this.#closes(raw)) continue
      out += this.#scan(spans.slice(first, i + 1)) + this.#flush()
      first = i + 1
    }
    return out + this.#scan(spans.slice(first))
  }

  #closes(structure: string): boolean {
    let closed = false
    for (const character of structure) {
      if (character === '{' || character === '[') this.#depth++
      else if ((character === '}' || character === ']') && --this.#depth === 0) closed = true
    }
    return closed
  }

  #scan(spans: readonly JsonSpan[]): string {
    if (this.blocked || this.#filter === null) return this.#readShapes(spans)
    const clean = this.#filter.push(spans)
    this.redacted ||= this.#filter.replaced
    return this.#readShapes(clean)
  }

  #readShapes(spans: readonly JsonSpan[]): string {
    return this.#detect(this.#shapes === null ? spans : this.#shapes.push(spans))
  }

  #detect(spans: readonly JsonSpan[]): string {
    if (this.blocked || spans.length === 0) return ''
    const continued = this.#released === '' ? spans : [releasedSpan(this.#released), ...spans]
    const repeated = this.#released.length
    this.#releasedEnd += repeated
    this.#released = ''
    for (const span of continued) this.#undetected.push(span)
    return this.#redact(this.#values.push(viewOf(continued), repeated, this.#undetected))
  }

  #flush(): string {
    if (this.blocked) return ''
    let out = this.#filter === null ? '' : this.#readShapes(this.#filter.finish())
    if (this.#shapes !== null) out += this.#detect(this.#shapes.finish())
    out += this.#redact(this.#values.finish(this.#undetected))
    if (this.#matcher !== null && !this.blocked) {
      out += this.#applyHits(this.#matcher.finish(), Number.POSITIVE_INFINITY)
    }
    if (!this.blocked) out += this.#releaseAll()
    this.#values.restart()
    this.#undetected = new TextSpanQueue()
    this.#matcher = this.#rules.keywords?.matcher.stream() ?? null
    this.#unmatched = new TextSpanQueue()
    this.#releasedEnd = 0
    return out
  }

  /**
   * Passes final text from the detector to the matcher. One piece at a time: when a keyword blocks
   * the text, counts must not depend on how the text was cut.
   */
  #redact({ pieces, safe }: SettledValues): string {
    let out = ''
    for (const piece of pieces) {
      const { decision } = piece.finding
      const { kind, start, end } = piece
      // This one was handled before the flush.
      if (end <= this.#releasedEnd) continue
      out += this.#match(this.#undetected.takeBefore(start))
      if (this.blocked) return out
      const base = this.#undetected.start
      const spans = this.#undetected.takeUntil(end)
      if (piece.isFirst) this.findings.push({ kind, decision })
      const { action } = decision
      if (action === 'block') return out + this.#stop()
      out += this.#match(isReplacing(action) ? this.#replace(spans, base, piece, action) : spans)
      if (this.blocked) return out
    }
    return out + this.#match(this.#undetected.takeUntil(safe))
  }

  /** @param base view offset of the first span */
  #replace(spans: readonly TextSpan[], base: number, finding: Finding, action: RuleAction): JsonSpan[] {
    this.redacted = true
    const { shapes } = this.#rules
    return replaceFindings(spans, base, [finding], (one, value, isNumber) => {
      const { kind } = one
      const isNumbered = action !== 'pseudonym'
      const names = isNumbered ? this.#placeholders : this.#placeholders.pseudonyms
      const isShaped = isNumbered && shapes?.has(kind) === true
      return writtenPlaceholder(names.for(kind, value), { kind, value, isShaped, isNumber })
    })
  }

  /** Releases the text before a blocked value. */
  #stop(): string {
    let rest = this.#matcher === null ? '' : this.#applyHits(this.#matcher.finish(), Number.POSITIVE_INFINITY)
    if (!this.blocked) rest += this.#releaseAll()
    this.blocked = true
    return rest
  }

  /** Passes text to the matcher. */
  #match(spans: readonly TextSpan[]): string {
    if (this.#matcher === null) return this.#release(spans)
    if (spans.length === 0) return ''
    for (const span of spans) this.#unmatched.push(span)
    const hits = this.#matcher.push(viewOf(spans))
    return this.#applyHits(hits, this.#matcher.safe)
  }

  #applyHits(hits: readonly KeywordHit[], safe: number): string {
    for (const { pattern, start } of hits) {
      const rule = this.#rules.keywords!.rules[pattern]!
      if (rule.action !== 'block') {
        this.#note(rule)
        continue
      }
      // Restored text before this hit may block first; then the hit does not count.
      let out = this.#release(this.#unmatched.takeUntil(start))
      if (!this.blocked) out += this.#releaseAll()
      if (!this.blocked) this.#note(rule)
      this.blocked = true
      return out
    }
    return this.#release(this.#unmatched.takeUntil(safe))
  }

  #newReplacer(rules: ValueRules): KeywordReplacer {
    const formOf: KeywordForm = (label, value) => {
      this.redacted = true
      return this.#placeholders.for(label, value)
    }
    return new KeywordReplacer(rules, formOf, (rule) => this.#note(rule))
  }

  /** Releases text to the client, keywords replaced and values restored. */
  #release(safe: readonly TextSpan[]): string {
    if (this.#releasing !== null) this.#releasing += viewOf(safe)
    return this.#send(this.#replacer === null ? safe : this.#replacer.push(safe))
  }

  #send(safe: readonly TextSpan[]): string {
    const spans = this.#releasedEnd === 0 ? safe : safe.filter(({ released }) => released !== true)
    if (this.#restorer === null) {
      this.#edits.add(spans)
      return rawOf(spans)
    }
    const sent = this.#restorer.push(spans)
    this.#apply(this.#restorer)
    return sent
  }

  #releaseAll(): string {
    const rest = this.#replacer === null ? '' : this.#send(this.#replacer.finish())
    if (this.#restorer === null || this.blocked) return rest
    const sent = this.#restorer.finish()
    this.#apply(this.#restorer)
    return rest + sent
  }

  #note(rule: RuleReference): void {
    if (!this.keywordHits.includes(rule)) this.keywordHits.push(rule)
  }

  #apply({ blocked, restored, keywordHits }: TextRestorer): void {
    for (const rule of keywordHits) this.#note(rule)
    this.redacted ||= restored
    this.blocked ||= blocked
  }
}
