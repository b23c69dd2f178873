// The few characters of a text that change with their neighbours, or become several: marks, letters that look Latin beside
// Latin ones, `ß` and `…`. They are normalised with the characters around them, and no more of the text is.

import { ASCII_END, foldCharacter, isAsciiLetter, latinLookalike } from '../characters.ts'
import { Normaliser } from '../normalise.ts'
import type { ClassOf, Symbols } from './symbols.ts'

/** Units looked at to either side. */
const MAX_REACH = 64
/** ContextWindows that are remembered, and how long they are at most: V8 would keep the whole text for a longer part of it. */
const MAX_KNOWN = 1024
const MAX_KNOWN_UNITS = 12

const UNITS = 0x10000
const NOT_ASKED = 0
const FRESH = 1
const CHANGING = 2

/** In place of an offset: too far away. */
export const OUT_OF_REACH = -1

export class ContextWindows {
  readonly #symbols: Symbols
  readonly #classOf: ClassOf
  /** By unit. */
  readonly #fresh = new Uint8Array(UNITS)
  readonly #known = new Map<string, readonly number[]>()

  constructor(symbols: Symbols, classOf: ClassOf) {
    this.#symbols = symbols
    this.#classOf = classOf
  }

  /** Where to begin, so that what stands before changes nothing from `index` on; not before `from`, where a text begins. */
  start(text: string, index: number, from: number): number {
    for (let at = index - 1; at >= from; at--) {
      if (this.#isFresh(text.charCodeAt(at))) return at
      if (index - at > MAX_REACH) return OUT_OF_REACH
    }
    return from
  }

  /** Where to end, so that what stands behind changes nothing before `index` or at it; the text's end at the latest. */
  end(text: string, index: number): number {
    let isBehindFresh = false
    for (let at = index + 1; at < text.length; at++) {
      const unit = text.charCodeAt(at)
      const isFresh = this.#isFresh(unit)
      if (isFresh && (isBehindFresh || !isAsciiLetter(unit))) return at
      if (at - index > MAX_REACH) return OUT_OF_REACH
      isBehindFresh = isFresh
    }
    return text.length
  }

  /** The classes of what a stretch of a text becomes. */
  symbols(stretch: string): readonly number[] {
    const known = this.#known.get(stretch)
    if (known !== undefined) return known
    const found: number[] = []
    const normaliser = new Normaliser({ take: (plain, folded) => found.push(this.#classOf(plain, folded)) })
    normaliser.push(stretch)
    normaliser.finish()
    if (stretch.length <= MAX_KNOWN_UNITS) {
      if (this.#known.size >= MAX_KNOWN) this.#known.clear()
      this.#known.set(stretch, found)
    }
    return found
  }

  /** Whether two texts, neither empty, become together what each becomes by itself; perhaps false although they do. */
  areApart(before: string, behind: string): boolean {
    if (this.#isFresh(before.charCodeAt(before.length - 1)) && this.#isFresh(behind.charCodeAt(0)))
      return true
    const start = this.start(before, before.length, 0)
    const end = this.end(behind, -1)
    // Without an anchor in it what stands before that text counts, too.
    if (start === OUT_OF_REACH || end === OUT_OF_REACH || !this.#isFresh(before.charCodeAt(start)))
      return false
    const last = before.slice(start)
    const first = behind.slice(0, end)
    return String(this.symbols(last + first)) === String([...this.symbols(last), ...this.symbols(first)])
  }

  /** Whether a character is the same whatever stands before it, and whatever comes behind it is so too. */
  #isFresh(unit: number): boolean {
    if (this.#fresh[unit] === NOT_ASKED) this.#fresh[unit] = this.#findFresh(unit) ? FRESH : CHANGING
    return this.#fresh[unit] === FRESH
  }

  #findFresh(unit: number): boolean {
    if (this.#symbols.of(unit) < 0) return false
    if (unit < ASCII_END) return true
    const plain = foldCharacter(unit)
    return latinLookalike(plain) === plain
  }
}
