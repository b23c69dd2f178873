// What characters are to an automaton as they stand in a text, without normalising it: possible for all that stand for
// themselves, whatever is around them. Agrees with normalise.ts, of which it is the short form.

import {
  ASCII_END,
  foldCharacter,
  IGNORED,
  LOWER_ASCII,
  latinLookalike,
  PLAIN_ASCII,
  roleOf,
  STARTS,
} from '../characters.ts'
import { LATIN_LOOKALIKE_CAPITALS } from '../confusables.ts'

/** In place of a class: normalised text does without the character. */
export const LEFT_OUT = -1
/** In place of a class: what the character becomes depends on its neighbours, or it becomes several. */
export const IN_CONTEXT = -2
const UNKNOWN = -3

const BMP = 0x10000
/** Characters of more than one unit that are remembered: more than there are emoji. */
const MAX_PAIRS = 8192

const isSurrogate = (codePoint: number): boolean => codePoint >= 0xd800 && codePoint <= 0xdfff

/** The class of a normalised character. @param folded the ASCII letter that `plain` looks like, or `plain` */
export type ClassOf = (plain: number, folded: number) => number

export class Symbols {
  /**
   * Class of each UTF-16 unit that is a character by itself, as far as it was asked for. Where it is negative, `at` is to
   * be asked.
   */
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

  /** What stands at an offset of a text. A pair of units counts with its first; the second is LEFT_OUT. */
  at(text: string, index: number): number {
    const isSecond = isSurrogate(text.charCodeAt(index)) && index > 0 && text.codePointAt(index - 1)! >= BMP
    return isSecond ? LEFT_OUT : this.of(text.codePointAt(index)!)
  }

  /** The class of a character, LEFT_OUT or IN_CONTEXT. */
  of(codePoint: number): number {
    if (codePoint >= BMP) return this.#ofPair(codePoint)
    const known = this.units[codePoint]!
    if (known !== UNKNOWN) return known
    const found = this.#find(codePoint)
    this.units[codePoint] = found
    return found
  }

  #ofPair(codePoint: number): number {
    const known = this.#pairs.get(codePoint)
    if (known !== undefined) return known
    if (this.#pairs.size >= MAX_PAIRS) this.#pairs.clear()
    const found = this.#find(codePoint)
    this.#pairs.set(codePoint, found)
    return found
  }

  #find(codePoint: number): number {
    // A pair may be split over two texts that are joined.
    if (isSurrogate(codePoint)) return IN_CONTEXT
    const role = roleOf(codePoint)
    if (role === IGNORED) return LEFT_OUT
    if (role !== STARTS || LATIN_LOOKALIKE_CAPITALS.has(codePoint)) return IN_CONTEXT
    const plain = foldCharacter(codePoint)
    return plain < 0 ? IN_CONTEXT : this.#classOf(plain, latinLookalike(plain))
  }
}
