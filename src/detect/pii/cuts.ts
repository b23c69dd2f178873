// Where a text may be cut so that its parts can be searched by themselves. Cuts depend on the text alone, never on
// how it arrives, which is what makes a stream say the same as the whole.

/** Longest segment; a longer one is cut in any case. Longer than any value but a private key. */
const MAX_SEGMENT = 1024
/** Longest segment that holds a private key: 4096-bit RSA takes 3.3 KB. */
const MAX_KEY_SEGMENT = 8192

const KEY_BEGIN = '-----BEGIN '
const KEY_END = '-----END '
const KEY_LINE = /^[A-Za-z0-9+/=:,. -]*$/

const SPACE = 0x20
const NEWLINE = 0x0a

const isSpace = (code: number): boolean =>
  code === SPACE || (code >= 0x09 && code <= 0x0d) || code === 0xa0 || code === 0x3000
const isLower = (code: number): boolean => code >= 0x61 && code <= 0x7a
const isUpper = (code: number): boolean => code >= 0x41 && code <= 0x5a
/** Han, kana and Hangul: scripts written without spaces. */
const isUnspaced = (code: number): boolean =>
  (code >= 0x3040 && code <= 0x30ff) ||
  (code >= 0x3400 && code <= 0x9fff) ||
  (code >= 0xac00 && code <= 0xd7a3)
const isOtherLetter = (code: number): boolean =>
  code >= 0xc0 && code < 0x2000 && code !== 0xd7 && code !== 0xf7

/**
 * Finds the ends of segments, character by character:
 * - behind white space that follows a word of letters that ends in a small letter (no value ends or goes on so)
 * - behind a line end, but not inside a private key
 * - between two characters of a script without spaces
 * - at MAX_SEGMENT
 */
export class Cutter {
  /** Letters only since the last white space, and how the last of them is written. */
  #word: 'none' | 'small' | 'other' = 'none'
  #lettersOnly = true
  #previous = 0
  #position = 0
  #segment = 0

  /** Offset of the segment that has not ended. */
  get segment(): number {
    return this.#segment
  }

  /** Takes the text from `position` on; `text` begins at the current segment. Calls back with the end of each segment. */
  feed(text: string, onSegment: (end: number) => void): void {
    const base = this.#segment
    for (let i = this.#position - base; i < text.length; i++) {
      const code = text.charCodeAt(i)
      const at = base + i
      if (this.#segment < at && isUnspaced(code) && isUnspaced(this.#previous)) this.#cut(at, onSegment)
      this.#previous = code
      this.#position = at + 1
      if (isSpace(code)) {
        const afterWord = this.#lettersOnly && this.#word === 'small'
        this.#word = 'none'
        this.#lettersOnly = true
        if (code === NEWLINE ? !this.#insideKey(text.slice(this.#segment - base, i)) : afterWord) {
          this.#cut(at + 1, onSegment)
        }
      } else if (isLower(code) || isOtherLetter(code)) this.#word = 'small'
      else if (isUpper(code)) this.#word = 'other'
      else this.#lettersOnly = false
      const length = at + 1 - this.#segment
      if (
        length >= MAX_SEGMENT &&
        (length >= MAX_KEY_SEGMENT || !this.#insideKey(text.slice(this.#segment - base, i)))
      ) {
        // Not between the halves of a pair.
        this.#cut(code >= 0xd800 && code <= 0xdbff ? at : at + 1, onSegment)
      }
    }
  }

  #cut(end: number, onSegment: (end: number) => void): void {
    onSegment(end)
    this.#segment = end
  }

  #insideKey(segment: string): boolean {
    const begin = segment.lastIndexOf(KEY_BEGIN)
    if (begin < 0 || segment.indexOf(KEY_END, begin) >= 0) return false
    return KEY_LINE.test(segment.slice(segment.lastIndexOf('\n') + 1))
  }
}
