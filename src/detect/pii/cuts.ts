// Where a text may be cut so that its parts can be searched by themselves. Cuts depend on the text alone, never on
// how it arrives, which is what makes a stream say the same as the whole. Knows nothing of values but how they go on.

import {
  codeAt,
  isAsciiLower,
  isAsciiUpper,
  isDigit,
  isLetter,
  isSpace,
  isUncapitalised,
  isUnspaced,
} from './characters.ts'
import { insideKey, KEY_BEGIN } from './keyblock.ts'
import { isMonth } from './words/months.ts'

/** Characters before a segment that may be looked at, by a detector or to tell a cut. */
export const CONTEXT_CHARACTERS = 64
/** Longest segment of ordinary text; a longer one is cut in any case. Longer than any value but keys and tokens. */
export const MAX_SEGMENT = 1024
/** How far back from there a better place for a cut is looked for. */
const FORCED_CUT_CHOICE = 256
/** Longest segment that holds one private key or token: PKCS#8 of RSA-16384 takes 12.6 KB. */
const MAX_LONG_VALUE = 16_384

/** A longer word is taken for something else. */
const MAX_WORD = 32
/** White space that may separate the parts of one value. */
const MAX_GAP = 4
/** Characters of the word before that are looked at. All four together are less than CONTEXT_CHARACTERS. */
const MAX_LOOK_BACK = 24

/** Before the first space of a private key. */
const HEADER = KEY_BEGIN.trimEnd()
const NEWLINE = 0x0a
const SPACE = 0x20
const BEYOND_ASCII = 0x80
/** What may stand between a name and its value. */
const NAMING_SIGNS = new Set(Array.from('"\'`=:>([{,;|：＝（「『【', (sign) => sign.charCodeAt(0)))
const isNamingSign = (code: number): boolean => NAMING_SIGNS.has(code)
/** Behind these no value goes on. */
const DELIMITER = /[\s,;"'<>{}|\\]/
/** The beginning of a JSON web token or one line of a key at the end of the text so far. */
const LONG_VALUE =
  /(?:(?<![A-Za-z0-9])eyJ[A-Za-z0-9_.-]*|-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY-----[A-Za-z0-9+/=\\: -]*)$/

/** Marks that a text without spaces may be cut at: behind it, or before it. */
const BEHIND = 1
const BEFORE = 2
const CUTTING = new Uint8Array(BEYOND_ASCII)
for (const mark of ',}]>') CUTTING[mark.charCodeAt(0)] = BEHIND
for (const mark of '"[{-0123456789') CUTTING[mark.charCodeAt(0)] = BEFORE
const QUOTE = 0x22
const COMMA = 0x2c
const DOT = 0x2e
const COLON = 0x3a
const SQUARE_BRACKET = 0x5b
const GREATER = 0x3e
/** Characters of a number in a list, with and without a point: longer ones may be called, and be said to be behind. */
const MAX_LISTED = { fraction: 20, whole: 6 }

/**
 * No value goes on behind a tag, a string or a name in JSON, a number in a list: structured text has no spaces, and a stream of it
 * would come in lumps of MAX_SEGMENT.
 * @param at a mark of this kind is there
 */
function isBehindMark(text: string, at: number): boolean {
  const mark = text.charCodeAt(at)
  if (mark === GREATER || text.charCodeAt(at - 1) === QUOTE) return true
  return mark === COMMA && isListed(text, at)
}

/** `"name":"`, but not `"::1"`. */
const isBehindName = (text: string, at: number): boolean =>
  text.charCodeAt(at - 1) === COLON && text.charCodeAt(at - 2) === QUOTE

/** Whether a number stands before, and before that what a list begins with or another comma. */
function isListed(text: string, end: number): boolean {
  let start = end
  let points = 0
  for (; end - start <= MAX_LISTED.fraction; start--) {
    const code = codeAt(text, start - 1)
    if (code === DOT) points++
    else if (!isDigit(code)) break
  }
  if (points > 1 || end - start > (points === 1 ? MAX_LISTED.fraction : MAX_LISTED.whole)) return false
  if (codeAt(text, start - 1) === SPACE) start--
  const before = codeAt(text, start - 1)
  return start < end && (before === COMMA || before === SQUARE_BRACKET)
}

/** Most of a text: neither white space nor of a script without spaces. */
const isPlain = (code: number): boolean => code > SPACE && code < BEYOND_ASCII

/** Whether the text is cut before `at`, told from at most CONTEXT_CHARACTERS before and the character at `at`. */
function isCut(text: string, at: number): boolean {
  const before = text.charCodeAt(at - 1)
  if (isPlain(before)) {
    if (CUTTING[before] === BEHIND && isBehindMark(text, at - 1)) return true
    const next = codeAt(text, at)
    return isPlain(next) && CUTTING[next] === BEFORE && isBehindName(text, at)
  }
  if (before === NEWLINE) return true
  if (isSpace(before)) return isBehindPlainWord(text, at - 1)
  return isUnspaced(before) && at < text.length && isUnspaced(text.charCodeAt(at))
}

/**
 * Behind a word that begins with a small letter and holds no digit no value goes on, unless what stands before the
 * word is the beginning of one: `gb29 nwbk 6016`, `9 de mayo de 1990`, `555 1234 office`. Where a name stands right before
 * what it names, that is the word: `"dob":"May`, `key=-----BEGIN`.
 */
function isBehindPlainWord(text: string, end: number): boolean {
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
  // Whatever a key is glued to.
  if (text.startsWith(HEADER, end - HEADER.length)) return false
  // As a whole, too, so that one character tells it: `Mitchell's`, `KEY=value`.
  if (isAsciiUpper(text.charCodeAt(start))) return false
  if (first === 0 || !isUncapitalised(first) || isMonth(text, Math.max(start, named), end)) return false
  return !isSticky(text, start)
}

/** Whether the word before `end` may begin a value that goes on behind the next word. */
function isSticky(text: string, end: number): boolean {
  let at = end
  while (at > 0 && end - at < MAX_GAP) {
    const code = text.charCodeAt(at - 1)
    if (code === NEWLINE) return false
    if (!isSpace(code)) break
    at--
  }
  const wordEnd = at
  for (; at > 0 && wordEnd - at < MAX_LOOK_BACK; at--) {
    const code = text.charCodeAt(at - 1)
    if (isAsciiLower(code)) continue
    if (isDigit(code)) return true
    if (isSpace(code)) break
  }
  return isMonth(text, at, wordEnd)
}

/** The last cut in (from, at], or `from`. For texts without private keys. */
export function cutBefore(text: string, from: number, at: number): number {
  for (let cut = at; cut > from; cut--) if (isCut(text, cut)) return cut
  return from
}

/** The first cut of a segment that begins at `start`, behind a character in [from, to); -1 for none. */
function firstCut(text: string, start: number, from: number, to: number): number {
  let word = from
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at)
    if (isPlain(code)) {
      const cutting = CUTTING[code]
      if (cutting === BEHIND && isBehindMark(text, at)) return at + 1
      if (cutting === BEFORE && at > start && isBehindName(text, at)) return at
      continue
    }
    if (isSpace(code)) {
      if (code === NEWLINE || (mayBePlain(text, word, from) && isBehindPlainWord(text, at))) return at + 1
      word = at + 1
    } else if (at > start && isUnspaced(code) && isUnspaced(text.charCodeAt(at - 1))) return at
  }
  return -1
}

