// Finds the end of base64 runs and rules out those that cannot be text. Identifiers and paths look
// like base64 and are frequent in logs and code; hardly any of them is ever decoded.

import { ASCII_END, CARRIAGE_RETURN, EQUALS, HYPHEN, LINE_FEED, UNDERSCORE } from '../../core/ascii.ts'

/** Shorter lines are not taken for base64. */
export const BASE64_RUN_MIN = 16
/** Shortest last line of a run. */
const LAST_LINE_MIN = 2
const PADDING_MAX = 2
/** One character in this many may be something other than text. */
const OTHERS_ONE_IN = 5

const SPACE = /\s/

/** Kinds of bytes in UTF-8. An ASCII byte that is not text is valid and counted separately. */
const ASCII = 0
const CONTINUATION = 1
const LEAD = 2

/** Value of a character that is not in the alphabet. */
const NO_VALUE = 64
const VALUES = valuesOfAscii()

/**
 * Returns the end of the run that begins at `start` with a line of at least BASE64_RUN_MIN. Further
 * lines of a block belong to it. The last line may be short if white space or the end of the text
 * follows it.
 */
export function base64End(text: string, start: number): number {
  let end = lineEnd(text, start)
  for (;;) {
    const line = nextLine(text, end)
    const after = lineEnd(text, line)
    if (line === end || after - line < LAST_LINE_MIN) return end
    if (after - line < BASE64_RUN_MIN) {
      const lastEnd = paddingEnd(text, after)
      return lastEnd === text.length || SPACE.test(text.charAt(lastEnd)) ? lastEnd : end
    }
    end = after
  }
}

/** Returns the start of the line after `end`, or `end` if there is none. */
function nextLine(text: string, end: number): number {
  const at = text.charCodeAt(end) === CARRIAGE_RETURN ? end + 1 : end
  return text.charCodeAt(at) === LINE_FEED ? at + 1 : end
}

function lineEnd(text: string, start: number): number {
  let end = start
  while (end < text.length && sextet(text.charCodeAt(end)) !== NO_VALUE) end++
  return end
}

function paddingEnd(text: string, start: number): number {
  let end = start
  while (end < start + PADDING_MAX && text.charCodeAt(end) === EQUALS) end++
  return end
}

function sextet(unit: number): number {
  return unit < ASCII_END ? (VALUES[unit] as number) : NO_VALUE
}

/**
 * Whether `text[start, end)` certainly does not decode to text, because too many bytes are signs or
 * invalid UTF-8. Stops as soon as that is certain.
 * @param textBytes 1 for each ASCII byte that is text
 */
export function isNotText(text: string, start: number, end: number, textBytes: Uint8Array): boolean {
  // A decoded text has at most as many characters as bytes.
  const othersMax = Math.ceil(((end - start) * 3) / 4) / OTHERS_ONE_IN
  let others = 0
  let previous = ASCII
  let bits = 0
  let pending = 0
  for (let index = start; index < end; index++) {
    const value = sextet(text.charCodeAt(index))
    if (value === NO_VALUE) continue
    pending = (pending << 6) | value
    bits += 6
    if (bits < 8) continue
    bits -= 8
    const byte = (pending >> bits) & 0xff
    const kind = byte < ASCII_END ? ASCII : byte < 0xc0 ? CONTINUATION : LEAD
    if (previous === LEAD ? kind !== CONTINUATION : previous === ASCII && kind === CONTINUATION) others++
    if (kind === ASCII && textBytes[byte] === 0) others++
    if (others > othersMax) return true
    previous = kind
  }
  return false
}

function valuesOfAscii(): Uint8Array {
  const values = new Uint8Array(ASCII_END).fill(NO_VALUE)
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
  for (let value = 0; value < NO_VALUE; value++) values[letters.charCodeAt(value)] = value
  values[HYPHEN] = 62
  values[UNDERSCORE] = 63
  return values
}
