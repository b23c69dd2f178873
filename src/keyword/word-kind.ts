// Tells which characters belong to words and where word boundaries are, for `\b` and `\B`. Knows
// normalised characters, not texts.

import { LATIN_LOOKALIKES } from './confusables.ts'

/** What a character is to its neighbours in a word. */
export const NO_WORD = 1
/** A letter or a mark of a script with spaces, or a look-alike of a Latin letter. */
const LETTER = 2
/** A digit, another numeric character, or a connector such as `_`. */
const DIGIT = 3
/** A letter of Korean, whose particles follow words and numbers of any script without a space. */
const HANGUL = 4
/** A letter or a mark of a script without spaces. */
const UNSPACED = 5

export const WORD_KINDS: readonly number[] = [NO_WORD, LETTER, DIGIT, HANGUL, UNSPACED]

/**
 * Scripts without spaces between words: Chinese, Japanese, Yi, and those whose line breaks need a
 * dictionary (UAX #14, class SA).
 */
const UNSPACED_SCRIPT =
  /^[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Bopo}\p{scx=Yiii}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}\p{scx=Tibt}\p{scx=Tale}\p{scx=Talu}\p{scx=Lana}\p{scx=Tavt}\p{scx=Ahom}]$/u
const HANGUL_SCRIPT = /^\p{scx=Hang}$/u
const LETTER_OR_MARK = /^[\p{L}\p{M}\p{Nl}]$/u
const DIGIT_OR_CONNECTOR = /^[\p{N}\p{Pc}]$/u

const BMP = 0x10000

/** By code point; 0 if not computed yet. Allocated on first use. */
let kinds: Uint8Array | null = null

/** Returns one of WORD_KINDS. */
export function wordKindOf(codePoint: number): number {
  if (codePoint >= BMP) return computeKind(codePoint)
  kinds ??= new Uint8Array(BMP)
  const cached = kinds[codePoint]!
  if (cached !== 0) return cached
  const kind = computeKind(codePoint)
  kinds[codePoint] = kind
  return kind
}

function computeKind(codePoint: number): number {
  if (LATIN_LOOKALIKES.has(codePoint)) return LETTER
  const character = String.fromCodePoint(codePoint)
  if (!LETTER_OR_MARK.test(character)) return DIGIT_OR_CONNECTOR.test(character) ? DIGIT : NO_WORD
  if (UNSPACED_SCRIPT.test(character)) return UNSPACED
  return HANGUL_SCRIPT.test(character) ? HANGUL : LETTER
}

/**
 * Whether there is a word boundary between two characters, given their kinds. The ends of a text
 * count as NO_WORD. A letter of a script without spaces has a boundary on both sides.
 */
export function isBoundary(before: number, next: number): boolean {
  if (before === UNSPACED || next === UNSPACED) return true
  if (before === next) return false
  if (before === NO_WORD || next === NO_WORD) return true
  return next === HANGUL || (before === HANGUL && next === LETTER)
}
