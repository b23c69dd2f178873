// Recognises payment card numbers by issuer range, length, grouping and Luhn (ISO/IEC 7812-1).

import {
  COMMA,
  HYPHEN,
  isAlphanumeric,
  isHexDigit,
  isWordCharacter,
  OPEN_BRACKET,
  OPEN_PAREN,
  UNDERSCORE,
} from '../../core/ascii.ts'
import { isOneDigit, passesLuhnAt } from './checksums.ts'
import { codeAt } from './code-unit-classes.ts'
import { neighboursInRow } from './number/row.ts'
import type { DigitRun } from './number/run.ts'
import { shapeOf } from './number/shape.ts'

interface Issuer {
  readonly from: number
  readonly to: number
  readonly lengths: readonly number[]
}

/** Ranges of the first four digits. */
const ISSUERS: readonly Issuer[] = [
  { from: 4000, to: 4999, lengths: [13, 16, 19] }, // Visa
  { from: 5100, to: 5599, lengths: [16] }, // Mastercard
  { from: 2221, to: 2720, lengths: [16] },
  { from: 3400, to: 3499, lengths: [15] }, // American Express
  { from: 3700, to: 3799, lengths: [15] },
  { from: 6011, to: 6011, lengths: [16, 19] }, // Discover
  { from: 6440, to: 6599, lengths: [16, 19] },
  { from: 3000, to: 3059, lengths: [14, 16, 19] }, // Diners Club
  { from: 3095, to: 3095, lengths: [14, 16, 19] },
  { from: 3600, to: 3699, lengths: [14, 16, 19] },
  { from: 3800, to: 3999, lengths: [14, 16, 19] },
  { from: 3528, to: 3589, lengths: [16, 17, 18, 19] }, // JCB
  { from: 6200, to: 6299, lengths: [16, 17, 18, 19] }, // UnionPay
  { from: 8100, to: 8171, lengths: [16, 17, 18, 19] },
  { from: 2200, to: 2204, lengths: [16, 17, 18, 19] }, // Mir
  { from: 6000, to: 6099, lengths: [16] }, // RuPay
  { from: 5019, to: 5019, lengths: [16] }, // Dankort
  { from: 9792, to: 9792, lengths: [16] }, // Troy
  { from: 5041, to: 5041, lengths: [16] }, // Elo
  { from: 5066, to: 5067, lengths: [16] },
  { from: 6362, to: 6363, lengths: [16] },
  { from: 1000, to: 1999, lengths: [15] }, // UATP
  { from: 5018, to: 5018, lengths: [12, 13, 14, 15, 16, 17, 18, 19] }, // Maestro
  { from: 5020, to: 5020, lengths: [12, 13, 14, 15, 16, 17, 18, 19] },
  { from: 5038, to: 5038, lengths: [12, 13, 14, 15, 16, 17, 18, 19] },
  { from: 5600, to: 5899, lengths: [12, 13, 14, 15, 16, 17, 18, 19] },
  { from: 6304, to: 6304, lengths: [12, 13, 14, 15, 16, 17, 18, 19] },
  { from: 6390, to: 6390, lengths: [12, 13, 14, 15, 16, 17, 18, 19] },
  { from: 6700, to: 6799, lengths: [12, 13, 14, 15, 16, 17, 18, 19] },
]

/** Shapes of cards in one piece: their lengths. */
export const CARD_LENGTHS: readonly number[] = [12, 13, 14, 15, 16, 17, 18, 19]
/** Shapes of cards in groups. */
export const CARD_GROUPINGS: ReadonlySet<number> = new Set(
  [
    '4-4-4-4',
    '4-4-5',
    '4-6-5',
    '4-6-4',
    '4-4-4',
    '4-4-4-1',
    '4-4-4-2',
    '4-4-4-3',
    '4-4-4-4-1',
    '4-4-4-4-2',
    '4-4-4-4-3',
    '6-13',
    '4-4-4-5',
    '4-4-4-6',
    '4-4-4-7',
    '8-8',
  ].map(shapeOf),
)

/** Groups as printed on cards. */
const COMMON_GROUPINGS = new Set(['4-4-4-4', '4-6-5', '4-6-4'].map(shapeOf))

/** Digits of the shortest cards. */
export const SHORT_CARD_DIGITS = 12

/** How certain a card number is by its form alone. */
export type CardForm = 'no' | 'known' | 'rare' | 'unbranded'

/**
 * @param run has the shape of a card and a valid check digit
 * @returns `known`: an issuer's number in a common form; `rare`: needs a label nearby; `unbranded`:
 * valid, but of no known issuer
 */
export function cardForm(run: DigitRun): CardForm {
  const grouped = !run.isPlain
  const { digits } = run
  if (isOneDigit(digits)) return 'no'
  if (!isIssued(digits.slice(0, GROUP), digits.length)) return 'unbranded'
  if (digits[0] === '1' || digits.length === SHORT_CARD_DIGITS) return 'rare'
  // One in ten numbers passes Luhn, so a number in one piece with an unusual length proves less.
  return grouped || digits.length >= 15 || digits.length === 14 ? 'known' : 'rare'
}

/** Reports whether an issuer has numbers of that length with these first four digits. */
export function isIssued(prefix: string, length: number): boolean {
  const first = Number(prefix)
  return ISSUERS.some(({ from, to, lengths }) => first >= from && first <= to && lengths.includes(length))
}

const GROUP = 4
/** A group of four and one separator. */
const STEP = GROUP + 1
/** One more group may be a date or a code: `4111 1111 1111 1111 1227`. */
const ROW_GROUPS = 2
/** More numbers after it make a row: `4111 1111 1111 1111 12 27 123`. */
const MAXIMUM_AFTER = 3

