// Cuts a text into segments that can be scanned independently. A cut depends on the text alone,
// never on how it arrives; so a stream finds what the whole text gives. Knows how values continue,
// not what they are.

import {
  ASCII_END,
  COLON,
  COMMA,
  DOT,
  GREATER_THAN,
  isDigit,
  LINE_FEED,
  OPEN_BRACKET,
  QUOTE,
  SPACE,
} from '../../../core/ascii.ts'
import { openCardBefore } from '../card-groups.ts'
import { codeAt, codesOf, isSpace, isUnspaced } from '../code-unit-classes.ts'
import { isInsideIban } from '../iban-groups.ts'
import { isInsideKey, KEY_BEGIN, KEY_END, mayEndKeyLine } from '../keyblock.ts'
import type { KindSet } from '../kinds.ts'
import { isNamingSign } from '../secret/names.ts'
import { isBeforeNamedValue, isInNamedValue, openSecret } from '../secret/open-secret.ts'
import { isRowOfNumbers } from './number-rows.ts'
import { MAXIMUM_UNSPACED, nextBoundary, openNumber, openToken, openValue } from './open-value.ts'
import { isAfterWord, mayContainWords } from './word-boundaries.ts'

/** Characters before a segment that a detector, or the test for a cut, may read. */
export const CONTEXT_CHARACTERS = 64
/** Longest segment without a private key or long token. */
const MAXIMUM_SEGMENT = 1024
/** Longest segment that holds one private key or token. PKCS#8 of RSA-16384 takes 12.6 KB. */
const MAXIMUM_LONG_VALUE = 16_384
/** Length of a segment at which a cut is first sought between values. */
const FIRST_ATTEMPT = 48
/** After a failed attempt the segment must grow by so much, or by a fraction of its length. */
const MIN_GROWTH = 16
const GROWTH = 1 / 4

/**
 * The length at which to try again. A cut must shorten the segment by a share of its length, and
 * attempts lie a share apart; so each character is read a bounded number of times.
 */
function nextAttempt(length: number): number {
  const next = length + Math.max(MIN_GROWTH, Math.ceil(length * GROWTH))
  return length < MAXIMUM_SEGMENT ? Math.min(next, MAXIMUM_SEGMENT) : Math.min(next, MAXIMUM_LONG_VALUE)
}

/** `-----END ` and the rest of that line. */
const MAXIMUM_KEY_END = 64

/** Characters next to which a text without spaces may be cut: after them, or before them. */
const CUT_AFTER = 1
const CUT_BEFORE = 2
const CUT_SIDES = new Uint8Array(ASCII_END)
for (const mark of ',}]>') CUT_SIDES[mark.charCodeAt(0)] = CUT_AFTER
for (const mark of '"[{-0123456789') CUT_SIDES[mark.charCodeAt(0)] = CUT_BEFORE
/**
 * Maximum characters of a number in a list, with a decimal point and without. Longer ones may be
 * phone numbers, which a word after them can label.
 */
const MAXIMUM_LISTED = { fraction: 20, whole: 6 }

/**
 * Reports whether a cut may follow the mark at `at`: no value continues after a tag, a JSON string
 * or name, or a number in a list. Without these cuts, a stream of text without spaces would be
 * released in lumps of MAXIMUM_SEGMENT.
 * @param at of a character with CUT_AFTER
 */
function isAfterMark(text: string, at: number): boolean {
  const mark = text.charCodeAt(at)
  if (mark === GREATER_THAN) return !isInNamedValue(text, at)
  if (text.charCodeAt(at - 1) === QUOTE) return true
  return mark === COMMA && isAfterListItem(text, at)
}

/** `"name":"`, but not `"::1"` */
const isAfterJsonName = (text: string, at: number): boolean =>
  text.charCodeAt(at - 1) === COLON && text.charCodeAt(at - 2) === QUOTE && !isNamingSign(text, at - 1)

/** Reports whether a number ends at `end` and follows a comma or the start of a list. */
function isAfterListItem(text: string, end: number): boolean {
  let start = end
  let points = 0
  for (; end - start <= MAXIMUM_LISTED.fraction; start--) {
    const code = codeAt(text, start - 1)
    if (code === DOT) points++
    else if (!isDigit(code)) break
  }
  if (points > 1 || end - start > (points === 1 ? MAXIMUM_LISTED.fraction : MAXIMUM_LISTED.whole))
    return false
  if (codeAt(text, start - 1) === SPACE) start--
  const before = codeAt(text, start - 1)
  return start < end && (before === COMMA || before === OPEN_BRACKET)
}

/** Reports whether a card number may continue after the separator that ends at `at`. */
const isInsideCard = (text: string, at: number): boolean => openCardBefore(text, at) >= 0

