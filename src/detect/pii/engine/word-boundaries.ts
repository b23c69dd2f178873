// Recognises words after which no value continues. Most cuts follow one. Knows what values consist
// of, and no more.

import { DOT, isAsciiLower, isAsciiUpper, isDigit, LINE_FEED } from '../../../core/ascii.ts'
import { codeAt, codesOf, isLetter, isSpace, isUncapitalised, isUnspaced } from '../code-unit-classes.ts'
import { KEY_BEGIN } from '../keyblock.ts'
import { ADDRESS, type KindSet, PERSON } from '../kinds.ts'
import { isMonth } from '../words/months.ts'

/** A longer word is not treated as one. */
const MAXIMUM_WORD = 32
/** Maximum white space between the parts of one value. */
const MAXIMUM_GAP = 4
/**
 * Characters of the word before that are read. MAXIMUM_WORD, two gaps and this together stay below
 * CONTEXT_CHARACTERS.
 */
const MAXIMUM_LOOK_BACK = 24

/** The header of a private key up to its first space. */
const HEADER = KEY_BEGIN.trimEnd()
/** Signs between a name and its value. */
const NAMING_SIGNS = codesOf('"\'`=:>([{,;|：＝（「『【')
const isNamingSign = (code: number): boolean => NAMING_SIGNS.has(code)

/** Reports whether words may start a value, or continue one after a number: names and addresses. */
export const mayContainWords = (kinds: KindSet): boolean => (kinds & (PERSON | ADDRESS)) !== 0

/**
 * Reports whether no value continues after the word that ends at `end`.
 * @param strict words may belong to a value: inside private keys, and when names or addresses are
 * enabled
 */
export const isAfterWord = (text: string, end: number, strict: boolean): boolean =>
  // A key header ends no segment, even if it is glued to other text.
  !text.startsWith(HEADER, end - HEADER.length) &&
  (isAfterPlainWord(text, end, strict) ||
    (!strict && (isAfterTerminator(text, end) || isAfterCapitalised(text, end))))

/**
 * Reports whether a word ends there that starts with a lower-case letter, has no digit, and does
 * not follow the start of a value: `gb29 nwbk 6016`, `9 de mayo de 1990`, `555 1234 office`.
 * If a name directly precedes its value, the value is the word: `"dob":"May`, `key=-----BEGIN`.
 */
function isAfterPlainWord(text: string, end: number, strict: boolean): boolean {
  let start = end
  /** The first letter of the word, and where the word starts after a name; -1 without one. */
  let first = 0
  let named = -1
  for (; start > 0; start--) {
    const code = text.charCodeAt(start - 1)
    if (isSpace(code)) break
    if (isDigit(code)) return false
    if (named < 0) {
      if (isAsciiLower(code) || isLetter(code)) first = code
      else if (first !== 0 && isNamingSign(code)) named = start
    }
    if (end - start >= MAXIMUM_WORD) return false
  }
  // The first character decides for the whole: `Mitchell's`, `KEY=value`.
  if (isAsciiUpper(text.charCodeAt(start))) return false
  if (first === 0 || !isUncapitalised(first) || isMonth(text, Math.max(start, named), end)) return false
  return !mayBeInsideValue(text, start, end, strict)
}

/** Ends of sentences, statements and strings. No value contains one. */
const TERMINATORS = codesOf(';!?"}]')
/**
 * Signs between the cells of a table or the sides of an equation, never between the groups of a
 * number.
 */
const LONE_MARKS = codesOf('|=*<>&×±→')

/** `| 4.3 × | 2.4`, `add ebx, 4; mov` */
function isAfterTerminator(text: string, end: number): boolean {
  const mark = codeAt(text, end - 1)
  return TERMINATORS.has(mark) || (LONE_MARKS.has(mark) && (end === 1 || isSpace(codeAt(text, end - 2))))
}

/** Shorter ones are not words: `A`, `AB`. */
const MIN_CAPITALISED = 3
/** Letters in a group of an IBAN. */
const BANK_LETTERS = 4
/** Letters of both names in an Italian number: `BDZRGL 98B46 F839J`. */
const ITALIAN_LETTERS = 6