/**
 * Reports whether numbers of the same form precede or follow: `7365 8447 7654 4039 8145 2729 …`.
 * One in ten of such numbers passes Luhn; of two adjacent cards, both do.
 * @param from end of the last value; a group before belongs to a row if it is not part of that
 * value
 */
export function isInRow(text: string, run: DigitRun, from: number): boolean {
  if (run.isPlain) return false
  const { start, end } = run
  const isAnother = isCardAfter(text, run)
  if (isInRowOfGroups(text, run, from, isAnother)) return true
  const { before, after } = neighboursInRow(text, start, isAnother ? 2 * end + 1 - start : end, from)
  if (!COMMON_GROUPINGS.has(run.shape)) return before + after > 0
  return after > MAXIMUM_AFTER || (before > 0 && before + after > 1)
}

/** Reports whether another number of the same length follows that may be a card number. */
function isCardAfter(text: string, { start, end, digitCount }: DigitRun): boolean {
  const next = end + 1
  return isIssued(text.slice(next, next + GROUP), digitCount) && passesLuhnAt(text, next, next + end - start)
}

/** Reports whether groups of four hexadecimal digits precede or follow. */
function isInRowOfGroups(text: string, { start, end }: DigitRun, from: number, isAnother: boolean): boolean {
  const separator = codeAt(text, start + GROUP)
  const isGroupFrom = (at: number, sign: number): boolean =>
    codeAt(text, sign) === separator && isGroup(text, at)
  if (start - STEP >= from && isGroupFrom(start - STEP, start - 1)) return true
  for (let more = 0; more < ROW_GROUPS; more++)
    if (!isGroupFrom(end + more * STEP + 1, end + more * STEP)) return false
  return !isAnother
}

/** Expiry month, perhaps with the security code: `4111111111111111/0927`, `…/09/27/123`. */
const EXPIRY = /[-/](?:0[1-9]|1[0-2])[-/]?(?:\d\d)?\d\d(?:[-/]\d{3,4})?(?![\w/-])/y

/** Reports whether an expiry date directly follows a card number. */
export function isExpiryAfter(text: string, end: number): boolean {
  EXPIRY.lastIndex = end
  return EXPIRY.test(text)
}

/** Digits in which tables encode the strokes of Han characters to sort them. */
const STROKES = /^[1-5]+$/
const MIN_STROKES = 3
/**
 * The rest of an address, and a hash after a time: `39346198692131.GA2@`,
 * `20260102030405-e515492f16d9`.
 */
const TOKEN_AFTER = /[\w.-]{0,40}@|\.[A-Za-z]{1,3}\d|-[0-9a-f]{7,40}(?![\w-])/y

/** Cards rarely have so many digits; numbers of 64 bits do. */
const MIN_LONG_DIGITS = 17
/** The name of a field, other than that of a card. */
const FIELD_BEFORE = /\w{2}(?<!card|pan|account|number|no|nr)["'`]?\]?\s?[:=]\s?["'`]?$/i
const MAXIMUM_FIELD = 14

/** Reports whether the text around a number, or its digits, rule out a card number. */
export function isNoCard(text: string, run: DigitRun): boolean {
  const { start, end, isPlain } = run
  if (isSigned(text, start) || text.endsWith('[*', start)) return true
  if (!isPlain) return isAscending(run.digits)
  if (isStrokes(run.digits)) return true
  const isLong = run.digitCount >= MIN_LONG_DIGITS
  if (isLong && FIELD_BEFORE.test(text.slice(Math.max(0, start - MAXIMUM_FIELD), start))) return true
  // Most are followed by a space, a comma or nothing.
  if (codeAt(text, end) <= COMMA) return false
  TOKEN_AFTER.lastIndex = end
  return TOKEN_AFTER.test(text)
}

/** Reports whether a sign precedes, as in a list of numbers or `blk_-3955287039966096707`. */
export function isSigned(text: string, at: number): boolean {
  if (codeAt(text, at - 1) !== HYPHEN) return false
  const before = codeAt(text, at - 2)
  return before === UNDERSCORE || before === COMMA || before === OPEN_BRACKET || before === OPEN_PAREN
}

/** Reports whether digits encode strokes. A card has other digits, or repeats one of them. */
function isStrokes(digits: string): boolean {
  if (!STROKES.test(digits)) return false
  const counts = new Map<string, number>()
  for (const digit of digits) counts.set(digit, (counts.get(digit) ?? 0) + 1)
  return counts.size >= MIN_STROKES && Math.max(...counts.values()) * 2 < digits.length
}

/**
 * Reports whether four groups of four ascend by little, as in a list of code points:
 * `4201 4202 4204 4205`.
 */
function isAscending(digits: string): boolean {
  if (digits.length !== 4 * GROUP) return false
  for (let at = GROUP; at < digits.length; at += GROUP) {
    const step = Number(digits.slice(at, at + GROUP)) - Number(digits.slice(at - GROUP, at))
    if (step < 1 || step > MAXIMUM_CODE_STEP) return false
  }
  return true
}
const MAXIMUM_CODE_STEP = 16

/** Reports whether four hexadecimal digits form a word. */
function isGroup(text: string, at: number): boolean {
  for (let i = at; i < at + GROUP; i++) if (!isHexDigit(codeAt(text, i))) return false
  return !isWordCharacter(codeAt(text, at - 1)) && !isAlphanumeric(codeAt(text, at + GROUP))
}
