// Classifies characters without normalising the text. This works for every character that does not
// depend on its neighbours, and agrees with normalise.ts.

import { ASCII_END } from '../../core/ascii.ts'
import {
  asciiLookalike,
  foldCharacter,
  IGNORED,
  LOWER_ASCII,
  PLAIN_ASCII,
  roleOf,
  STARTS,
} from '../characters.ts'
import { LATIN_LOOKALIKE_CAPITALS } from '../confusables.ts'

/** Takes the place of a class: normalising drops the character. */
export const LEFT_OUT = -1
/** Takes the place of a class: the character depends on its neighbours or becomes several. */
export const IN_CONTEXT = -2
const UNKNOWN = -3

const BMP = 0x10000
/** Characters of two units that are cached: more than there are emoji. */
const MAXIMUM_PAIRS = 8192

const isSurrogate = (codePoint: number): boolean => codePoint >= 0xd800 && codePoint <= 0xdfff

/**
 * Returns the class of a normalised character.
 * @param folded the ASCII character that `plain` stands for, or `plain`
 */
export type ClassOf = (plain: number, folded: number) => number

export class Symbols {
  /** Class by UTF-16 unit, as far as it is computed. If it is negative, the caller asks `at`. */
  readonly units = new Int32Array(BMP).fill(UNKNOWN)
  readonly #classOf: ClassOf
  readonly #pairs = new Map<number, number>()

  constructor(classOf: ClassOf) {
    this.#classOf = classOf
    for (let code = 0; code < ASCII_END; code++) {
      const lower = LOWER_ASCII[code]!
      this.units[code] = PLAIN_ASCII[code] === 1 ? classOf(lower, lower) : LEFT_OUT
    }
  }

  /**
   * Returns the class at an offset of a text. A surrogate pair counts at its first unit; the second
   * is LEFT_OUT.
   */
  at(text: string, index: number): number {
    const isSecondHalf =
      isSurrogate(text.charCodeAt(index)) && index > 0 && text.codePointAt(index - 1)! >= BMP
    return isSecondHalf ? LEFT_OUT : this.of(text.codePointAt(index)!)
  }

  /** Returns the class of a character, LEFT_OUT or IN_CONTEXT. */
  of(codePoint: number): number {
    if (codePoint >= BMP) return this.#ofPair(codePoint)
    const cached = this.units[codePoint]!
    if (cached !== UNKNOWN) return cached
    const found = this.#compute(codePoint)
    this.units[codePoint] = found
    return found
  }

  #ofPair(codePoint: number): number {
    const cached = this.#pairs.get(codePoint)
    if (cached !== undefined) return cached
    if (this.#pairs.size >= MAXIMUM_PAIRS) this.#pairs.clear()
    const found = this.#compute(codePoint)
    this.#pairs.set(codePoint, found)
    return found
  }

  #compute(codePoint: number): number {
    // A pair may be split over two joined texts.
    if (isSurrogate(codePoint)) return IN_CONTEXT
    const role = roleOf(codePoint)
    if (role === IGNORED) return LEFT_OUT
    if (role !== STARTS || LATIN_LOOKALIKE_CAPITALS.has(codePoint)) return IN_CONTEXT
    const plain = foldCharacter(codePoint)
    return plain < 0 ? IN_CONTEXT : this.#classOf(plain, asciiLookalike(plain))
  }
}
