// Classifies the few characters that change with their neighbours or become several: marks,
// look-alikes next to Latin letters, `ß` and `…`. Normalises only a window of text around them.

import { ASCII_END } from '../../core/ascii.ts'
import { foldCharacter, isAsciiLetter, latinLookalike } from '../characters.ts'
import { Normaliser } from '../normalise.ts'
import type { ClassOf, Symbols } from './symbols.ts'

/** Furthest that a window extends to either side, UTF-16 units. */
const MAXIMUM_REACH = 64
/**
 * Windows that are cached, and their greatest length: a longer slice of a text would keep V8 from
 * freeing the text.
 */
const MAXIMUM_CACHED = 1024
const MAXIMUM_CACHED_UNITS = 12

const UNITS = 0x10000
const NOT_COMPUTED = 0
const ANCHOR = 1
const NOT_ANCHOR = 2

/** Takes the place of an offset: the window would be too long. */
export const OUT_OF_REACH = -1

export class ContextWindows {
  readonly #symbols: Symbols
  readonly #classOf: ClassOf
  /** By UTF-16 unit: whether it is an anchor. */
  readonly #anchors = new Uint8Array(UNITS)
  readonly #cached = new Map<string, readonly number[]>()

  constructor(symbols: Symbols, classOf: ClassOf) {
    this.#symbols = symbols
    this.#classOf = classOf
  }

  /**
   * Returns an offset before `index` such that the text before it does not change anything from
   * `index` on; at least `from`, where the text begins.
   */
  start(text: string, index: number, from: number): number {
    for (let at = index - 1; at >= from; at--) {
      if (this.#isAnchor(text.charCodeAt(at))) return at
      if (index - at > MAXIMUM_REACH) return OUT_OF_REACH
    }
    return from
  }

  /**
   * Returns an offset after `index` such that the text from there on does not change anything up to
   * and including `index`; at most the end of the text.
   */
  end(text: string, index: number): number {
    let followsAnchor = false
    for (let at = index + 1; at < text.length; at++) {
      const unit = text.charCodeAt(at)
      const isAnchor = this.#isAnchor(unit)
      if (isAnchor && (followsAnchor || !isAsciiLetter(unit))) return at
      if (at - index > MAXIMUM_REACH) return OUT_OF_REACH
      followsAnchor = isAnchor
    }
    return text.length
  }

  /** Returns the classes of the characters that a window becomes. */
  symbols(window: string): readonly number[] {
    const cached = this.#cached.get(window)
    if (cached !== undefined) return cached
    const classes: number[] = []
    const normaliser = new Normaliser({ take: (plain, folded) => classes.push(this.#classOf(plain, folded)) })
    normaliser.push(window)
    normaliser.finish()
    if (window.length <= MAXIMUM_CACHED_UNITS) {
      if (this.#cached.size >= MAXIMUM_CACHED) this.#cached.clear()
      this.#cached.set(window, classes)
    }
    return classes
  }

  /**
   * Whether two non-empty texts normalise together to what they normalise to alone. May return
   * false although they do.
   */
  areIndependent(before: string, after: string): boolean {
    if (this.#isAnchor(before.charCodeAt(before.length - 1)) && this.#isAnchor(after.charCodeAt(0)))
      return true
    const start = this.start(before, before.length, 0)
    const end = this.end(after, -1)
    // Without an anchor, the text before `before` matters, too.
    if (start === OUT_OF_REACH || end === OUT_OF_REACH || !this.#isAnchor(before.charCodeAt(start)))
      return false
    const last = before.slice(start)
    const first = after.slice(0, end)
    return String(this.symbols(last + first)) === String([...this.symbols(last), ...this.symbols(first)])
  }

  /** Whether a unit neither depends on the units before it nor changes those after it. */
  #isAnchor(unit: number): boolean {
    if (this.#anchors[unit] === NOT_COMPUTED)
      this.#anchors[unit] = this.#computeAnchor(unit) ? ANCHOR : NOT_ANCHOR
    return this.#anchors[unit] === ANCHOR
  }

  #computeAnchor(unit: number): boolean {
    if (this.#symbols.of(unit) < 0) return false
    if (unit < ASCII_END) return true
    const plain = foldCharacter(unit)
    return latinLookalike(plain) === plain
  }
}
