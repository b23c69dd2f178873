// Makes the view of a text in which values are searched: without invisible characters, with escapes
// decoded and digits of two units read as one. Maps offsets back.

import { ASCII_END } from '../../core/ascii.ts'
import { INVISIBLE, isInvisible } from '../../core/hidden-characters.ts'
import { STEP_UNITS, type Steps } from '../../core/steps.ts'
import { isSign, mayBeginEscape, readEscape } from './encoded-characters.ts'
import { type Decoded, LOOK_BEHIND } from './escape-text.ts'
import { INSIDE, OffsetMap } from './offset-map.ts'

/** Tested separately: the others lie beyond Latin-1, so V8 rejects them at once for most texts. */
const SOFT_HYPHEN = '\u00ad'
/**
 * Digits of two units that NFKC turns into 0 to 9: mathematical ones in five styles of ten, and
 * segmented ones.
 */
const PAIRED_DIGITS = '\\u{1d7ce}-\\u{1d7ff}\\u{1fbf0}-\\u{1fbf9}'
const HIDDEN_OR_PAIRED = new RegExp(`[[${INVISIBLE}${PAIRED_DIGITS}]--[${SOFT_HYPHEN}]]`, 'v')
/** All that may differ between a text and its view. */
const SPECIAL = new RegExp(`[${INVISIBLE}${PAIRED_DIGITS}%\\&=\\\\+]`, 'gv')
/** The same in a text without invisible characters and digits of two units; faster. */
const SIGN = /[%&=\\+]/g
const FIRST_MATHEMATICAL = 0x1d7ce
const LAST_MATHEMATICAL = 0x1d7ff
const FIRST_SEGMENTED = 0x1fbf0
const DIGITS = 10

/** Characters kept before they are cut to LOOK_BEHIND: cutting costs more than keeping. */
const MAXIMUM_BEFORE = 1024

/** Reports whether a text contains an invisible character or a digit of two units. */
export const hasHiddenOrPaired = (text: string): boolean =>
  text.includes(SOFT_HYPHEN) || HIDDEN_OR_PAIRED.test(text)

/** A text without its invisible characters, which has no digits of two units. */
export interface VisibleText {
  readonly text: string
  /** Offsets of `text`. */
  readonly map: OffsetMap
}

const EVERY_HIDDEN_OR_PAIRED = new RegExp(`[${INVISIBLE}${PAIRED_DIGITS}]`, 'gv')
const EVERY_SOFT_HYPHEN = new RegExp(SOFT_HYPHEN, 'g')
/** Maximum invisible characters that are kept; each takes some bytes until the text is searched. */
const MAXIMUM_REMOVED = 65_536

/**
 * Returns the same text in one byte a character, which V8 searches faster: one invisible character
 * made two bytes of each. Null unless it is Latin-1.
 */
function narrowed(text: string): string | null {
  const narrow = Buffer.from(text, 'latin1').toString('latin1')
  return narrow === text ? narrow : null
}

/** Removes invisible characters. Null for a text with digits of two units, or with too many. */
export function* visibleText(whole: string): Steps<VisibleText | null> {
  const map = new OffsetMap()
  const pieces: string[] = []
  let length = 0
  let end = 0
  for (let start = 0; start < whole.length; start = end) {
    if (start > 0) yield
    end = start + STEP_UNITS
    if (endsInSurrogate(whole.slice(start, end))) end++
    const wide = whole.slice(start, end)
    const narrow = narrowed(wide)
    const piece = narrow ?? wide
    const pattern = narrow === null ? EVERY_HIDDEN_OR_PAIRED : EVERY_SOFT_HYPHEN
    let visible = ''
    let from = 0
    for (const { 0: hidden, index } of piece.matchAll(pattern)) {
      if (hidden.length > 1 && !isInvisible(hidden)) return null
      visible += piece.slice(from, index)
      from = index + hidden.length
      map.remove(length + visible.length, hidden.length)
    }
    visible += piece.slice(from)
    pieces.push(from === 0 ? piece : (narrowed(visible) ?? visible))
    length += visible.length
    if (end - length > MAXIMUM_REMOVED) return null
  }
  return { text: pieces.join(''), map }
}

/** Longest chunk that is read character by character: most are tokens of a model. */
const MAXIMUM_WORD = 16
/** ASCII characters that are themselves. */
const PLAIN = Uint8Array.from({ length: ASCII_END }, (_, code) => (isSign(String.fromCharCode(code)) ? 0 : 1))

