// Scores how much a text looks like an attempt to take over a model. The only file that the rest of
// the program imports from this folder. A score is a rank; what to do about it is up to the rules.

import { atOnce, type Steps } from '../../core/steps.ts'
import { type DecodedText, Decoder } from './encodings.ts'
import { readLeet } from './leet-text.ts'
import { type DecodedModel, decodeModel, type StoredModel } from './model.ts'
import { ReasonReader } from './reasons.ts'
import type { WeighedSpan } from './suspects.ts'
import { type WeighedText, Weigher } from './weigh.ts'
import { STORED_MODEL } from './weights.ts'

export interface InjectionScore {
  /** 0..1: a rank, not a probability. 0 for a text without words. */
  readonly score: number
  /**
   * Where the evidence is in the given text, UTF-16 offsets, end exclusive: the best window, or the
   * whole text when mode is `whole` and no window alone is an attack. Null for a text without
   * words.
   */
  readonly span: { readonly start: number; readonly end: number } | null
  /**
   * Short names of known patterns in the evidence, for people to read. They do not change the
   * score. Empty below a score of 0.1.
   */
  readonly reasons: readonly string[]
}

/**
 * `whole` for what a user writes. `windows` for tool results and documents, where an attack is a
 * few lines among many.
 */
export type InjectionMode = 'whole' | 'windows'

export interface InjectionModel {
  readonly version: string
  /** The score from which the model itself calls a text an attack. */
  readonly threshold: number
  /** Never throws. Takes time linear in the text. The same text always gets the same score. */
  score(text: string, mode: InjectionMode): InjectionScore
  /** Like `score`, in steps. */
  scoreSteps(text: string, mode: InjectionMode): Steps<InjectionScore>
}

/**
 * Below this score reasons are not read: nobody needs them, and they take a third as long as the
 * scoring.
 */
const REASONS_SCORE_MIN = 0.1
const REASONS_MARGIN_MIN = Math.log(REASONS_SCORE_MIN / (1 - REASONS_SCORE_MIN))
/** UTF-16 units before and after the strongest words in which reasons are read: a paragraph. */
const REASONS_CONTEXT = 160
/**
 * Words that mix digits and letters before a text is also read as leet. One word in fifty may be a
 * part number, so a single one does not count.
 */
const LEET_WORDS_MIN = 2
/** UTF-16 code units that are read as leet at a time. Bounds memory. */
const LEET_UNITS_MAX = 65_536
/**
 * Subtracted from the margin of a sentence of a long message: of many sentences some look odd
 * alone.
 */
const SENTENCE_HANDICAP = 1
/** Subtracted instead where the sentence is a quotation, as in a text about attacks. */
const QUOTATION_HANDICAP = 3
/** A quotation that opens the sentence or follows a colon, or that ends with a sentence. */
const QUOTATION = /(?:^|[:：,，]\s?)["“„«‹「『]|[.!?。！？…]\s?["”“»›」』]/
/** UTF-16 units before and after a sentence where its quotation marks are. */
const QUOTATION_MARGIN = 2
/** How many layers of encodings within encodings are decoded. */
const DECODE_DEPTH = 2

/**
 * Decodes the weights that ship with the program. Takes about two milliseconds; call it once. A
 * model with its buffers occupies about 2 MiB.
 * @throws Error when the weights do not fit this version of the code
 */
export function loadInjectionModel(): InjectionModel {
  return createInjectionModel(STORED_MODEL)
}

/** Like loadInjectionModel, for given weights. */
export function createInjectionModel(stored: StoredModel): InjectionModel {
  const model = decodeModel(stored)
  const scorer = new Scorer(model)
  return {
    version: model.version,
    threshold: model.threshold,
    score: (text, mode) => atOnce(scorer.score(text, mode)),
    scoreSteps: (text, mode) => scorer.score(text, mode),
  }
}

/**
 * A span with its margin. Offsets refer to `text`, which may be a decoded view of the scored text.
 */
interface ScoredEvidence extends WeighedSpan {
  readonly text: string
  /** Maps `start` and `end` to offsets of the scored text. */
  readonly toSource: ToSource
  readonly disguise: string | null
}

/** Maps a span of a view to a span of the scored text. */
type ToSource = (start: number, end: number) => { start: number; end: number }

