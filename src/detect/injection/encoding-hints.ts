// One cheap walk over a text that says which encodings could be in it at all, so that everyday text is spared the patterns
// that find them. May say yes too often, never no wrongly.

/** Which of the decoders have anything to look for. */
export interface EncodingHints {
  /** Where runs of base64 characters begin that are long enough; UTF-16 offsets, ascending. */
  base64: number[]
  /** Hexadecimal or binary digits. */
  digits: boolean
  selectors: boolean
  escapes: boolean
  /** Words that occur in rotated or reversed text, or speak of it. */
  turned: boolean
}

const BASE64_CHARACTER = 1
const HEX_DIGIT = 2
/** What may stand between hexadecimal digits: white space, `:`, `,`, `\x` and `0x`. */
const HEX_FILLER = 4
const ESCAPE_START = 8

/** Shortest runs that the patterns in encodings.ts match. */
const BASE64_RUN_MIN = 16
const HEX_DIGITS_MIN = 24
const SELECTORS_MIN = 8
const ESCAPES_MIN = 3

/** Longest hint with the characters around it. */
export const HINT_UNITS_MAX = 16
/** Everyday words and the attacker's, in rot13; or a mention of it. */
export const ROT13_HINT =
  /\b(?:rot-?\s?13|caesar|gur|lbhe?|naq|gung|guvf|sebz|fubj|vtaber|cebzcg|nyy|cerivbhf|flfgrz)\b/i
/** The same, backwards. */
export const REVERSED_HINT =
  /\b(?:revers|backward|(?:eht|r?uoy|taht|siht|tahw|morf)\b)|(?:erongi|tpmorp|suoiverp|snoitcurtsni|metsys|eveilebsid|drowssap|tegrof)/i

const UNICODE_SPACE = /\s/
const KINDS = kindsOfAscii()
const TURNED = turnedTrigrams()

/** Looks at every code unit once and allocates one object. */
export function encodingHints(text: string): EncodingHints {
  const base64: number[] = []
  let base64Run = 0
  let hexDigits = 0
  let mostHexDigits = 0
  let selectors = 0
  let escapes = 0
  let trigram = 0
  let turned = false
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    trigram = ((trigram << 5) | (unit & 31)) & 0x7fff
    if (TURNED[trigram] !== 0 && !turned) turned = isTurned(text, index)
    if (unit >= 0x80) {
      if (isSelector(unit)) selectors++
      base64Run = 0
      if (hexDigits > 0 && !UNICODE_SPACE.test(text.charAt(index))) hexDigits = 0
      continue
    }
    const kind = KINDS[unit] as number
    if ((kind & BASE64_CHARACTER) !== 0) {
      if (++base64Run === BASE64_RUN_MIN) base64.push(index + 1 - BASE64_RUN_MIN)
    } else {
      base64Run = 0
      if ((kind & ESCAPE_START) !== 0 && isEscape(unit, text.charCodeAt(index + 1))) escapes++
    }
    if ((kind & HEX_DIGIT) !== 0) {
      if (++hexDigits > mostHexDigits) mostHexDigits = hexDigits
    } else if ((kind & HEX_FILLER) === 0) hexDigits = 0
  }
  return {
    base64,
    digits: mostHexDigits >= HEX_DIGITS_MIN,
    selectors: selectors >= SELECTORS_MIN,
    escapes: escapes >= ESCAPES_MIN,
    turned,
  }
}

/** Whether a hint stands around a place where letters of one do. */
function isTurned(text: string, index: number): boolean {
  const around = text.slice(Math.max(0, index - HINT_UNITS_MAX), index + HINT_UNITS_MAX)
  return ROT13_HINT.test(around) || REVERSED_HINT.test(around)
}

/** `%4`, `&#`, `&l`, `\u`: what may begin an escape; `next` is not a number at the end of the text. */
function isEscape(start: number, next: number): boolean {
  if (start === 0x25) return ((KINDS[next] ?? 0) & HEX_DIGIT) !== 0
  if (start === 0x5c) return next === 0x75
  return next === 0x23 || (next >= 0x61 && next <= 0x71)
}

/** Variation selectors, those of the astral planes by their first half. */
function isSelector(unit: number): boolean {
  return (unit >= 0xfe00 && unit <= 0xfe0f) || unit === 0xdb40
}

function kindsOfAscii(): Uint8Array {
  const kinds = new Uint8Array(0x80)
  for (let unit = 0; unit < kinds.length; unit++) {
    const character = String.fromCharCode(unit)
    if (/[A-Za-z0-9+/_-]/.test(character)) kinds[unit]! |= BASE64_CHARACTER
    if (/[0-9A-Fa-f]/.test(character)) kinds[unit]! |= HEX_DIGIT
    if (/[\s:,\\x]/.test(character)) kinds[unit]! |= HEX_FILLER
    if (/[%&\\]/.test(character)) kinds[unit]! |= ESCAPE_START
  }
  return kinds
}

/** A rare run of three letters from each hint; `13` behind anything. */
function turnedTrigrams(): Uint8Array {
  const trigrams = new Uint8Array(0x8000)
  const code = (letters: string) =>
    Array.from(letters).reduce((sum, letter) => (sum << 5) | (letter.charCodeAt(0) & 31), 0)
  for (const letters of [
    'aes',
    'gur',
    'lbh',
    'naq',
    'vta',
    'bzc',
    'nyy',
    'vbh',
    'flf',
    'rev',
    'ckw',
    'ngi',
    'tpm',
    'uoi',
    'tsn',
    'tsy',
    'vei',
    'wss',
    'teg',
    'gun',
    'guv',
    'ebz',
    'fub',
    'eht',
    'uoy',
    'aht',
    'iht',
    'ahw',
    'orf',
  ])
    trigrams[code(letters)] = 1
  for (let before = 0; before < 32; before++) trigrams[(before << 10) | code('13')] = 1
  return trigrams
}
