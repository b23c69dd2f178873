// Escapes of URLs, HTML and program text, replaced by what they stand for; knows nothing of what is done with the result.

import { CodeUnits } from './code-units.ts'

/** Fewer escapes are everyday text. */
const ESCAPES_MIN = 3
const PERCENT = 0x25
const AMPERSAND = 0x26
const BACKSLASH = 0x5c
const SEMICOLON = 0x3b
const NUMBER_SIGN = 0x23
const LETTER_U = 0x75
const LETTER_X = 0x78
const OPENING_BRACE = 0x7b
const CLOSING_BRACE = 0x7d
const SPACE = 0x20
const DECIMAL = 10
const HEXADECIMAL = 16
const ENTITY_DIGITS_MAX = 6
const CODE_POINT_MAX = 0x10ffff
const NAMED: readonly (readonly [name: string, unit: number])[] = [
  ['lt;', 0x3c],
  ['gt;', 0x3e],
  ['amp;', 0x26],
  ['quot;', 0x22],
  ['nbsp;', 0x20],
  ['apos;', 0x27],
]

/** Replaces escapes, one text at a time. Linear in the text. */
export class Unescaper {
  /** Of the escape last read: where it ends, and what it stands for. */
  #end = 0
  #codePoint = 0

  /** The text with escapes replaced in place, or null when there are too few to matter. */
  unescape(text: string): string | null {
    const out = new CodeUnits(text.length)
    const { units } = out
    let length = 0
    let escapes = 0
    for (let index = 0; index < text.length; ) {
      const unit = text.charCodeAt(index)
      if (!this.#read(text, index, unit)) {
        units[length++] = unit
        index++
        continue
      }
      escapes++
      index = this.#end
      const codePoint = this.#codePoint
      if (codePoint > 0xffff) {
        units[length++] = 0xd7c0 + (codePoint >> 10)
        units[length++] = 0xdc00 + (codePoint & 0x3ff)
      } else units[length++] = codePoint
    }
    return escapes < ESCAPES_MIN ? null : out.toString(length)
  }

  /** Offset in `text` of what the unit at `offset` of `unescape(text)` came from. */
  origin(text: string, offset: number): number {
    let length = 0
    for (let index = 0; index < text.length; ) {
      const escaped = this.#read(text, index, text.charCodeAt(index))
      const size = escaped && this.#codePoint > 0xffff ? 2 : 1
      if (length + size > offset) return index + offset - length
      length += size
      index = escaped ? this.#end : index + 1
    }
    return text.length - 1
  }

  /** Reads the escape that begins at `index`, if one does. */
  #read(text: string, index: number, unit: number): boolean {
    if (unit === PERCENT) return this.#readNumber(text, index + 1, HEXADECIMAL, 2, 2)
    if (unit === AMPERSAND) return this.#readEntity(text, index + 1)
    return unit === BACKSLASH && this.#readProgramText(text, index + 1)
  }

  /** `lt;`, `#60;`, `#x3c;` */
  #readEntity(text: string, start: number): boolean {
    if (text.charCodeAt(start) !== NUMBER_SIGN) return this.#readName(text, start)
    const hexadecimal = text.charCodeAt(start + 1) === LETTER_X
    const found = hexadecimal
      ? this.#readNumber(text, start + 2, HEXADECIMAL, 1, ENTITY_DIGITS_MAX)
      : this.#readNumber(text, start + 1, DECIMAL, 1, ENTITY_DIGITS_MAX)
    return found && text.charCodeAt(this.#end++) === SEMICOLON
  }

  /** `u003c`, `u{3c00}` */
  #readProgramText(text: string, start: number): boolean {
    if (text.charCodeAt(start) !== LETTER_U) return false
    const braced = text.charCodeAt(start + 1) === OPENING_BRACE
    if (!this.#readNumber(text, start + (braced ? 2 : 1), HEXADECIMAL, 4, 5)) return false
    if (text.charCodeAt(this.#end) === CLOSING_BRACE) this.#end++
    return true
  }

  #readName(text: string, start: number): boolean {
    for (const [name, unit] of NAMED) {
      if (!text.startsWith(name, start)) continue
      this.#end = start + name.length
      this.#codePoint = unit
      return true
    }
    return false
  }

  /** Reads as many hexadecimal digits as may be; of a decimal number only those up to 9 count. */
  #readNumber(text: string, start: number, radix: number, least: number, most: number): boolean {
    let end = start
    let value = 0
    let counted = 0
    for (; end < start + most; end++) {
      const digit = hexDigit(text.charCodeAt(end))
      if (digit < 0) break
      if (digit >= radix) continue
      value = value * radix + digit
      counted++
    }
    const valid = counted > 0 && value <= CODE_POINT_MAX && (value < 0xd800 || value > 0xdfff)
    this.#codePoint = valid ? value : SPACE
    this.#end = end
    return end - start >= least
  }
}

/** The value of a digit, -1 for anything else. */
function hexDigit(unit: number): number {
  if (unit >= 0x30 && unit <= 0x39) return unit - 0x30
  const letter = unit | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}
