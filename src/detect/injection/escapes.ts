// Replaces the escapes of URLs, HTML and source code by the characters they mean.

import {
  AMPERSAND,
  APOSTROPHE,
  BACKSLASH,
  CASE_BIT,
  CLOSE_BRACE,
  DIGIT_0,
  GREATER_THAN,
  HASH,
  isDigit,
  LESS_THAN,
  LOWER_A,
  LOWER_F,
  LOWER_U,
  LOWER_X,
  OPEN_BRACE,
  PERCENT,
  QUOTE,
  SEMICOLON,
  SPACE,
} from '../../core/ascii.ts'
import { CodeUnits } from './code-units.ts'

/** Fewer escapes are ordinary text. */
const ESCAPES_MIN = 3
const DECIMAL = 10
const HEXADECIMAL = 16
const ENTITY_DIGITS_MAX = 6
const CODE_POINT_MAX = 0x10ffff
const NAMED: readonly (readonly [name: string, unit: number])[] = [
  ['lt;', LESS_THAN],
  ['gt;', GREATER_THAN],
  ['amp;', AMPERSAND],
  ['quot;', QUOTE],
  ['nbsp;', SPACE],
  ['apos;', APOSTROPHE],
]

/** Unescapes one text at a time in linear time. */
export class Unescaper {
  /** End and character of the last escape that was read. */
  #end = 0
  #codePoint = 0

  /** Returns the text with its escapes replaced, or null if it has fewer than ESCAPES_MIN. */
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

  /** Returns the offset in `text` that the unit at `offset` of `unescape(text)` came from. */
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

  /** Reads the escape at `index`; returns whether there is one. */
  #read(text: string, index: number, unit: number): boolean {
    if (unit === PERCENT) return this.#readNumber(text, index + 1, HEXADECIMAL, 2, 2)
    if (unit === AMPERSAND) return this.#readEntity(text, index + 1)
    return unit === BACKSLASH && this.#readProgramText(text, index + 1)
  }

  /** Reads `lt;`, `#60;` or `#x3c;`. */
  #readEntity(text: string, start: number): boolean {
    if (text.charCodeAt(start) !== HASH) return this.#readName(text, start)
    const hexadecimal = text.charCodeAt(start + 1) === LOWER_X
    const found = hexadecimal
      ? this.#readNumber(text, start + 2, HEXADECIMAL, 1, ENTITY_DIGITS_MAX)
      : this.#readNumber(text, start + 1, DECIMAL, 1, ENTITY_DIGITS_MAX)
    return found && text.charCodeAt(this.#end++) === SEMICOLON
  }

  /** Reads `u003c` or `u{3c00}`. */
  #readProgramText(text: string, start: number): boolean {
    if (text.charCodeAt(start) !== LOWER_U) return false
    const braced = text.charCodeAt(start + 1) === OPEN_BRACE
    if (!this.#readNumber(text, start + (braced ? 2 : 1), HEXADECIMAL, 4, 5)) return false
    if (text.charCodeAt(this.#end) === CLOSE_BRACE) this.#end++
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

  /**
   * Reads up to `digitsMax` hexadecimal digits. For a decimal number only the digits 0 to 9 count.
   */
  #readNumber(text: string, start: number, radix: number, digitsMin: number, digitsMax: number): boolean {
    let end = start
    let value = 0
    let counted = 0
    for (; end < start + digitsMax; end++) {
      const digit = hexDigit(text.charCodeAt(end))
      if (digit < 0) break
      if (digit >= radix) continue
      value = value * radix + digit
      counted++
    }
    const valid = counted > 0 && value <= CODE_POINT_MAX && (value < 0xd800 || value > 0xdfff)
    this.#codePoint = valid ? value : SPACE
    this.#end = end
    return end - start >= digitsMin
  }
}

/** Returns the value of a digit, or -1. */
function hexDigit(unit: number): number {
  if (isDigit(unit)) return unit - DIGIT_0
  const letter = unit | CASE_BIT
  return letter >= LOWER_A && letter <= LOWER_F ? letter - LOWER_A + 10 : -1
}