/** Many words are told by one character, the first of those from `from` on. */
function mayBePlain(text: string, word: number, from: number): boolean {
  const first = text.charCodeAt(word)
  return !isDigit(first) && (word === from || !isAsciiUpper(first))
}

/** Finds the end of segment after segment of a text that may grow at its end. */
export class Cutter {
  /** Where the next private key begins in the text; -1 for none so far. */
  #key = -1
  #keySearched = 0

  /** To be told when the text has lost `count` characters at its beginning. */
  forget(count: number): void {
    this.#key = Math.max(-1, this.#key - count)
    this.#keySearched = Math.max(0, this.#keySearched - count)
  }

  /**
   * The end of the segment that begins at `start`, -1 if the text so far does not say.
   * @param known characters that are known to hold no end
   */
  next(text: string, start: number, known: number): number {
    let at = Math.max(start, known)
    // Where the length may end it.
    let limit = start + MAX_SEGMENT * Math.max(1, Math.ceil((at - start) / MAX_SEGMENT))
    for (;;) {
      const cut = firstCut(text, start, at, Math.min(limit, text.length))
      if (cut >= 0) {
        if (text.charCodeAt(cut - 1) !== NEWLINE || !this.#insideKey(text, start, cut - 1)) return cut
        at = cut
      } else {
        // What stands behind the cut counts, too.
        if (limit >= text.length) return -1
        if (!this.#isLongValue(text, start, limit)) return forcedCut(text, limit)
        at = limit
        limit += MAX_SEGMENT
      }
    }
  }

  #insideKey(text: string, start: number, end: number): boolean {
    if (this.#key < start && this.#keySearched < text.length) {
      const from = Math.max(start, this.#keySearched - KEY_BEGIN.length)
      this.#key = text.indexOf(KEY_BEGIN, from)
      this.#keySearched = this.#key < 0 ? text.length : this.#key + KEY_BEGIN.length
    }
    return this.#key >= start && this.#key < end && insideKey(text, start, end)
  }

  #isLongValue(text: string, start: number, end: number): boolean {
    if (end - start >= MAX_LONG_VALUE) return false
    return LONG_VALUE.test(text.slice(start, end)) || this.#insideKey(text, start, end)
  }
}

/** Whether a cut that is forced by the length of a line stands before a number rather than in it. */
export function isUncut(text: string, number: number): boolean {
  const before = text[number - 1] ?? ''
  return DELIMITER.test(before) ? !isDigit(codeAt(text, number - 2)) : DELIMITER.test(text[number - 2] ?? '')
}

/** Where a segment without a natural end is cut: behind a delimiter that is not between digits, if one is near. */
function forcedCut(text: string, end: number): number {
  for (let cut = end; cut > end - FORCED_CUT_CHOICE; cut--) {
    if (!DELIMITER.test(text[cut - 1] ?? '')) continue
    if (!isDigit(codeAt(text, cut)) || !isDigit(codeAt(text, cut - 2))) return cut
  }
  // Not between the halves of a pair.
  const last = text.charCodeAt(end - 1)
  return last >= 0xd800 && last <= 0xdbff ? end - 1 : end
}
