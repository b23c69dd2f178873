// Replaces characters that imitate letters: look-alikes of other scripts, and leet digits and
// signs. Works in place on the letters of one word. The caller decides which words are suspicious.

import { isDigit } from '../../core/ascii.ts'
import { CLASS_JOINER } from './character-classes.ts'
import { homoglyphTable } from './homoglyph-table.ts'

/** Digits and signs, each followed by the letter it imitates. */
const LEET_PAIRS = '0o 1i 3e 4a 5s 7t 8b 9g @a $s !i +t €e |i'

/** Tables over all UTF-16 code units. Zero for a unit that imitates no letter. */
export class LetterFolding {
  /** Latin letter by look-alike of another script. */
  readonly lookAlikes = homoglyphTable()
  /** Letter by leet digit or sign. */
  readonly leet = leetTable()

  /** Whether a digit or sign may imitate a letter. */
  isLeet(unit: number): boolean {
    return this.leet[unit] !== 0
  }

  /**
   * Replaces look-alikes by Latin letters if the word has Latin letters, too (`mixed`), or consists
   * of look-alikes alone and follows a Latin word.
   */
  foldLookAlikes(
    letters: Uint16Array,
    first: number,
    end: number,
    mixed: boolean,
    afterLatin: boolean,
  ): void {
    if (!mixed && !(afterLatin && this.#allLookAlikes(letters, first, end))) return
    for (let index = first; index < end; index++) {
      const letter = this.lookAlikes[letters[index] as number] as number
      if (letter !== 0) letters[index] = letter
    }
  }

  /** Replaces leet digits and signs by letters; returns how many digits remain. */
  foldLeet(letters: Uint16Array, first: number, end: number): number {
    let digits = 0
    for (let index = first; index < end; index++) {
      const unit = letters[index] as number
      const letter = this.leet[unit] as number
      if (letter !== 0) letters[index] = letter
      else if (isDigit(unit)) digits++
    }
    return digits
  }

  #allLookAlikes(letters: Uint16Array, first: number, end: number): boolean {
    for (let index = first; index < end; index++)
      if (this.lookAlikes[letters[index] as number] === 0) return false
    return true
  }
}

function leetTable(): Uint16Array {
  const table = new Uint16Array(0x10000)
  for (const pair of LEET_PAIRS.split(' ')) table[pair.charCodeAt(0)] = pair.charCodeAt(1)
  return table
}

/**
 * Removes the apostrophes from the word `units[start, end)`, so that its `letters` first letters
 * are adjacent.
 */
export function dropJoiners(
  units: Uint16Array,
  start: number,
  end: number,
  letters: number,
  classes: Uint8Array,
): void {
  let count = start
  for (let index = start; index < end && count < start + letters; index++) {
    const unit = units[index] as number
    if (classes[unit] !== CLASS_JOINER) units[count++] = unit
  }
}
