// Removes invisible characters from a text that arrives in chunks and reads digits of two units as
// one, so that values are found that contain them. Maps offsets back.

/**
 * Default_Ignorable_Code_Point of Unicode beyond Latin-1. U+E0000 to U+E0FFF and U+1BCA0 to U+1D17A
 * are surrogate pairs; of these, only the former are removed.
 */
const INVISIBLE = new RegExp(
  `[${[
    '\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u202a-\\u202e',
    '\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufff8\\udb40-\\udb43',
  ].join('')}]`,
)
/** Tested separately: the others lie beyond Latin-1, so V8 rejects them at once for most texts. */
const SOFT_HYPHEN = '\u00ad'
/**
 * Digits of two units that NFKC turns into 0 to 9: mathematical ones in five styles of ten, and
 * segmented ones.
 */
const PAIRED_DIGIT = /\ud835[\udfce-\udfff]|\ud83e[\udff0-\udff9]/
const MATHEMATICAL = 0xd835
const FIRST_MATHEMATICAL = 0xdfce
const SEGMENTED = 0xd83e
const FIRST_SEGMENTED = 0xdff0
const LAST_SEGMENTED = 0xdff9
const DIGITS = 10

/** Reports whether a text contains an invisible character or a digit of two units. */
export const hasInvisible = (text: string): boolean =>
  text.includes(SOFT_HYPHEN) || INVISIBLE.test(text) || PAIRED_DIGIT.test(text)

const isHigh = (code: number): boolean => code >= 0xdb40 && code <= 0xdb43
const isLow = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff
const isInvisible = (character: string): boolean => character === SOFT_HYPHEN || INVISIBLE.test(character)

/** The value of a digit of two units; -1 for other pairs. */
function pairedDigit(high: number, low: number): number {
  if (high === MATHEMATICAL && low >= FIRST_MATHEMATICAL && isLow(low))
    return (low - FIRST_MATHEMATICAL) % DIGITS
  return high === SEGMENTED && low >= FIRST_SEGMENTED && low <= LAST_SEGMENTED ? low - FIRST_SEGMENTED : -1
}

/** Added to the offset of a digit whose second unit was removed: it belongs to the digit. */
const INSIDE = 0.5

/**
 * Removes runs of any length, so that no run splits a value. Memory grows with the visible text
 * that is not released, not with the runs.
 */
export class InvisibleFilter {
  /** Characters of the visible text so far. */
  #length = 0
  /** Offsets in the visible text before which units were removed, ascending. */
  #offsets: number[] = []
  /** For each offset, the count of units removed so far. */
  #totals: number[] = []
  /** Units removed before the first of #offsets. */
  #dropped = 0
  /** A high surrogate at the end of the last chunk, which may begin a character to remove. */
  #high = ''

  /** Takes a chunk; returns its visible text. */
  push(chunk: string): string {
    const text = this.#takeHigh(chunk)
    if (!hasInvisible(text)) {
      this.#length += text.length
      return text
    }
    let visible = ''
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      const next = text.charCodeAt(at + 1)
      const digit = pairedDigit(code, next)
      if (isHigh(code) && isLow(next)) {
        this.#remove(this.#length, 2)
        at++
      } else if (digit >= 0) {
        visible += digit
        this.#remove(this.#length + INSIDE, 1)
        this.#length++
        at++
      } else if (!isHigh(code) && isInvisible(text.charAt(at))) {
        this.#remove(this.#length, 1)
      } else {
        visible += text.charAt(at)
        this.#length++
      }
    }
    return visible
  }

  /** The text to read now: without a high surrogate at its end, which is kept for later. */
  #takeHigh(chunk: string): string {
    const text = this.#high + chunk
    const last = text.charCodeAt(text.length - 1)
    const isOpen = isHigh(last) || last === MATHEMATICAL || last === SEGMENTED
    this.#high = isOpen ? text.slice(-1) : ''
    return isOpen ? text.slice(0, -1) : text
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

  /** Ends the text; returns what is left of it. */
  finish(): string {
    const rest = this.#high
    this.#high = ''
    this.#length += rest.length
    return rest
  }

  /** The offset in the whole text of the character at an offset in the visible text. */
  startOf(offset: number): number {
    return offset + this.#removedUpTo(offset)
  }

  /** The offset in the whole text after a character that ends at an offset in the visible one. */
  endOf(offset: number): number {
    return offset + this.#removedUpTo(offset - INSIDE)
  }

  /** Units removed before the visible offsets up to `offset`. */
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

  /** Forgets what lies before an offset in the visible text. */
  release(offset: number): void {
    let count = 0
    while (count < this.#offsets.length && this.#offsets[count]! < offset) count++
    if (count === 0) return
    this.#dropped = this.#totals[count - 1]!
    this.#offsets.splice(0, count)
    this.#totals.splice(0, count)
  }
}
