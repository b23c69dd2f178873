// Groups characters into classes that no expression distinguishes, which keeps the tables of the
// automaton small. Knows sets of characters, not their purpose.

import { ASCII_END, LINE_FEED } from '../../core/ascii.ts'
import { lookalikePairs } from '../characters.ts'
import { NO_WORD, WORD_KINDS, wordKindOf } from '../word-kind.ts'
import { type CharacterSet, setHas } from './instructions.ts'

const MAXIMUM_CODE_POINT = 0x10ffff

/** In longer intervals every word kind may occur; shorter ones are read character by character. */
const MAXIMUM_LISTED_CHARACTERS = 64

const NO_SETS = new Uint8Array(0)

/** What assertions depend on. */
export interface ClassTraits {
  readonly wordKind: number
  readonly lineFeed: boolean
}

/** Combines a plain and a folded code point into one number. */
const pairKey = (plain: number, folded: number): number => plain * (MAXIMUM_CODE_POINT + 1) + folded

export class Alphabet {
  readonly traits: ClassTraits[] = []
  readonly #members: Uint8Array[] = []
  readonly #ascii = new Uint16Array(ASCII_END)
  /** Where each interval outside ASCII begins, and by word kind the class of its characters. */
  readonly #begins: number[]
  readonly #byKind: number[][] = []
  readonly #pairs = new Map<number, number>()
  readonly #kindOf: (codePoint: number) => number

  /**
   * @param sets distinct sets, named by their index
   * @param hasWords whether an expression asks for word boundaries; without one, word kinds make no
   * classes
   */
  constructor(sets: readonly CharacterSet[], hasWords: boolean) {
    this.#kindOf = hasWords ? wordKindOf : () => NO_WORD
    const bySignature = new Map<string, number>()
    const classFor = (members: Uint8Array, wordKind: number, lineFeed: boolean): number => {
      const signature = `${wordKind}${lineFeed}${members.join('')}`
      const cached = bySignature.get(signature)
      if (cached !== undefined) return cached
      bySignature.set(signature, this.traits.length)
      this.#members.push(members)
      return this.traits.push({ wordKind, lineFeed }) - 1
    }
    const membersOf = (codePoint: number) => Uint8Array.from(sets, (set) => Number(setHas(set, codePoint)))
    for (let code = 0; code < ASCII_END; code++)
      this.#ascii[code] = classFor(membersOf(code), this.#kindOf(code), code === LINE_FEED)
    this.#begins = intervals(sets)
    this.#begins.forEach((begin, index) => {
      const classes: number[] = []
      const members = membersOf(begin)
      for (const kind of this.#kindsIn(begin, this.#begins[index + 1] ?? MAXIMUM_CODE_POINT + 1)) {
        classes[kind] = classFor(members, kind, false)
      }
      this.#byKind.push(classes)
    })
    this.#addPairs(classFor)
  }

  /** A look-alike belongs to the sets of both characters. Few pairs differ in these. */
  #addPairs(classFor: (members: Uint8Array, wordKind: number, lineFeed: boolean) => number): void {
    const known = new Map<string, number>()
    for (const { plain, folded } of lookalikePairs()) {
      const kind = this.#kindOf(plain)
      const alone = this.#outsideAscii(plain)
      const alike = this.classOf(folded, folded)
      const key = `${alone} ${alike} ${kind}`
      let symbol = known.get(key)
      if (symbol === undefined) {
        const others = this.setsOf(alike)
        const members = this.setsOf(alone).map((member, set) => member | others[set]!)
        symbol = classFor(members, kind, false)
        known.set(key, symbol)
      }
      this.#pairs.set(pairKey(plain, folded), symbol)
    }
  }

  get size(): number {
    return this.traits.length
  }

  /**
   * Returns by set: 1 if the characters of a class belong to it, as they are or as the letter they
   * look like. The end of the text has the number after the last class and belongs to no set.
   */
  setsOf(symbol: number): Uint8Array {
    return this.#members[symbol] ?? NO_SETS
  }

  /** Returns the class of a normalised character. */
  classOf(plain: number, folded: number): number {
    if (plain < ASCII_END) return this.#ascii[plain]!
    if (plain !== folded) {
      const pair = this.#pairs.get(pairKey(plain, folded))
      if (pair !== undefined) return pair
    }
    return this.#outsideAscii(plain)
  }

  #outsideAscii(codePoint: number): number {
    let low = 0
    let high = this.#begins.length
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if (this.#begins[middle]! <= codePoint) low = middle
      else high = middle
    }
    return this.#byKind[low]![this.#kindOf(codePoint)]!
  }

  /** The word kinds of the characters from `begin` up to `end`, exclusive. */
  #kindsIn(begin: number, end: number): Iterable<number> {
    if (this.#kindOf !== wordKindOf) return [NO_WORD]
    if (end - begin > MAXIMUM_LISTED_CHARACTERS) return WORD_KINDS
    return new Set(Array.from({ length: end - begin }, (_, index) => wordKindOf(begin + index)))
  }
}

/**
 * Returns the beginnings of the intervals outside ASCII whose characters belong to the same sets.
 */
function intervals(sets: readonly CharacterSet[]): number[] {
  const begins = new Set<number>([ASCII_END])
  for (const set of sets) {
    for (let at = 0; at < set.length; at += 2) {
      begins.add(set[at]!)
      begins.add(set[at + 1]! + 1)
    }
  }
  return [...begins]
    .filter((begin) => begin >= ASCII_END && begin <= MAXIMUM_CODE_POINT)
    .sort((a, b) => a - b)
}
