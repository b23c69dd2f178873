// Letters that stand for other letters: look-alikes of other scripts, and digits and signs in leet. Works in place on the
// letters of one word; which words are suspect is the caller's knowledge.

import { CLASS_JOINER } from './character-classes.ts'
import { homoglyphTable } from './homoglyph-table.ts'

const DIGIT_0 = 0x30
const DIGIT_9 = 0x39
/** Digits and signs, each followed by the letter it is drawn for. */
const LEET_PAIRS = '0o 1i 3e 4a 5s 7t 8b 9g @a $s !i +t €e |i'

/** Tables over all UTF-16 code units; zero where a unit stands for itself. */
export class Spelling {
  /** Latin letters by the look-alikes of other scripts. */
  readonly twins = homoglyphTable()
  /** Letters by the digits and signs drawn for them. */
  readonly leet = leetTable()

  /** Whether a digit or sign can stand for a letter. */
  isLeet(unit: number): boolean {
    return this.leet[unit] !== 0
  }

  /**
   * Replaces look-alikes by Latin letters in a word that has Latin letters too (`mixed`), or that consists of nothing
   * else and follows a Latin word.
   */
  foldLookAlikes(
    letters: Uint16Array,
    first: number,
    end: number,
    mixed: boolean,
    afterLatin: boolean,
  ): void {
    if (!mixed && !(afterLatin && this.#allAlike(letters, first, end))) return
    for (let index = first; index < end; index++) {
      const twin = this.twins[letters[index] as number] as number
      if (twin !== 0) letters[index] = twin
    }
  }

  /** Replaces digits and signs by letters; returns how many digits are left. */
  foldLeet(letters: Uint16Array, first: number, end: number): number {
    let digits = 0
    for (let index = first; index < end; index++) {
      const unit = letters[index] as number
      const twin = this.leet[unit] as number
      if (twin !== 0) letters[index] = twin
      else if (unit >= DIGIT_0 && unit <= DIGIT_9) digits++
    }
    return digits
  }

  #allAlike(letters: Uint16Array, first: number, end: number): boolean {
    for (let index = first; index < end; index++) if (this.twins[letters[index] as number] === 0) return false
    return true
  }
}

function leetTable(): Uint16Array {
  const table = new Uint16Array(0x10000)
  for (const pair of LEET_PAIRS.split(' ')) table[pair.charCodeAt(0)] = pair.charCodeAt(1)
  return table
}

/** Takes the letters of the word `units[start, end)` together that stand around apostrophes: so many. */
export function moveTogether(
  units: Uint16Array,
  start: number,
  end: number,
  letters: number,
  known: Uint8Array,
): void {
  let count = start
  for (let index = start; index < end && count < start + letters; index++) {
    const unit = units[index] as number
    if (known[unit] !== CLASS_JOINER) units[count++] = unit
  }
}
