// Where a text may be cut so that its parts can be searched by themselves. Cuts depend on the text alone, never on
// how it arrives, which is what makes a stream say the same as the whole. Knows nothing of values but how they go on.

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
import { codeAt, isSpace, isUnspaced } from '../code-unit-classes.ts'
import { isInsideKey, KEY_BEGIN } from '../keyblock.ts'
import type { KindSet } from '../kinds.ts'
import { isAfterWord, mayContainWords } from './word-boundaries.ts'

/** Characters before a segment that may be looked at, by a detector or to tell a cut. */
export const CONTEXT_CHARACTERS = 64
/** Longest segment of ordinary text; a longer one is cut in any case. Longer than any value but keys and tokens. */
export const MAX_SEGMENT = 1024
/** How far back from there a better place for a cut is looked for. */
const FORCED_CUT_CHOICE = 256
/** Longest segment that holds one private key or token: PKCS#8 of RSA-16384 takes 12.6 KB. */
const MAX_LONG_VALUE = 16_384

/** Behind these no value goes on. */
const DELIMITER = /[\s,;"'<>{}|\\]/
/** The beginning of a JSON web token or one line of a key at the end of the text so far. */
const LONG_VALUE =
  /(?:(?<![A-Za-z0-9])eyJ[A-Za-z0-9_.-]*|-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY-----[A-Za-z0-9+/=\\: -]*)$/

/** Marks that a text without spaces may be cut at: behind it, or before it. */
const CUT_AFTER = 1
const CUT_BEFORE = 2
const CUT_SIDES = new Uint8Array(ASCII_END)
for (const mark of ',}]>') CUT_SIDES[mark.charCodeAt(0)] = CUT_AFTER
for (const mark of '"[{-0123456789') CUT_SIDES[mark.charCodeAt(0)] = CUT_BEFORE
/** Characters of a number in a list, with and without a point: longer ones may be called, and be said to be behind. */
const MAX_LISTED = { fraction: 20, whole: 6 }

/**
 * No value goes on behind a tag, a string or a name in JSON, a number in a list: structured text has no spaces, and a stream of it
 * would come in lumps of MAX_SEGMENT.
 * @param at a mark of this kind is there
 */
function isAfterMark(text: string, at: number): boolean {
  const mark = text.charCodeAt(at)
  if (mark === GREATER_THAN || text.charCodeAt(at - 1) === QUOTE) return true
  return mark === COMMA && isAfterListItem(text, at)
}

/** `"name":"`, but not `"::1"`. */
const isAfterJsonName = (text: string, at: number): boolean =>
  text.charCodeAt(at - 1) === COLON && text.charCodeAt(at - 2) === QUOTE

/** Whether a number stands before, and before that what a list begins with or another comma. */
function isAfterListItem(text: string, end: number): boolean {
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
  return start < end && (before === COMMA || before === OPEN_BRACKET)
}

/** Most of a text: neither white space nor of a script without spaces. */
const isPlainAscii = (code: number): boolean => code > SPACE && code < ASCII_END

/**
 * Whether the text is cut before `at`, told from at most CONTEXT_CHARACTERS before and the character at `at`.
 * @param strict see `isBehindWord`
 */
function isCut(text: string, at: number, strict: boolean): boolean {
  const before = text.charCodeAt(at - 1)
  if (isPlainAscii(before)) {
    if (CUT_SIDES[before] === CUT_AFTER && isAfterMark(text, at - 1)) return true
    const next = codeAt(text, at)
    return isPlainAscii(next) && CUT_SIDES[next] === CUT_BEFORE && isAfterJsonName(text, at)
  }
  if (before === LINE_FEED) return true
  if (isSpace(before)) return isAfterWord(text, at - 1, strict)
  return isUnspaced(before) && at < text.length && isUnspaced(text.charCodeAt(at))
}

/**
 * The first cut of a segment that begins at `start`, behind a character in [from, to); -1 for none.
 * @param strictFrom where cuts behind words become strict
 */
function firstCut(text: string, start: number, from: number, to: number, strictFrom: number): number {
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at)
    if (isPlainAscii(code)) {
      const cutting = CUT_SIDES[code]
      if (cutting === CUT_AFTER && isAfterMark(text, at)) return at + 1
      if (cutting === CUT_BEFORE && at > start && isAfterJsonName(text, at)) return at
      continue
    }
    if (isSpace(code)) {
      if (code === LINE_FEED) return at + 1
      if (isAfterWord(text, at, at >= strictFrom)) return at + 1
    } else if (at > start && isUnspaced(code) && isUnspaced(text.charCodeAt(at - 1))) return at
  }
  return -1
}

/** Finds where the segments of a text begin and end; the text may grow at its end. */
export class Segmenter {
  /** Where the next private key begins in the text; -1 for none so far. */
  #key = -1
  #keySearched = 0
  readonly #strict: boolean

  /** @param kinds what is looked for: names and addresses have cuts behind fewer words */
  constructor(kinds: KindSet) {
    this.#strict = mayContainWords(kinds)
  }

  /** To be told when the text has lost `count` characters at its beginning. */
  dropPrefix(count: number): void {
    this.#key = Math.max(-1, this.#key - count)
    this.#keySearched = Math.max(0, this.#keySearched - count)
  }

  /** The last cut in (from, at], or `from`. For texts without private keys. */
  lastCut(text: string, from: number, at: number): number {
    for (let cut = at; cut > from; cut--) if (isCut(text, cut, this.#strict)) return cut
    return from
  }

  /**
   * The end of the segment that begins at `start`, -1 if the text so far does not say.
   * @param known characters that are known to hold no end
   */
  nextCut(text: string, start: number, searched: number): number {
    let at = Math.max(start, searched)
    // Where the length may end it.
    let limit = start + MAX_SEGMENT * Math.max(1, Math.ceil((at - start) / MAX_SEGMENT))
    const key = this.#strict ? 0 : this.#nextKey(text, start)
    const strictFrom = key < 0 ? text.length : key
    for (;;) {
      const cut = firstCut(text, start, at, Math.min(limit, text.length), strictFrom)
      if (cut >= 0) {
        if (text.charCodeAt(cut - 1) !== LINE_FEED || !this.#isInsideKey(text, start, cut - 1)) return cut
        at = cut
      } else {
        // What stands behind the cut counts, too.
        if (limit >= text.length) return -1
        if (!this.#holdsLongValue(text, start, limit)) return forcedCut(text, limit)
        at = limit
        limit += MAX_SEGMENT
      }
    }
  }

  /** Where the first private key begins that does so from `start` on; -1 if there is none so far. */
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

  #holdsLongValue(text: string, start: number, end: number): boolean {
    if (end - start >= MAX_LONG_VALUE) return false
    return LONG_VALUE.test(text.slice(start, end)) || this.#isInsideKey(text, start, end)
  }
}

/** Whether a cut that is forced by the length of a line stands before a number rather than in it. */
export function staysWhole(text: string, number: number): boolean {
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
