// How much a text looks like an attempt to take over a model: the one door to this folder. Scores are ranks, and what
// is done about them is policy's business.

import { atOnce, type Steps } from '../../core/steps.ts'
import { type Decoded, Decoder } from './encodings.ts'
import { Ideas } from './ideas.ts'
import { Lexicon } from './lexicon.ts'
import { type DecodedModel, type DecodedTable, decodeModel, type StoredModel } from './model.ts'
import { ReasonReader } from './reasons.ts'
import { type Scan, Scanner, type WeighedSpan } from './weigh.ts'
import { STORED_MODEL } from './weights.ts'

export interface InjectionScore {
  /** 0..1, a rank and not a probability; 0 for a text without words. */
  readonly score: number
  /**
   * Evidence in the given text, UTF-16 offsets, end exclusive: the best window, or the whole text when whole-text
   * scoring finds nothing smaller that stands out. Null for a text without words.
   */
  readonly span: { readonly start: number; readonly end: number } | null
  /** Short names of the handful of known patterns seen, for people, from a score of 0.1; they add nothing to it. */
  readonly reasons: readonly string[]
}

/** `whole` for what a user writes, `windows` for tool results and documents, where an attack is a few lines of many. */
export type InjectionMode = 'whole' | 'windows'

export interface InjectionModel {
  readonly version: string
  /** The score from which the model itself would call a text an attack. */
  readonly threshold: number
  /** Never throws. Time is linear in the text, memory bounded by it; the same text always scores the same. */
  score(text: string, mode: InjectionMode): InjectionScore
  /** As `score`, in steps. */
  scoreSteps(text: string, mode: InjectionMode): Steps<InjectionScore>
}

/** How much further a window must stand out to decide about a whole text: quotes and examples are common there. */
const WINDOW_IN_WHOLE_HANDICAP = 0.7
/** Below this score nobody asks for reasons, and reading them takes as long as a third of the scoring. */
const REASONS_FROM = 0.1
/** Encodings within encodings are followed this far. */
const DECODE_DEPTH = 2

/**
 * Decodes the weights that ship with this code: about two milliseconds, to be done once. With its
 * buffers a model holds about 4 MiB.
 * @throws Error when the weights do not belong to this code
 */
export function loadInjectionModel(): InjectionModel {
  return createInjectionModel(STORED_MODEL)
}

/** As loadInjectionModel, with weights at hand. */
export function createInjectionModel(stored: StoredModel): InjectionModel {
  const model = decodeModel(stored)
  const scoring = new Scoring(model)
  return {
    version: model.version,
    threshold: model.threshold,
    score: (text, mode) => atOnce(scoring.score(text, mode)),
    scoreSteps: (text, mode) => scoring.score(text, mode),
  }
}

/** The strongest evidence so far, in offsets of the text it was found in. */
interface Evidence {
  readonly margin: number
  readonly text: string
  readonly start: number
  readonly end: number
  /** Leads `start` and `end` back to the text that is scored. */
  readonly back: Back
  readonly trick: string | null
}

/** Leads an offset of a view back to the scored text. */
type Back = (start: number, end: number) => { start: number; end: number }

class Scoring {
  readonly #model: DecodedModel
  readonly #messages: Lexicon
  readonly #documents: Lexicon
  readonly #scanner = new Scanner()
  readonly #decoder = new Decoder()
  readonly #reasons = new ReasonReader()

  constructor(model: DecodedModel) {
    this.#model = model
    const ideas = new Ideas()
    this.#messages = new Lexicon(model.messages.weights, ideas)
    this.#documents = new Lexicon(model.documents.weights, ideas)
  }

  *score(text: string, mode: InjectionMode): Steps<InjectionScore> {
    const best = yield* this.#strongest(text, mode, (start, end) => ({ start, end }), null, DECODE_DEPTH)
    if (best === null) return { score: 0, span: null, reasons: [] }
    const score = 1 / (1 + Math.exp(-best.margin))
    const reasons = score < REASONS_FROM ? [] : this.#reasons.read(best.text, best.start, best.end)
    if (best.trick !== null) reasons.push(best.trick)
    return { score, span: best.back(best.start, best.end), reasons }
  }

  /** The strongest of the plain view, the leet view and everything that can be decoded. */
  *#strongest(
    text: string,
    mode: InjectionMode,
    back: Back,
    trick: string | null,
    depth: number,
  ): Steps<Evidence | null> {
    const lexicon = mode === 'whole' ? this.#messages : this.#documents
    const { plain, leet } = yield* this.#scanner.scan(text, lexicon)
    let best = this.#evidence(text, plain, mode, back, trick)
    if (leet !== null) best = stronger(best, this.#evidence(text, leet, mode, back, 'leet_spelling'))
    if (depth === 0) return best
    for (const decoded of this.#decoder.decodings(text)) {
      yield
      if (decoded === null) continue
      const through = throughDecoding(decoded, back)
      const rest = decoded.shrinks ? depth - 1 : 0
      best = stronger(best, yield* this.#strongest(decoded.text, mode, through, 'encoded_text', rest))
    }
    return best
  }

  #evidence(
    text: string,
    scan: Scan,
    mode: InjectionMode,
    back: Back,
    trick: string | null,
  ): Evidence | null {
    if (scan.tokens === 0) return null
    const table = this.#table(mode)
    const window = this.#margin(scan.window, table.scale, table.windowCentre)
    const whole = this.#margin(scan.whole, table.scale, table.wholeCentre)
    const margin = mode === 'windows' ? window : Math.max(whole, window - WINDOW_IN_WHOLE_HANDICAP)
    // A window that stands out is better evidence than the whole text, also for a score of the whole.
    const { start, end } = mode === 'windows' || window > 0 ? scan.window : scan.whole
    return { margin, text, start, end, back, trick }
  }

  #table(mode: InjectionMode): DecodedTable {
    return mode === 'whole' ? this.#model.messages : this.#model.documents
  }

  #margin(stretch: WeighedSpan, scale: number, centre: number): number {
    return this.#model.slope * (stretch.value * scale - centre)
  }
}

function stronger(one: Evidence | null, other: Evidence | null): Evidence | null {
  if (one === null || other === null) return one ?? other
  return other.margin > one.margin ? other : one
}

function throughDecoding(decoded: Decoded, back: Back): Back {
  return (start, end) => {
    const first = decoded.origin(start)
    const last = decoded.origin(end - 1)
    return back(Math.min(first, last), Math.max(first, last) + 1)
  }
}