/** Reports whether a number in groups may continue on the line that starts at `at`. */
const isInsideWrapped = (text: string, at: number): boolean =>
  isInsideCard(text, at) || isInsideIban(text, at)

/** Most characters of a text: not white space, nor of a script without spaces. */
const isPlainAscii = (code: number): boolean => code > SPACE && code < ASCII_END

/** The ends of dates in Japan, China and Korea, and the beginnings of words for birth. */
const DAYS = codesOf('日일')
const BIRTHS = codesOf('生出誕생출')

/** Reports whether a cut lies between two characters of scripts without spaces. */
function isCutBetween(text: string, at: number): boolean {
  const before = codeAt(text, at - 1)
  const after = codeAt(text, at)
  if (!isUnspaced(before) || !isUnspaced(after)) return false
  // `5月12日生まれ`, `12일 출생`
  if (DAYS.has(before)) return !BIRTHS.has(after)
  if (!BIRTHS.has(before)) return true
  const day = codeAt(text, at - 2)
  return !DAYS.has(day) && !(isSpace(day) && DAYS.has(codeAt(text, at - 3)))
}

/**
 * Reports whether a cut lies before `at`. Reads at most CONTEXT_CHARACTERS before it and one
 * character after.
 * @param strict see `isAfterWord`
 */
function isCut(text: string, at: number, strict: boolean): boolean {
  const before = text.charCodeAt(at - 1)
  if (isPlainAscii(before)) {
    if (CUT_SIDES[before] === CUT_AFTER && isAfterMark(text, at - 1)) return !isInsideCard(text, at)
    const next = codeAt(text, at)
    return isPlainAscii(next) && CUT_SIDES[next] === CUT_BEFORE && isAfterJsonName(text, at)
  }
  if (before === LINE_FEED) return !isInsideWrapped(text, at)
  if (isSpace(before))
    return isAfterWord(text, at - 1, strict) && !isInsideCard(text, at) && !isBeforeNamedValue(text, at)
  return isCutBetween(text, at)
}

/**
 * The first cut of a segment that starts at `start`, after a character in [from, to); -1 if there
 * is none.
 * @param strictFrom where cuts after words become strict
 */
function firstCut(text: string, start: number, from: number, to: number, strictFrom: number): number {
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at)
    if (isPlainAscii(code)) {
      const cutting = CUT_SIDES[code]
      if (cutting === CUT_AFTER && isAfterMark(text, at) && !isInsideCard(text, at + 1)) return at + 1
      if (cutting === CUT_BEFORE && at > start && isAfterJsonName(text, at)) return at
      continue
    }
    if (isSpace(code)) {
      if (code !== LINE_FEED && !isAfterWord(text, at, at >= strictFrom)) continue
      const isInside = code === LINE_FEED ? isInsideWrapped(text, at + 1) : isInsideCard(text, at + 1)
      if (!isInside && !isBeforeNamedValue(text, at + 1)) return at + 1
    } else if (at > start && isUnspaced(code) && isCutBetween(text, at)) return at
  }
  return -1
}

/** Where a segment lies in the text of a search. */
export interface Bounds {
  readonly start: number
  /** Findings that start at or after it belong to the next segment. */
  readonly end: number
  /** How far the text is read. */
  readonly seen: number
  /** Where a row of numbers may start that continues in the segment; at most `start`. */
  readonly rowStart: number
  /** Whether a private key may begin in it. */
  readonly holdsKey: boolean
}

/** Finds the cuts of a text that may grow at its end. */
export class Segmenter {
  /** Where the next private key starts in the text; -1 if none is known. */
  #key = -1
  #keySearched = 0
  readonly #strict: boolean
  #seen = 0
  /** No natural cut lies after the start of the last segment and before this offset. */
  #uncut = 0
  /** Where a segment starts that has no value and no natural cut before it; -1 without one. */
  #open = -1
  #rowStart = 0

  /** @param kinds enabled kinds: with names or addresses, fewer words allow a cut after them */
  constructor(kinds: KindSet) {
    this.#strict = mayContainWords(kinds)
  }

  /** Adjusts to a text that has lost `count` characters at its start. */
  dropPrefix(count: number): void {
    this.#key = Math.max(-1, this.#key - count)
    this.#keySearched = Math.max(0, this.#keySearched - count)
    this.#open = Math.max(-1, this.#open - count)
    this.#rowStart -= count
    this.#uncut = Math.max(0, this.#uncut - count)
  }