/**
 * Reports whether a capitalised word of letters ends there, with punctuation around it, that is no
 * month: `Hallo!`, `**Deutsche`, `SELECT`.
 */
function isAfterCapitalised(text: string, end: number): boolean {
  const first = Math.max(0, end - MAXIMUM_WORD)
  const last = startOfMarks(text, end, first)
  let start = last
  while (start > first && isLetter(text.charCodeAt(start - 1))) start--
  if (last - start < MIN_CAPITALISED || isUncapitalised(text.charCodeAt(start))) return false
  const word = startOfMarks(text, start, first)
  if (!isUncapitalised(text.charCodeAt(start + 1)) && mayBeGroup(text, word, last - start)) return false
  if (word > 0 && (word === first || !isSpace(text.charCodeAt(word - 1)))) return false
  return !isMonth(text, start, last) && !mayBeInsideValue(text, word, end, false)
}

/**
 * Reports whether capitals may be a group of a number: `RSS MRA 85T10 A562S`, or the third of
 * `QA14 KVHW QPUI 6ZCF`.
 */
function mayBeGroup(text: string, word: number, letters: number): boolean {
  if (letters !== BANK_LETTERS) return letters < BANK_LETTERS || letters === ITALIAN_LETTERS
  for (let back = 2; back < 2 + BANK_LETTERS; back++)
    if (!isAsciiUpper(codeAt(text, word - back))) return false
  return true
}

/** Where the punctuation that ends at `end` starts. */
function startOfMarks(text: string, end: number, first: number): number {
  let at = end
  for (; at > first; at--) {
    const code = text.charCodeAt(at - 1)
    if (isSpace(code) || isDigit(code) || isLetter(code) || isUnspaced(code)) break
  }
  return at
}

/** Words inside values: `9 de mayo`, `555 1234 ext 12`. */
const JOINING_WORDS = new Set('of de di del x ext extn extension poste int tarihinde को'.split(' '))

/** Words after a version that another word completes: `1.10.79.216 or newer`. */
const VERSION_LINKS = new Set('or and is oder und ou et o y e of en eller'.split(' '))
/** Digits of a part of a version. */
const MAXIMUM_PART = 3

/** Reports whether a group of digits after a dot ends at `end`, perhaps before punctuation. */
function isAfterPart(text: string, end: number): boolean {
  let at = end
  while (end - at < 2 && !isDigit(codeAt(text, at - 1))) at--
  const last = at
  while (last - at <= MAXIMUM_PART && isDigit(codeAt(text, at - 1))) at--
  return at < last && codeAt(text, at - 1) === DOT && isDigit(codeAt(text, at - 2))
}

/** Reports whether the word may be inside a value, judged by what precedes it. */
function mayBeInsideValue(text: string, start: number, end: number, strict: boolean): boolean {
  let at = start
  while (at > 0 && start - at < MAXIMUM_GAP) {
    const code = text.charCodeAt(at - 1)
    if (code === LINE_FEED) return false
    if (!isSpace(code)) break
    at--
  }
  const wordEnd = at
  for (; at > 0 && wordEnd - at < MAXIMUM_LOOK_BACK; at--) {
    const code = text.charCodeAt(at - 1)
    if (isAsciiLower(code)) continue
    if (isDigit(code))
      return (
        strict ||
        mayContinueNumber(text, start, end) ||
        (VERSION_LINKS.has(text.slice(start, end)) && isAfterPart(text, wordEnd))
      )
    if (isSpace(code)) break
  }
  return isMonth(text, at, wordEnd)
}

/**
 * Reports whether a word after a number may continue it; four letters may be a group of an IBAN,
 * `gb29 nwbk 6016`.
 */
function mayContinueNumber(text: string, start: number, end: number): boolean {
  const last = startOfMarks(text, end, start)
  let first = start
  while (first < last && !isLetter(text.charCodeAt(first))) first++
  return last - first === BANK_LETTERS || JOINING_WORDS.has(text.slice(first, last).toLowerCase())
}