class Scorer {
  readonly #model: DecodedModel
  readonly #weigher = new Weigher()
  readonly #decoder = new Decoder()
  readonly #reasons = new ReasonReader()

  constructor(model: DecodedModel) {
    this.#model = model
  }

  *score(text: string, mode: InjectionMode): Steps<InjectionScore> {
    const best = yield* this.#strongestEvidence(text, mode, SAME_SPAN, null, DECODE_DEPTH)
    if (best === null) return { score: 0, span: null, reasons: [] }
    const { start, end } = yield* this.#locate(best, mode)
    const score = 1 / (1 + Math.exp(-best.margin))
    const from = Math.max(0, start - REASONS_CONTEXT)
    const to = Math.min(best.text.length, end + REASONS_CONTEXT)
    const reasons = best.margin < REASONS_MARGIN_MIN ? [] : this.#reasons.read(best.text, from, to)
    if (best.disguise !== null) reasons.push(best.disguise)
    return { score, span: best.toSource(start, end), reasons }
  }

  /** Returns the strongest evidence in the plain view, the leet view and every decoded view. */
  *#strongestEvidence(
    text: string,
    mode: InjectionMode,
    toSource: ToSource,
    disguise: string | null,
    depth: number,
  ): Steps<ScoredEvidence | null> {
    const weighed = yield* this.#weigh(text, mode)
    let best: ScoredEvidence | null = weighed && { ...weighed, text, toSource, disguise }
    if (weighed !== null && weighed.mixedWords >= LEET_WORDS_MIN) {
      for (let from = 0; from < text.length; from += LEET_UNITS_MAX) {
        const part = readLeet(text.slice(from, from + LEET_UNITS_MAX))
        const leet = yield* this.#weigh(part, mode)
        const shift: ToSource = (start, end) => toSource(start + from, end + from)
        if (leet !== null && (best === null || leet.margin > best.margin))
          best = { ...leet, text: part, toSource: shift, disguise: 'leet_spelling' }
      }
    }
    if (depth === 0) return best
    for (const decoded of this.#decoder.decodings(text)) {
      yield
      if (decoded === null) continue
      const found = yield* this.#strongestEvidence(
        decoded.text,
        mode,
        toSourceOfDecoded(decoded, toSource),
        'encoded_text',
        decoded.shrinks ? depth - 1 : 0,
      )
      if (best === null || (found !== null && found.margin > best.margin)) best = found
    }
    return best
  }

  *#weigh(text: string, mode: InjectionMode): Steps<WeighedText | null> {
    const { messages, documents } = this.#model
    if (mode === 'windows') return yield* this.#weigher.weighWindows(text, documents)
    const whole = yield* this.#weigher.weighWhole(text, messages)
    if (whole === null) return null
    let best: WeighedText = whole
    for (const { start, end } of whole.suspects) {
      const sentence = text.slice(start, end)
      const document = yield* this.#weigher.weighWindows(sentence, documents)
      const message = yield* this.#weigher.weighWhole(sentence, messages)
      if (document === null || message === null) continue
      const around = text.slice(Math.max(0, start - QUOTATION_MARGIN), end + QUOTATION_MARGIN).trimStart()
      const handicap = QUOTATION.test(around) ? QUOTATION_HANDICAP : SENTENCE_HANDICAP
      const margin = (message.margin + document.margin) / 2 - handicap
      if (margin > best.margin) best = { ...whole, margin, start, end }
    }
    return best
  }

  /** Returns the window of a whole text that is an attack alone, or the span of the evidence. */
  *#locate(best: ScoredEvidence, mode: InjectionMode): Steps<Pick<WeighedSpan, 'start' | 'end'>> {
    if (mode === 'windows' || best.margin < REASONS_MARGIN_MIN) return best
    const window = yield* this.#weigher.weighWindows(best.text, this.#model.messages)
    return window !== null && window.margin > 0 ? window : best
  }
}

const SAME_SPAN: ToSource = (start, end) => ({ start, end })

function toSourceOfDecoded(decoded: DecodedText, toSource: ToSource): ToSource {
  return (start, end) => {
    const first = decoded.origin(start)
    const last = decoded.origin(end - 1)
    return toSource(Math.min(first, last), Math.max(first, last) + 1)
  }
}
