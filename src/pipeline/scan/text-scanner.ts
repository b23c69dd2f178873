// One growing text of an answer: personal data redacted, forbidden words stopped, everything else let through as
// soon as nothing that could still come would change it. What leaves, put together, does not depend on how the
// text arrived in pieces: decoder, detector, matcher and what puts values back are functions of the text alone.

import { type JsonSpan, JsonTextDecoder } from '../../chat/json-text.ts'
import type { Finding, PiiKind } from '../../core/finding.ts'
import { STEP_UNITS, type Steps } from '../../core/steps.ts'
import { StreamDetector } from '../../detect/pii/detect-stream.ts'
import type { KindSet } from '../../detect/pii/kinds.ts'
import type { KeywordHit, KeywordStream } from '../../keyword/matcher.ts'
import type { KeywordRules } from '../../policy/keyword-rules.ts'
import { isReplacing, type RuleAction, type RuleReference } from '../../policy/rule.ts'
import { CredentialFilter } from './credential-filter.ts'
import type { Placeholders } from './placeholders.ts'
import { type Restoration, TextRestorer } from './restore.ts'
import { joinOutputs, NO_OUTPUT, type ScanOutput } from './scan-output.ts'
import {
  plainSpan,
  rawOf,
  releasedSpan,
  replaceFindings,
  type TextSpan,
  TextSpanQueue,
  viewOf,
} from './spans.ts'

/** What a scan is to do; shared by all texts of one answer. */
export interface ScanRules {
  readonly kinds: KindSet
  piiAction(kind: PiiKind): RuleAction
  readonly keywords: KeywordRules | null
  /** The upstream's, which no answer may repeat; null for an upstream without one. */
  readonly credential: string | null
  /** What is put back for the client; null where nothing is. */
  readonly restoration: Restoration | null
}

/** What was met in a text. */
export interface ScanResult {
  /** Kinds of what was found, `allow` left out; one item a finding. */
  readonly findings: PiiKind[]
  /** Each rule once. */
  readonly keywordHits: RuleReference[]
}

/** An address, digits, or what is as long as a token and has a digit: in part. */
const VALUE = /@|\d(?:\D{0,2}\d){4}|\d[\w-]{19}|[\w-]{19}\d/

export class TextScanner implements ScanResult {
  readonly findings: PiiKind[] = []
  readonly keywordHits: RuleReference[] = []
  /** Something was replaced or put back, so whatever repeats the text (logprobs) must go as well. */
  redacted = false
  /** Characters taken so far. */
  receivedCharacters = 0
  /** Characters returned so far. */
  sentCharacters = 0
  /** A rule forbids what comes next: nothing after what was returned may leave. */
  blocked = false
  readonly #rules: ScanRules
  readonly #placeholders: Placeholders
  readonly #decoder: JsonTextDecoder | null
  readonly #filter: CredentialFilter | null
  #detector: StreamDetector
  #undetected = new TextSpanQueue()
  #matcher: KeywordStream | null
  #unmatched = new TextSpanQueue()
  readonly #restorer: TextRestorer | null
  /** Brackets open in JSON text. */
  #depth = 0
  /** What left although more might have come: read once more, should more come. */
  #released = ''
  /** While it leaves; null at any other time. */
  #releasing: string | null = null
  /** Where in the detector's count that ends. */
  #releasedEnd = 0

  /** @param encoding `json`: the text is JSON (tool-call arguments) and stays valid JSON */
  constructor(rules: ScanRules, placeholders: Placeholders, encoding: 'plain' | 'json') {
    this.#rules = rules
    this.#placeholders = placeholders
    this.#decoder = encoding === 'json' ? new JsonTextDecoder() : null
    this.#filter = rules.credential === null ? null : new CredentialFilter(rules.credential)
    this.#detector = new StreamDetector(rules.kinds)
    this.#matcher = rules.keywords?.matcher.stream() ?? null
    this.#restorer =
      rules.restoration === null ? null : new TextRestorer(rules.restoration, rules.keywords, encoding)
  }

  /** Whether anything is held back. */
  get holds(): boolean {
    return (
      this.#decoder?.holds === true ||
      this.#filter?.holds === true ||
      !this.#undetected.isEmpty ||
      !this.#unmatched.isEmpty ||
      this.#restorer?.holds === true
    )
  }

  /** Whether what is held back is more than words: somebody would know what its beginning belongs to. */
  get holdsValue(): boolean {
    return VALUE.test(this.#undetected.view)
  }

  /** Takes the next piece and returns what may leave. */
  push(piece: string): ScanOutput {
    if (this.blocked || piece === '') return NO_OUTPUT
    this.receivedCharacters += piece.length
    return this.#output(
      this.#decoder === null ? this.#scan([plainSpan(piece)]) : this.#scanJson(this.#decoder.push(piece)),
    )
  }

