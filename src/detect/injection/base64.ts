// Runs of base64: where they end, and which surely are no text. Identifiers and paths look like base64 and are everywhere in what
// programs write, so that hardly any of them is ever decoded.

/** Shortest lines of base64 that are looked at. */
export const BASE64_RUN_MIN = 16
/** The last line of a run may be shorter, down to this. */
const LAST_LINE_MIN = 2
const PADDING_MAX = 2
/** Of so many characters one may be no text, and not more. */
const OTHERS_ONE_IN = 5

const EQUALS = 0x3d
const RETURN = 0x0d
const NEWLINE = 0x0a
const SPACE = /\s/

/** Bytes by what they can be in UTF-8; ASCII that is no text is beside the point of validity, and counted. */
const ASCII = 0
const CONTINUATION = 1
const LEAD = 2

/** Values of characters, NO_VALUE for those that are none of base64. */
const NO_VALUE = 64
const VALUES = valuesOfAscii()

/**
 * Where the run ends that begins at `start` with a line of at least BASE64_RUN_MIN: lines of one block belong together; the last may
 * be short if white space or nothing follows it.
 */
export function base64End(text: string, start: number): number {
  let end = lineEnd(text, start)
  for (;;) {
    const line = nextLine(text, end)
    const after = lineEnd(text, line)
    if (line === end || after - line < LAST_LINE_MIN) return end
    if (after - line < BASE64_RUN_MIN) {
      const closed = paddingEnd(text, after)
      return closed === text.length || SPACE.test(text.charAt(closed)) ? closed : end
    }
    end = after
  }
}

/** Where the line after `end` begins, or `end` where none does. */
function nextLine(text: string, end: number): number {
  const at = text.charCodeAt(end) === RETURN ? end + 1 : end
  return text.charCodeAt(at) === NEWLINE ? at + 1 : end
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
  return unit < 0x80 ? (VALUES[unit] as number) : NO_VALUE
}

/**
 * Whether what `text[start, end)` stands for surely is no text, as too many of its bytes are signs, or can be no part
 * of a character. Stops as soon as that is plain.
 * @param textBytes 1 for each byte of ASCII that is text
 */
export function isNoText(text: string, start: number, end: number, textBytes: Uint8Array): boolean {
  // At most as many characters as bytes.
  const most = Math.ceil(((end - start) * 3) / 4) / OTHERS_ONE_IN
  let others = 0
  let before = ASCII
  let bits = 0
  let held = 0
  for (let index = start; index < end; index++) {
    const value = sextet(text.charCodeAt(index))
    if (value === NO_VALUE) continue
    held = (held << 6) | value
    bits += 6
    if (bits < 8) continue
    bits -= 8
    const byte = (held >> bits) & 0xff
    const kind = byte < 0x80 ? ASCII : byte < 0xc0 ? CONTINUATION : LEAD
    if (before === LEAD ? kind !== CONTINUATION : before === ASCII && kind === CONTINUATION) others++
    if (kind === ASCII && textBytes[byte] === 0) others++
    if (others > most) return true
    before = kind
  }
  return false
}

function valuesOfAscii(): Uint8Array {
  const values = new Uint8Array(0x80).fill(NO_VALUE)
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
  for (let value = 0; value < NO_VALUE; value++) values[letters.charCodeAt(value)] = value
  values[0x2d] = 62
  values[0x5f] = 63
  return values
}
