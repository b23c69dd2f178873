// Removes invisible characters from a text that arrives in chunks, so that values are found that
// contain them, and maps offsets back.

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
/** Longest run that is removed; bounds what a stream holds back. */
const MAX_RUN = 32

/** Reports whether a text contains an invisible character. */
export const hasInvisible = (text: string): boolean => text.includes(SOFT_HYPHEN) || INVISIBLE.test(text)

const isHigh = (code: number): boolean => code >= 0xdb40 && code <= 0xdb43
const isLow = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff

export class InvisibleFilter {
  /** Characters of the visible text so far. */
  #length = 0
  /** Offsets in the visible text before which one unit was removed, ascending, from #first on. */
  #removed: number[] = []
  /** Units removed before those in #removed. */
  #dropped = 0
  #run = 0
  /** A high surrogate at the end of the last chunk, which may begin an invisible character. */
  #high = ''

  /** Takes a chunk; returns its visible text. */
  push(chunk: string): string {
    const text = this.#high + chunk
    this.#high = ''
    if (!hasInvisible(text)) {
      if (text !== '') this.#run = 0
      this.#length += text.length
      return text
    }
    let visible = ''
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (isHigh(code) && at === text.length - 1) {
        this.#high = text.charAt(at)
        break
      }
      const isTag = isHigh(code) && isLow(text.charCodeAt(at + 1))
      const units = isTag ? 2 : 1
      if ((isTag || (!isHigh(code) && hasInvisible(text.charAt(at)))) && this.#run < MAX_RUN) {
        this.#run++
        for (let unit = 0; unit < units; unit++) this.#removed.push(this.#length)
      } else {
        if (!isTag && !hasInvisible(text.charAt(at))) this.#run = 0
        visible += text.slice(at, at + units)
        this.#length += units
      }
      at += units - 1
    }
    return visible
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
    return offset + this.#removedBefore(offset)
  }

  /** The offset in the whole text after a character that ends at an offset in the visible one. */
  endOf(offset: number): number {
    return offset + this.#removedBefore(offset - 1)
  }

  #removedBefore(offset: number): number {
    let low = 0
    let high = this.#removed.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#removed[middle]! <= offset) low = middle + 1
      else high = middle
    }
    return this.#dropped + low
  }

  /** Forgets what lies before an offset in the visible text. */
  release(offset: number): void {
    if (this.#removed.length === 0 || this.#removed[0]! >= offset) return
    const kept = this.#removed.filter((at) => at >= offset)
    this.#dropped += this.#removed.length - kept.length
    this.#removed = kept
  }
}