  /**
   * Where the last segment starts that is known to start in [from, at]: at a natural cut before the
   * next private key, or at `from`, where one starts.
   * @param searched characters known to hold no cut
   */
  lastStart(text: string, from: number, at: number, searched = from): number {
    const key = this.#nextKey(text, from)
    const last = key < 0 ? at : Math.min(at, key)
    const first = Math.max(from + 1, searched, this.#uncut)
    let cut = last
    // The character after a cut counts, too.
    while (cut >= first && !isCut(text, cut, this.#strict)) cut--
    this.#uncut = Math.max(this.#uncut, last)
    return cut < first ? from : cut
  }

  /**
   * The end of the segment that starts at `start`; -1 if the text so far does not determine it.
   * Without a natural end, it lies where no value can be unfinished at `seen`, between values or in
   * one that ends before `seen`. See `endAfter`.
   * @param searched characters known to hold no end
   */
  nextCut(text: string, start: number, searched: number): number {
    let at = Math.max(start, searched, this.#uncut)
    let length = FIRST_ATTEMPT
    /** Without a boundary up to here, no attempt before MAXIMUM_UNSPACED succeeds. */
    let unbroken = start
    while (start + length < searched) length = nextAttempt(length)
    const key = this.#strict ? 0 : this.#nextKey(text, start)
    const strictFrom = key < 0 ? text.length : key
    for (;;) {
      const limit = start + length
      const cut = firstCut(text, start, at, Math.min(limit, text.length), strictFrom)
      if (cut >= 0) {
        at = cut
        if (mayEndKeyLine(text, cut) && this.#isInsideKey(text, start, cut - 1)) continue
        this.#seen = cut
        return cut
      }
      // The character after the cut counts, too.
      if (limit >= text.length) return -1
      unbroken = nextBoundary(text, unbroken, limit)
      const isHopeless = unbroken === limit && length - MAXIMUM_UNSPACED < length * GROWTH
      const least = start + length * GROWTH
      let end = isHopeless ? start : this.#closedBefore(text, start, limit)
      if (end >= least) end = Math.min(end, openSecret(text, start, limit))
      if (end >= least) {
        this.#seen = limit
        // Outside private keys, natural cuts do not depend on where a segment starts.
        if (key < 0 || key >= limit) this.#uncut = Math.max(this.#uncut, limit)
        return end
      }
      at = Math.max(at, limit)
      length = nextAttempt(length)
    }
  }

  /**
   * How far the text decides the findings of the segment that `nextCut` returned last. Those that
   * start before its end and end after it belong to it.
   */
  get seen(): number {
    return this.#seen
  }

  /**
   * The end of that segment once it has been scanned.
   * @param cut as returned by `nextCut`
   * @param last end of its last value; without one, its `rowStart`
   */
  endAfter(cut: number, last: number): number {
    this.#open = cut < this.#seen && last < cut ? cut : -1
    this.#rowStart = last
    return Math.max(cut, last)
  }

  /**
   * Where the row of numbers may start that continues in the segment at `start`: a natural cut or a
   * value ends there.
   */
  rowStart(start: number): number {
    return this.#open === start ? this.#rowStart : start
  }

  /**
   * The bounds of the segment at `start`, for its scan.
   * @param end as returned by `nextCut`
   */
  bounds(text: string, start: number, end: number, seen: number): Bounds {
    const key = this.#nextKey(text, start)
    return { start, end, seen, rowStart: this.rowStart(start), holdsKey: key >= 0 && key < seen }
  }

  /** Where the first value may start that is unfinished at `end`. */
  #closedBefore(text: string, start: number, end: number): number {
    if (!this.#strict && isRowOfNumbers(text, start, end)) return openNumber(text, start, end)
    if (end - start < MAXIMUM_LONG_VALUE) {
      if (this.#isInsideKey(text, start, end) || this.#isInKeyEnd(text, start, end)) return start
      const token = openToken(text, start, end)
      if (token < end) return Math.min(token, openValue(text, start, end, this.#strict))
    }
    return openValue(text, start, end, this.#strict)
  }

  /** Reports whether the last line of a private key may be unfinished. */
  #isInKeyEnd(text: string, start: number, end: number): boolean {
    const key = this.#nextKey(text, start)
    return key >= 0 && key < end && text.slice(Math.max(start, end - MAXIMUM_KEY_END), end).includes(KEY_END)
  }

  /** Where the first private key at or after `start` begins; -1 if there is none so far. */
  #nextKey(text: string, start: number): number {
    if (this.#key < start && this.#keySearched < text.length) {
      const from = Math.max(start, this.#keySearched - KEY_BEGIN.length)
      this.#key = text.indexOf(KEY_BEGIN, from)
      this.#keySearched = this.#key < 0 ? text.length : this.#key + KEY_BEGIN.length
    }
    return this.#key < start ? -1 : this.#key
  }

  #isInsideKey(text: string, start: number, end: number): boolean {
    const key = this.#nextKey(text, start)
    return key >= 0 && key < end && isInsideKey(text, start, end)
  }
}
