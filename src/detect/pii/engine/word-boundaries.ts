// Words that no value goes on behind: most cuts of a text stand there. Knows what values are made of, and not more.

import { isAsciiLower, isAsciiUpper, isDigit, LINE_FEED } from '../../../core/ascii.ts'
import { codeAt, codesOf, isLetter, isSpace, isUncapitalised, isUnspaced } from '../code-unit-classes.ts'
import { KEY_BEGIN } from '../keyblock.ts'
import { ADDRESS, type KindSet, PERSON } from '../kinds.ts'
import { isMonth } from '../words/months.ts'

/** A longer word is taken for something else. */
const MAX_WORD = 32
/** White space that may separate the parts of one value. */
const MAX_GAP = 4
/** Characters of the word before that are looked at. All four together are less than CONTEXT_CHARACTERS. */
const MAX_LOOK_BACK = 24

/** Before the first space of a private key. */
const HEADER = KEY_BEGIN.trimEnd()
/** What may stand between a name and its value. */
const NAMING_SIGNS = codesOf('"\'`=:>([{,;|：＝（「『【')
const isNamingSign = (code: number): boolean => NAMING_SIGNS.has(code)

/** Whether words may begin a value, or go on with one behind a number: names and addresses. */
export const mayContainWords = (kinds: KindSet): boolean => (kinds & (PERSON | ADDRESS)) !== 0

/**
 * Whether no value goes on behind the word that ends there.
 * @param strict words may be of a value: inside private keys, and where names and addresses are looked for
 */
export const isAfterWord = (text: string, end: number, strict: boolean): boolean =>
  // Whatever a key is glued to.
  !text.startsWith(HEADER, end - HEADER.length) &&
  (isAfterPlainWord(text, end, strict) ||
    (!strict && (isAfterTerminator(text, end) || isAfterCapitalised(text, end))))

/**
 * Behind a word that begins with a small letter and holds no digit no value goes on, unless what stands before the
 * word is the beginning of one: `gb29 nwbk 6016`, `9 de mayo de 1990`, `555 1234 office`. Where a name stands right before
 * what it names, that is the word: `"dob":"May`, `key=-----BEGIN`.
 */
function isAfterPlainWord(text: string, end: number, strict: boolean): boolean {
  let start = end
  /** Of the word, and where it begins behind what names it. */
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
    if (end - start >= MAX_WORD) return false
  }
  // As a whole, too, so that one character tells it: `Mitchell's`, `KEY=value`.
  if (isAsciiUpper(text.charCodeAt(start))) return false
  if (first === 0 || !isUncapitalised(first) || isMonth(text, Math.max(start, named), end)) return false
  return !mayBeInsideValue(text, start, end, strict)
}

/** In no value: what a sentence, a statement, a string ends with. */
const TERMINATORS = codesOf(';!?"}]')
/** Between the cells of a table, the sides of an equation: between the groups of no number. */
const LONE_MARKS = codesOf('|=*<>&×±→')

/** `| 4.3 × | 2.4`, `add ebx, 4; mov` */
function isAfterTerminator(text: string, end: number): boolean {
  const mark = codeAt(text, end - 1)
  return TERMINATORS.has(mark) || (LONE_MARKS.has(mark) && (end === 1 || isSpace(codeAt(text, end - 2))))
}

/** Shorter ones are no words: `A`, `AB`. */
const MIN_CAPITALISED = 3
/** A group of an account number. */
const BANK_LETTERS = 4
/** Both names of an Italian number: `BDZRGL 98B46 F839J`. */
const ITALIAN_LETTERS = 6

/** A capitalised word of letters alone, with marks around it, that is no month: `Hallo!`, `**Deutsche`, `SELECT`. */
function isAfterCapitalised(text: string, end: number): boolean {
  const first = Math.max(0, end - MAX_WORD)
  const last = startOfMarks(text, end, first)
  let start = last
  while (start > first && isLetter(text.charCodeAt(start - 1))) start--
  if (last - start < MIN_CAPITALISED || isUncapitalised(text.charCodeAt(start))) return false
  const word = startOfMarks(text, start, first)
  if (!isUncapitalised(text.charCodeAt(start + 1)) && mayBeGroup(text, word, last - start)) return false
  if (word > 0 && (word === first || !isSpace(text.charCodeAt(word - 1)))) return false
  return !isMonth(text, start, last) && !mayBeInsideValue(text, word, end, false)
}

/** Capitals that may be a group of a number: `RSS MRA 85T10 A562S`, the last but one of `QA14 KVHW QPUI 6ZCF`. */
function mayBeGroup(text: string, word: number, letters: number): boolean {
  if (letters !== BANK_LETTERS) return letters < BANK_LETTERS || letters === ITALIAN_LETTERS
  for (let back = 2; back < 2 + BANK_LETTERS; back++)
    if (!isAsciiUpper(codeAt(text, word - back))) return false
  return true
}

/** Where the marks begin that end before `end`: neither of a word nor of a number. */
function startOfMarks(text: string, end: number, first: number): number {
  let at = end
  for (; at > first; at--) {
    const code = text.charCodeAt(at - 1)
    if (isSpace(code) || isDigit(code) || isLetter(code) || isUnspaced(code)) break
  }
  return at
}

/** What may stand between a number and what goes on with it: `9 de mayo`, `555 1234 ext 12`. */
const JOINING_WORDS = new Set('of de di del x ext extn extension poste int'.split(' '))

/** Whether the word from `start` to `end` may be in the middle of a value, by what stands before it. */
function mayBeInsideValue(text: string, start: number, end: number, strict: boolean): boolean {
  let at = start
  while (at > 0 && start - at < MAX_GAP) {
    const code = text.charCodeAt(at - 1)
    if (code === LINE_FEED) return false
    if (!isSpace(code)) break
    at--
  }
  const wordEnd = at
  for (; at > 0 && wordEnd - at < MAX_LOOK_BACK; at--) {
    const code = text.charCodeAt(at - 1)
    if (isAsciiLower(code)) continue
    if (isDigit(code)) return strict || mayContinueNumber(text, start, end)
    if (isSpace(code)) break
  }
  return isMonth(text, at, wordEnd)
}

/** A word behind a number; four letters may be a group of an account number, `gb29 nwbk 6016`. */
function mayContinueNumber(text: string, start: number, end: number): boolean {
  const last = startOfMarks(text, end, start)
  let first = start
  while (first < last && !isLetter(text.charCodeAt(first))) first++
  return last - first === BANK_LETTERS || JOINING_WORDS.has(text.slice(first, last).toLowerCase())
}