  /**
   * Returns all that was held back. Should more come all the same, as after a piece of another text that was taken for
   * the end of this one, then a value or a word that began in what has left is not completed by it.
   */
  finish(): ScanOutput {
    if (this.blocked) return NO_OUTPUT
    this.#releasing = ''
    const rest = this.#decoder === null ? '' : this.#scanJson(this.#decoder.finish())
    const output = this.#output(rest + this.#flush())
    if (this.#releasing !== '') this.#released = this.#releasing
    this.#releasing = null
    return output
  }

  /** A text that is all there. */
  *allSteps(text: string): Steps<ScanOutput> {
    return joinOutputs(yield* this.pushSteps(text), this.finish())
  }

  /** As `push`, in steps. */
  *pushSteps(text: string): Steps<ScanOutput> {
    let output = NO_OUTPUT
    for (let at = 0; at < text.length && !this.blocked; at += STEP_UNITS) {
      if (at > 0) yield
      output = joinOutputs(output, this.push(text.slice(at, at + STEP_UNITS)))
    }
    return output
  }

  #output(sent: string): ScanOutput {
    this.sentCharacters += sent.length
    return { sent, logged: this.#restorer?.takeLogged() ?? sent }
  }

  /** JSON that is complete leaves at once: callers act on a tool call as soon as it parses. */
  #scanJson(spans: readonly JsonSpan[]): string {
    let out = ''
    let first = 0
    for (let i = 0; i < spans.length; i++) {
      if (spans[i]!.kind !== 'structure' || !this.#closes(spans[i]!.raw)) continue
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
    if (this.blocked || this.#filter === null) return this.#detect(spans)
    const clean = this.#filter.push(spans)
    this.redacted ||= this.#filter.replaced
    return this.#detect(clean)
  }

  #detect(spans: readonly JsonSpan[]): string {
    if (this.blocked || spans.length === 0) return ''
    const goingOn = this.#released === '' ? spans : [releasedSpan(this.#released), ...spans]
    this.#releasedEnd += this.#released.length
    this.#released = ''
    for (const span of goingOn) this.#undetected.push(span)
    const findings = this.#detector.push(viewOf(goingOn))
    return this.#redact(findings, this.#detector.safe)
  }

  #flush(): string {
    if (this.blocked) return ''
    let out = this.#filter === null ? '' : this.#detect(this.#filter.finish())
    out += this.#redact(this.#detector.finish(), Number.POSITIVE_INFINITY)
    if (this.#matcher !== null && !this.blocked) {
      out += this.#applyHits(this.#matcher.finish(), Number.POSITIVE_INFINITY)
    }
    if (!this.blocked) out += this.#releaseAll()
    this.#detector = new StreamDetector(this.#rules.kinds)
    this.#undetected = new TextSpanQueue()
    this.#matcher = this.#rules.keywords?.matcher.stream() ?? null
    this.#unmatched = new TextSpanQueue()
    this.#releasedEnd = 0
    return out
  }

  /**
   * From the detector to the matcher: text is final up to `safe`. Finding by finding, so that what is counted does
   * not depend on how much came at once when a word further on stops the text.
   */
  #redact(findings: readonly Finding[], safe: number): string {
    let out = ''
    for (const finding of findings) {
      // Dealt with when it left.
      if (finding.end <= this.#releasedEnd) continue
      out += this.#match(this.#undetected.takeBefore(finding.start))
      if (this.blocked) return out
      const action = this.#rules.piiAction(finding.kind)
      if (action !== 'allow') this.findings.push(finding.kind)
      if (action === 'block') return out + this.#stop()
      if (isReplacing(action)) out += this.#match(this.#replace(finding))
      if (this.blocked) return out
    }
    return out + this.#match(this.#undetected.takeUntil(safe))
  }

  #replace(finding: Finding): JsonSpan[] {
    this.redacted = true
    const base = this.#undetected.start
    return replaceFindings(this.#undetected.takeUntil(finding.end), base, [finding], (one, value) =>
      this.#placeholders.for(one.kind, value),
    )
  }

  /** What is still held came before the blocked value and may leave. */
  #stop(): string {
    let rest = this.#matcher === null ? '' : this.#applyHits(this.#matcher.finish(), Number.POSITIVE_INFINITY)
    if (!this.blocked) rest += this.#releaseAll()
    this.blocked = true
    return rest
  }

  /** From the matcher on. */
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
      // What came before may be stopped itself once values are put back, and then this hit is not reached.
      let out = this.#release(this.#unmatched.takeUntil(start))
      if (!this.blocked) out += this.#releaseAll()
      if (!this.blocked) this.#note(rule)
      this.blocked = true
      return out
    }
    return this.#release(this.#unmatched.takeUntil(safe))
  }

  /** To the client, values put back. */
  #release(leaving: readonly TextSpan[]): string {
    if (this.#releasing !== null) this.#releasing += viewOf(leaving)
    const spans = this.#releasedEnd === 0 ? leaving : leaving.filter(({ released }) => released !== true)
    if (this.#restorer === null) return rawOf(spans)
    const sent = this.#restorer.push(spans)
    this.#apply(this.#restorer)
    return sent
  }

  #releaseAll(): string {
    if (this.#restorer === null) return ''
    const sent = this.#restorer.finish()
    this.#apply(this.#restorer)
    return sent
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
