// Makes the view of a text in which values are searched: without invisible characters, with escapes
// decoded and digits of two units read as one. Maps offsets back.

import { INVISIBLE } from '../../core/hidden-characters.ts'
import { holdsSign, isSign, readEscape } from './encoded-characters.ts'
import { type Decoded, LOOK_BEHIND } from './escape-text.ts'

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
const INVISIBLE_CHARACTER = new RegExp(`^[${INVISIBLE}]$`, 'v')
const FIRST_MATHEMATICAL = 0x1d7ce
const LAST_MATHEMATICAL = 0x1d7ff
const FIRST_SEGMENTED = 0x1fbf0
const DIGITS = 10

/** Characters kept before they are cut to LOOK_BEHIND: cutting costs more than keeping. */
const MAXIMUM_BEFORE = 1024

/** Reports whether a text contains an invisible character or a digit of two units. */
export const hasHiddenOrPaired = (text: string): boolean =>
  text.includes(SOFT_HYPHEN) || HIDDEN_OR_PAIRED.test(text)

const isInvisible = (character: string): boolean => INVISIBLE_CHARACTER.test(character)

/** Reports whether a text ends in the first half of a character. */
const endsInSurrogate = (text: string): boolean => (text.charCodeAt(text.length - 1) & 0xfc00) === 0xd800

/** The value of a digit of two units. */
const pairedDigit = (codePoint: number): number =>
  codePoint <= LAST_MATHEMATICAL ? (codePoint - FIRST_MATHEMATICAL) % DIGITS : codePoint - FIRST_SEGMENTED

/** Added to the offset of a character whose further units were removed: they belong to it. */
const INSIDE = 0.5

/**
 * Removes runs of any length, so that no run splits a value. Memory grows with the view that is not
 * released, not with the runs.
 */
export class TextView {
  /** Characters of the view so far. */
  #length = 0
  /** Offsets in the view before which units were removed, ascending. */
  #offsets: number[] = []
  /** For each offset, the count of units removed so far. */
  #totals: number[] = []
  /** Units removed before the first of #offsets. */
  #dropped = 0
  /** The last characters read, at least LOOK_BEHIND and at most MAXIMUM_BEFORE. */
  #before = ''
  /** What may begin an escape or a character of two units. */
  #held = ''
  #isQuotedPrintable = false
  #isAfterEscape = false

  /** Takes a chunk; returns the view of what is decided. */
  push(chunk: string): string {
    if (this.#held !== '' || holdsSign(chunk) || hasHiddenOrPaired(chunk) || endsInSurrogate(chunk))
      return this.#read(chunk, false)
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
    while (at < end) {
      pattern.lastIndex = at
      const special = pattern.exec(text)
      const next = special?.index ?? end
      if (next > at) {
        view += text.slice(at, next)
        this.#length += next - at
        this.#isAfterEscape = false
        at = next
        continue
      }
      const decoded = this.#decoded(text, at, special![0], last)
      if (decoded === null) break
      this.#add(decoded, text.startsWith(decoded.view, at))
      view += decoded.view
      at += decoded.length
    }
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
      this.#remove(this.#length, length)
      return
    }
    this.#isAfterEscape = !isPlain
    if (length > view.length) this.#remove(this.#length + INSIDE, length - view.length)
    this.#length += view.length
  }

  #remove(offset: number, units: number): void {
    const total = (this.#totals.at(-1) ?? this.#dropped) + units
    if (this.#offsets.at(-1) === offset) {
      this.#totals[this.#totals.length - 1] = total
      return
    }
    this.#offsets.push(offset)
    this.#totals.push(total)
  }

  /** The offset in the whole text of the character at an offset in the view. */
  startOf(offset: number): number {
    return offset + this.#removedUpTo(offset)
  }

  /** The offset in the whole text after a character that ends at an offset in the view. */
  endOf(offset: number): number {
    return offset + this.#removedUpTo(offset - INSIDE)
  }

  /** Units removed before the offsets of the view up to `offset`. */
  #removedUpTo(offset: number): number {
    let low = 0
    let high = this.#offsets.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#offsets[middle]! <= offset) low = middle + 1
      else high = middle
    }
    return low === 0 ? this.#dropped : this.#totals[low - 1]!
  }

  /** Forgets what lies before an offset in the view. */
  release(offset: number): void {
    let count = 0
    while (count < this.#offsets.length && this.#offsets[count]! < offset) count++
    if (count === 0) return
    this.#dropped = this.#totals[count - 1]!
    this.#offsets.splice(0, count)
    this.#totals.splice(0, count)
  }
}