/** Reports whether a chunk is short and consists of plain characters only; faster than patterns. */
function isPlainWord(chunk: string): boolean {
  if (chunk.length > MAXIMUM_WORD) return false
  for (let at = 0; at < chunk.length; at++) if (PLAIN[chunk.charCodeAt(at)] !== 1) return false
  return true
}

/** Reports whether a text ends in the first half of a character. */
const endsInSurrogate = (text: string): boolean => (text.charCodeAt(text.length - 1) & 0xfc00) === 0xd800

/** The value of a digit of two units. */
const pairedDigit = (codePoint: number): number =>
  codePoint <= LAST_MATHEMATICAL ? (codePoint - FIRST_MATHEMATICAL) % DIGITS : codePoint - FIRST_SEGMENTED

/**
 * Removes runs of any length, so that no run splits a value. Memory grows with the view that is not
 * released, not with the runs.
 */
export class TextView {
  /** Characters of the view so far. */
  #length = 0
  /** Offsets of the view. */
  readonly map = new OffsetMap()
  /** The last characters read, at least LOOK_BEHIND and at most MAXIMUM_BEFORE. */
  #before = ''
  /** What may begin an escape or a character of two units. */
  #held = ''
  #isQuotedPrintable = false
  #isAfterEscape = false

  /** Takes a chunk; returns the view of what is decided. */
  push(chunk: string): string {
    const isPlain =
      this.#held === '' &&
      (isPlainWord(chunk) ||
        !(mayBeginEscape(chunk, this.#before) || hasHiddenOrPaired(chunk) || endsInSurrogate(chunk)))
    if (!isPlain) return this.#read(chunk, false)
    this.#passed(chunk)
    return chunk
  }

  /** Ends the text; returns the view of what is left of it. */
  finish(): string {
    return this.#held === '' ? '' : this.#read('', true)
  }

  #passed(plain: string): void {
    if (plain === '') return
    this.#length += plain.length
    this.#isAfterEscape = false
    this.#before += plain
    if (this.#before.length > MAXIMUM_BEFORE) this.#before = this.#before.slice(-LOOK_BEHIND)
  }

  #read(chunk: string, last: boolean): string {
    const before = this.#before.slice(-LOOK_BEHIND)
    const text = before + this.#held + chunk
    const pattern = hasHiddenOrPaired(text) ? SPECIAL : SIGN
    const end = !last && endsInSurrogate(text) ? text.length - 1 : text.length
    let view = ''
    let at = before.length
    /** What lies from here to `at` is written as itself. */
    let from = at
    while (at < end) {
      pattern.lastIndex = at
      const special = pattern.exec(text)
      const next = special?.index ?? end
      if (next > at) {
        this.#length += next - at
        this.#isAfterEscape = false
        at = next
      }
      if (special === null) break
      const decoded = this.#decoded(text, at, special[0], last)
      if (decoded === null) break
      const isPlain = decoded.view !== '' && text.startsWith(decoded.view, at)
      this.#add(decoded, isPlain)
      if (!isPlain || decoded.view.length !== decoded.length) {
        view += text.slice(from, at) + decoded.view
        from = at + decoded.length
      }
      at += decoded.length
    }
    view += text.slice(from, at)
    this.#held = text.slice(at)
    this.#before = text.slice(Math.max(0, at - LOOK_BEHIND), at)
    return view
  }

  /** What a special character is, or what begins with it; null while later text decides. */
  #decoded(text: string, at: number, special: string, last: boolean): Decoded | null {
    if (special.length > 1) {
      const view = isInvisible(special) ? '' : String(pairedDigit(special.codePointAt(0)!))
      return { view, length: special.length }
    }
    if (!isSign(special)) return { view: '', length: 1 }
    const decoded = readEscape(text, at, last, {
      isQuotedPrintable: this.#isQuotedPrintable,
      isAfterEscape: this.#isAfterEscape,
    })
    this.#isQuotedPrintable ||= decoded?.isEvidence === true
    return decoded !== null && isInvisible(decoded.view) ? { ...decoded, view: '' } : decoded
  }

  /** @param isPlain whether it is decoded as itself */
  #add({ view, length }: Decoded, isPlain: boolean): void {
    if (view === '') {
      this.map.remove(this.#length, length)
      return
    }
    this.#isAfterEscape = !isPlain
    if (length > view.length) this.map.remove(this.#length + INSIDE, length - view.length)
    this.#length += view.length
  }
}
