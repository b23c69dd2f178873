// Scores how much a text looks like an attempt to take over a model. The only file that the rest of
// the program imports from this folder. A score is a rank; what to do about it is up to the rules.

import { atOnce, type Steps } from '../../core/steps.ts'
import { type DecodedText, Decoder } from './encodings.ts'
import { Ideas } from './ideas.ts'
import { Lexicon } from './lexicon.ts'
import { type DecodedModel, type DecodedTable, decodeModel, type StoredModel } from './model.ts'
import { ReasonReader } from './reasons.ts'
import { type WeighedSpan, type WeighedView, Weigher } from './weigh.ts'
import { STORED_MODEL } from './weights.ts'

export interface InjectionScore {
  /** 0..1: a rank, not a probability. 0 for a text without words. */
  readonly score: number
  /**
   * Where the evidence is in the given text, UTF-16 offsets, end exclusive: the best window, or the
   * whole text when mode is `whole` and no window scores higher. Null for a text without words.
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
 * Subtracted from a window's margin before it may decide about a whole text, because messages often
 * hold quotes and examples.
 */
const WINDOW_HANDICAP = 0.7
/**
 * Below this score reasons are not read: nobody needs them, and they take a third as long as the
 * scoring.
 */
const REASONS_SCORE_MIN = 0.1
/** How many layers of encodings within encodings are decoded. */
const DECODE_DEPTH = 2

/**
 * Decodes the weights that ship with the program. Takes about two milliseconds; call it once. A
 * model with its buffers occupies about 4 MiB.
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
interface ScoredEvidence {
  readonly margin: number
  readonly text: string
  readonly start: number
  readonly end: number
  /** Maps `start` and `end` to offsets of the scored text. */
  readonly toSource: ToSource
  readonly disguise: string | null
}

/** Maps a span of a view to a span of the scored text. */
type ToSource = (start: number, end: number) => { start: number; end: number }

class Scorer {
  readonly #model: DecodedModel
  readonly #messages: Lexicon
  readonly #documents: Lexicon
  readonly #weigher = new Weigher()
  readonly #decoder = new Decoder()
  readonly #reasons = new ReasonReader()

  constructor(model: DecodedModel) {
    this.#model = model
    const ideas = new Ideas()
    this.#messages = new Lexicon(model.messages.weights, ideas)
    this.#documents = new Lexicon(model.documents.weights, ideas)
  }

  *score(text: string, mode: InjectionMode): Steps<InjectionScore> {
    const best = yield* this.#strongestEvidence(
      text,
      mode,
      (start, end) => ({ start, end }),
      null,
      DECODE_DEPTH,
    )
    if (best === null) return { score: 0, span: null, reasons: [] }
    const score = 1 / (1 + Math.exp(-best.margin))
    const reasons = score < REASONS_SCORE_MIN ? [] : this.#reasons.read(best.text, best.start, best.end)
    if (best.disguise !== null) reasons.push(best.disguise)
    return { score, span: best.toSource(best.start, best.end), reasons }
  }

  /** Returns the strongest evidence in the plain view, the leet view and every decoded view. */
  *#strongestEvidence(
    text: string,
    mode: InjectionMode,
    toSource: ToSource,
    disguise: string | null,
    depth: number,
  ): Steps<ScoredEvidence | null> {
    const lexicon = mode === 'whole' ? this.#messages : this.#documents
    const { plain, leet } = yield* this.#weigher.weigh(text, lexicon)
    let best = this.#evidence(text, plain, mode, toSource, disguise)
    if (leet !== null) best = stronger(best, this.#evidence(text, leet, mode, toSource, 'leet_spelling'))
    if (depth === 0) return best
    for (const decoded of this.#decoder.decodings(text)) {
      yield
      if (decoded === null) continue
      const decodedToSource = toSourceOfDecoded(decoded, toSource)
      const depthLeft = decoded.shrinks ? depth - 1 : 0
      best = stronger(
        best,
        yield* this.#strongestEvidence(decoded.text, mode, decodedToSource, 'encoded_text', depthLeft),
      )
    }
    return best
  }

  #evidence(
    text: string,
    view: WeighedView,
    mode: InjectionMode,
    toSource: ToSource,
    disguise: string | null,
  ): ScoredEvidence | null {
    if (view.tokens === 0) return null
    const table = this.#table(mode)
    const window = this.#margin(view.window, table.scale, table.windowCentre)
    const whole = this.#margin(view.whole, table.scale, table.wholeCentre)
    const margin = mode === 'windows' ? window : Math.max(whole, window - WINDOW_HANDICAP)
    // A window with the higher score locates the attack better than the whole text, so it is
    // reported even when the whole text sets the score.
    const { start, end } = mode === 'windows' || window > 0 ? view.window : view.whole
    return { margin, text, start, end, toSource, disguise }
  }

  #table(mode: InjectionMode): DecodedTable {
    return mode === 'whole' ? this.#model.messages : this.#model.documents
  }

  #margin(span: WeighedSpan, scale: number, centre: number): number {
    return this.#model.slope * (span.value * scale - centre)
  }
}

function stronger(one: ScoredEvidence | null, other: ScoredEvidence | null): ScoredEvidence | null {
  if (one === null || other === null) return one ?? other
  return other.margin > one.margin ? other : one
}

function toSourceOfDecoded(decoded: DecodedText, toSource: ToSource): ToSource {
  return (start, end) => {
    const first = decoded.origin(start)
    const last = decoded.origin(end - 1)
    return toSource(Math.min(first, last), Math.max(first, last) + 1)
  }
}
