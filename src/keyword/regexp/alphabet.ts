// Characters sorted into classes that no expression of a rule set tells apart, so that the automaton's tables stay
// small. Knows sets of characters, not what they are for.

import { ASCII_END, isWordCharacter, lookalikePairs } from '../characters.ts'
import { type CharacterSet, setHas } from './instructions.ts'

const MAX_CODE_POINT = 0x10ffff
const LINE_FEED = 0x0a

const NO_SETS = new Uint8Array(0)

/** What the assertions need to know of a class. */
export interface ClassTraits {
  readonly word: boolean
  readonly lineFeed: boolean
}

/** A pair of code points, plain and folded, as one number. */
const pairKey = (plain: number, folded: number): number => plain * (MAX_CODE_POINT + 1) + folded

export class Alphabet {
  readonly traits: ClassTraits[] = []
  readonly #members: Uint8Array[] = []
  readonly #ascii = new Uint16Array(ASCII_END)
  /** Where each interval outside ASCII begins, and its classes for characters outside and inside words. */
  readonly #begins: number[]
  readonly #apart: number[] = []
  readonly #inWord: number[] = []
  readonly #pairs = new Map<number, number>()

  /** @param sets distinct sets; their places in the list name them */
  constructor(sets: readonly CharacterSet[]) {
    const bySignature = new Map<string, number>()
    const classOf = (plain: number, folded: number, word: boolean): number => {
      const members = sets.map((set) => setHas(set, plain) || setHas(set, folded))
      const traits = { word, lineFeed: plain === LINE_FEED }
      const signature = `${word}${traits.lineFeed}${members.map(Number).join('')}`
      const known = bySignature.get(signature)
      if (known !== undefined) return known
      bySignature.set(signature, this.traits.length)
      this.#members.push(Uint8Array.from(members, Number))
      return this.traits.push(traits) - 1
    }
    for (let code = 0; code < ASCII_END; code++)
      this.#ascii[code] = classOf(code, code, isWordCharacter(code))
    this.#begins = intervals(sets)
    for (const begin of this.#begins) {
      this.#apart.push(classOf(begin, begin, false))
      this.#inWord.push(classOf(begin, begin, true))
    }
    for (const { plain, folded } of lookalikePairs()) {
      this.#pairs.set(pairKey(plain, folded), classOf(plain, folded, isWordCharacter(plain)))
    }
  }

  get size(): number {
    return this.traits.length
  }

  /**
   * For each set 1 where the characters of a class belong to it, themselves or as the letter they look like.
   * The end of the text, which has the number after the last class, belongs to none.
   */
  setsOf(symbol: number): Uint8Array {
    return this.#members[symbol] ?? NO_SETS
  }

  /** The class of a normalised character. */
  classOf(plain: number, folded: number): number {
    if (plain < ASCII_END) return this.#ascii[plain]!
    if (plain !== folded) {
      const pair = this.#pairs.get(pairKey(plain, folded))
      if (pair !== undefined) return pair
    }
    let low = 0
    let high = this.#begins.length
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if (this.#begins[middle]! <= plain) low = middle
      else high = middle
    }
    return isWordCharacter(plain) ? this.#inWord[low]! : this.#apart[low]!
  }
}

/** Beginnings of the stretches outside ASCII whose characters belong to the same sets. */
function intervals(sets: readonly CharacterSet[]): number[] {
  const begins = new Set<number>([ASCII_END])
  for (const set of sets) {
    for (let at = 0; at < set.length; at += 2) {
      begins.add(set[at]!)
      begins.add(set[at + 1]! + 1)
    }
  }
  return [...begins].filter((begin) => begin >= ASCII_END && begin <= MAX_CODE_POINT).sort((a, b) => a - b)
}
