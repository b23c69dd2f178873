// Finds the values in a growing text, judges each as a whole, and settles those that overlap.

import type { Finding, PiiKind } from '../../core/finding.ts'
import type { KindSet } from '../../detect/pii/kinds.ts'
import type { PiiDecision } from '../../policy/pii-decisions.ts'
import type { ValueRules } from '../../policy/value-rules.ts'
import type { TextPiece } from '../../recognisers/values.ts'
import { type GrowingDetector, growingDetector } from './open-kinds.ts'
import { OutsideFindings, type OutsideValue } from './outside-values.ts'
import {
  GrowingPieces,
  type JudgedFinding,
  judgeFindings,
  type SettledPiece,
  wholePiece,
} from './overlaps.ts'
import { restorableValue } from './placeholders.ts'
import { formOfShape } from './shapes.ts'
import type { TextSpanQueue } from './spans.ts'

/** What values are searched for, and what is done about them. */
export interface GrowingValueRules {
  readonly kinds: KindSet
  /** Rules that define kinds; absent or null without any. */
  readonly openKinds?: ValueRules | null
  /** Present where recognisers read the text. */
  readonly outside?: object
  /** Present where placeholders may be written in the shape of a value; null where none is. */
  readonly shapes: object | null
  /** @param value without escapes */
  decide(kind: PiiKind, value: string): PiiDecision
}

/** What is final. */
export interface SettledValues {
  /** In order, without overlap. */
  readonly pieces: readonly SettledPiece[]
  /** All values that begin before this offset are final. */
  readonly safe: number
}

/** For what is in the form of a placeholder. */
const SHAPE: PiiDecision = { action: 'allow', rule: null, placeholders: null, restores: false }

export class GrowingValues {
  readonly #rules: GrowingValueRules
  readonly #outside: OutsideFindings | null
  #detector: GrowingDetector
  /** Null where no findings can overlap: those of built-in kinds never do. */
  #pieces: GrowingPieces<JudgedFinding> | null

  constructor(rules: GrowingValueRules) {
    this.#rules = rules
    this.#outside = rules.outside === undefined ? null : new OutsideFindings()
    this.#detector = this.#newDetector()
    this.#pieces = this.#newPieces()
  }

  /** Takes what recognisers found in the text from here on, known before the text arrives. */
  expect(values: readonly OutsideValue[]): void {
    this.#outside?.add(values)
  }

  /**
   * Takes text.
   * @param repeated characters of it, at its beginning, that were read before
   * @param held all text that is not released yet, this included
   */
  push(view: string, repeated: number, held: TextSpanQueue): SettledValues {
    this.#outside?.read(view.length, repeated)
    return this.#settle(this.#detector.push(view), this.#detector.safe, held)
  }

  /** Ends the text. Call `restart` before more. */
  finish(held: TextSpanQueue): SettledValues {
    return this.#settle(this.#detector.finish(), Number.POSITIVE_INFINITY, held)
  }

  /** Begins a text anew. Only recognisers know what was before. */
  restart(): void {
    this.#detector = this.#newDetector()
    this.#pieces = this.#newPieces()
    this.#outside?.restart()
  }

  #newDetector(): GrowingDetector {
    return growingDetector(this.#rules.kinds, this.#rules.openKinds ?? null)
  }

  #newPieces(): GrowingPieces<JudgedFinding> | null {
    const { openKinds = null } = this.#rules
    return openKinds === null && this.#outside === null ? null : new GrowingPieces()
  }

  /** @param own new findings of the detector, which knows all that begin before `ownSafe` */
  #settle(own: readonly Finding[], ownSafe: number, queue: TextSpanQueue): SettledValues {
    if (own.length === 0 && this.#pieces === null) return { pieces: [], safe: ownSafe }
    const held = new HeldText(queue)
    const judged = judgeFindings(own, 'detector', held, this.#decide)
    if (this.#pieces === null) return { pieces: judged.map(wholePiece), safe: ownSafe }
    const { values, safe } = this.#outside?.place(ownSafe, held) ?? { values: [], safe: ownSafe }
    this.#pieces.add(judged)
    this.#pieces.add(judgeFindings(values, 'recogniser', held, this.#decide))
    return this.#pieces.take(safe, held)
  }

  /** Decides on a value. A shape that is not read as one, as after a sign, is left as written. */
  readonly #decide = (kind: PiiKind, value: string): PiiDecision =>
    this.#rules.shapes !== null && formOfShape(value) !== null
      ? SHAPE
      : this.#rules.decide(kind, restorableValue(kind, value))
}

/** The text in a queue. Joined once, and only where it is read. */
class HeldText implements TextPiece {
  readonly start: number
  readonly #queue: TextSpanQueue
  #text: string | null = null

  constructor(queue: TextSpanQueue) {
    this.start = queue.start
    this.#queue = queue
  }

  get text(): string {
    this.#text ??= this.#queue.view
    return this.#text
  }
}
