// Lists the personal numbers that contain letters: shape, check characters, labels. See
// nationalid.ts for their use.

import { DIGIT_0, UPPER_A } from '../../../core/ascii.ts'
import { digitAt, isDay, weighted } from '../checksums.ts'
import { abbreviation } from '../words/label.ts'
import { CEDULA_WORDS } from './americas.ts'
import { isChilean, isChinese, isCorsican, isDated } from './checks.ts'
import { NIR_WORDS } from './europe.ts'

/** One personal number of one country. */
export interface LetterIdentifier {
  /** Sticky. */
  readonly shape: RegExp
  /** The shape proves the number, so it needs no label. */
  readonly alone: boolean
  /** Pattern of its labels, in lower case, for the text directly before. */
  readonly words: string
  /** @param number capitals and digits, without separators */
  readonly valid: (number: string) => boolean
}

/** The position of a capital letter in the alphabet, 1 for A. */
const letterIndex = (number: string, index: number): number => number.charCodeAt(index) - UPPER_A + 1

const DNI_WORDS = `${abbreviation('dni')}|${abbreviation('nif')}|documento`
const DNI_LETTERS = 'TRWAGMYFPDXBNJZSQVHLCKE'
const isSpanish = (number: string): boolean => DNI_LETTERS[Number(number.slice(0, -1)) % 23] === number.at(-1)
const isForeignerInSpain = (number: string): boolean =>
  isSpanish(`${'XYZ'.indexOf(number.charAt(0))}${number.slice(1)}`)

const FINNISH_CHECK = '0123456789ABCDEFHJKLMNPRSTUVWXY'
function isFinnish(number: string): boolean {
  const digits = number.slice(0, 6) + number.slice(-4, -1)
  return (
    isDay(Number(digits.slice(2, 4)), Number(digits.slice(0, 2))) &&
    FINNISH_CHECK[Number(digits) % 31] === number.at(-1)
  )
}

/**
 * Pension insurance of Germany: the letter counts as its position in the alphabet; the digits of
 * each product are added.
 */
function isGermanInsurance(number: string): boolean {
  const month = Number(number.slice(4, 6))
  const day = Number(number.slice(2, 4))
  if (!isDay(month, day > 50 ? day - 50 : day)) return false
  const letter = String(letterIndex(number, 8)).padStart(2, '0')
  const digits = number.slice(0, 8) + letter + number.slice(9)
  return crossSum(digits, [2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1]) % 10 === digitAt(digits, 12)
}

/** Sum of the digits of the products of the first digits and their weights. */
function crossSum(digits: string, weights: readonly number[]): number {
  let sum = 0
  for (const [index, weight] of weights.entries()) {
    const product = digitAt(digits, index) * weight
    sum += Math.floor(product / 10) + (product % 10)
  }
  return sum
}

/** Weights of ICAO 9303, letters count from 10: identity cards of Germany, numbers of Belarus. */
function passesIcao(number: string): boolean {
  let sum = 0
  for (let i = 0; i < number.length - 1; i++)
    sum += Number.parseInt(number.charAt(i), 36) * ([7, 3, 1][i % 3] ?? 0)
  return sum % 10 === digitAt(number, -1)
}

const ODD_VALUES = [
  1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23,
]
/** Decree of 23 December 1976: positions count from one, so the first is odd. */
function isItalian(number: string): boolean {
  let sum = 0
  for (let i = 0; i < 15; i++) {
    const code = number.charCodeAt(i)
    const value = code >= UPPER_A ? code - UPPER_A : code - DIGIT_0
    sum += i % 2 === 0 ? (ODD_VALUES[value] ?? 0) : value
  }
  return String.fromCharCode(UPPER_A + (sum % 26)) === number.at(-1)
}

const SINGAPORE: Readonly<Record<string, readonly [string, number]>> = {
  S: ['JZIHGFEDCBA', 0],
  T: ['JZIHGFEDCBA', 4],
  F: ['XWUTRQPNMLK', 0],
  G: ['XWUTRQPNMLK', 4],
  M: ['XWUTRQPNJLK', 3],
}
function isSingaporean(number: string): boolean {
  const [letters, added] = SINGAPORE[number.charAt(0)] ?? ['', 0]
  const rest = (weighted(number.slice(1), [2, 7, 6, 5, 4, 3, 2]) + added) % 11
  return (
    letters[number.startsWith('M') ? 10 - rest : rest] === number.at(-1) || letters[rest] === number.at(-1)
  )
}

/** City letters count as 10 to 35, not in alphabetical order. */
const TAIWAN = 'ABCDEFGHJKLMNPQRSTUVXYWZIO'
function isTaiwanese(number: string): boolean {
  const city = 10 + TAIWAN.indexOf(number.charAt(0))
  const sum = Math.floor(city / 10) + (city % 10) * 9 + weighted(number.slice(1), [8, 7, 6, 5, 4, 3, 2, 1, 1])
  return sum % 10 === 0
}

/** With one letter, the missing position before it counts as 36. */
function isHongKong(number: string): boolean {
  const padded = number.length === 8 ? ` ${number}` : number
  let sum = 0
  for (let i = 0; i < 9; i++) {
    const character = padded[i] ?? ' '
    const value = character === ' ' ? 36 : i === 8 && character === 'A' ? 10 : Number.parseInt(character, 36)
    sum += value * (9 - i)
  }
  return sum % 11 === 0
}

const IRISH_CHECK = 'WABCDEFGHIJKLMNOPQRSTUV'
function isIrish(number: string): boolean {
  const second = number.length === 9 ? letterIndex(number, 8) : 0
  const value = (weighted(number, [8, 7, 6, 5, 4, 3, 2]) + (second === 23 ? 0 : second) * 9) % 23
  return IRISH_CHECK[value] === number[7]
}

const CURP_ALPHABET = '0123456789ABCDEFGHIJKLMNÑOPQRSTUVWXYZ'
function isMexican(number: string): boolean {
  if (!isDatedName(number)) return false
  let sum = 0
  for (let i = 0; i < 17; i++) sum += CURP_ALPHABET.indexOf(number.charAt(i)) * (18 - i)
  return (10 - (sum % 10)) % 10 === digitAt(number, 17)
}

/** Cartão de Cidadão: Luhn; letters count from 10 and are doubled like digits. */
function isPortuguese(number: string): boolean {
  let sum = 0
  for (let i = 0; i < number.length; i++) {
    const value = Number.parseInt(number.charAt(i), 36) * (i % 2 === 0 ? 2 : 1)
    sum += value > 9 && i % 2 === 0 ? value - 9 : value
  }
  return sum % 10 === 0
}

/**
 * Health insurance of Germany: the letter counts as its position in the alphabet; the digits of
 * each product are added.
 */
function isGermanPatient(number: string): boolean {
  const digits = String(letterIndex(number, 0)).padStart(2, '0') + number.slice(1)
  return crossSum(digits, [1, 2, 1, 2, 1, 2, 1, 2, 1, 2]) % 10 === digitAt(digits, 10)
}

const NINO_PREFIX = /^(?!BG|GB|NK|KN|TN|NT|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]/
const isInsurance = (number: string): boolean => NINO_PREFIX.test(number)
/** The fourth letter distinguishes persons from companies, trusts and others. */
const isPan = (number: string): boolean => /^[A-Z]{3}[ABCFGHLJPT]/.test(number)
const isVoterInMexico = (number: string): boolean => isDated(number, 6)
const isDatedName = (number: string): boolean => isDated(number, 4)
const always = (): boolean => true

const END = '(?![A-Za-z0-9_])'
const identifier = (
  shape: string,
  words: string,
  valid: (number: string) => boolean,
  alone = true,
): LetterIdentifier => ({ shape: new RegExp(shape + END, 'iy'), words, valid, alone })
/**
 * With spaces, only capitals count: `DNI 12345678 y` continues with a word, `12 ms 511880D` starts
 * with one.
 */
const spaced = (...of: Parameters<typeof identifier>): LetterIdentifier => ({
  ...identifier(...of),
  shape: new RegExp(of[0] + END, 'y'),
})

const SPANISH_LETTER = '[A-HJ-NP-TV-Z]'
/** If two persons had equal numbers, letters replace digits, the last digit first. */
const OMOCODE = '[\\dLMNP-V]'
const FISCAL_WORDS = 'codice ?fiscale|cod\\. ?fisc|\\bc\\.?f\\.?\\b'
const NIE_WORDS = `${abbreviation('nie')}|${DNI_WORDS}`

const INSURANCE_WORDS = 'nino|insurance'
const PAN_WORDS = '\\bpan\\b|permanent ?account'

/** Indexed by the count of letters at the start. */
export const LETTER_IDENTIFIERS: readonly (readonly LetterIdentifier[])[] = [
  [
    identifier(`\\d{8}-?${SPANISH_LETTER}`, DNI_WORDS, isSpanish),
    identifier(`\\d{7}-?${SPANISH_LETTER}`, DNI_WORDS, isSpanish, false),
    identifier(`\\d{1,2}\\.\\d{3}\\.\\d{3}-${SPANISH_LETTER}`, DNI_WORDS, isSpanish),
    spaced(`\\d{1,2}(?:\\.?\\d{3}){2}(?: ?- ?| ?)${SPANISH_LETTER}`, DNI_WORDS, isSpanish, false),
    identifier('\\d{6}[-+A-FYXWVU]\\d{3}[0-9A-FHJ-NPR-Y]', 'hetu|henkil|finnish|identity code', isFinnish),
    identifier('\\d{8}[A-Z]\\d{3}', 'rvnr|versicherungsnummer', isGermanInsurance),
    identifier('\\d{17}X', '身份', isChinese),
    identifier('\\d{1,2}\\.\\d{3}\\.\\d{3}-[0-9K]', 'rut|run', isChilean),
    identifier('\\d{7,8}-?[0-9K]', '\\brut\\b|\\brun\\b', isChilean, false),
    identifier('\\d{7}[A-W][A-IW]?', 'pps|irish', isIrish, false),
    identifier('\\d{7}[MGAPLHBZ]', 'maltes|karta ta', always, false),
    identifier('\\d{7}[ABCEHKM]\\d{3}(?:PB|BA|BI)\\d', 'личн|асабіст|идентификац', passesIcao),
    identifier('\\d{8} ?\\d ?[A-Z]{2}\\d', 'cart[ãa]o de cidad|\\bcc\\b', isPortuguese, false),
    identifier('\\d{9}[VX]', '\\bnic\\b|sri lanka', always, false),
    identifier('[1-478]\\d{4}2[AB]\\d{6}[ -]?\\d{2}', NIR_WORDS, isCorsican, false),
    identifier('[1-478] \\d{2} \\d{2} 2[AB] \\d{3} \\d{3} \\d{2}', NIR_WORDS, isCorsican),
  ],
  [
    identifier(`[XYZ]-?\\d{7}-?${SPANISH_LETTER}`, NIE_WORDS, isForeignerInSpain),
    identifier(`[XYZ]-?\\d\\.\\d{3}\\.\\d{3}-${SPANISH_LETTER}`, NIE_WORDS, isForeignerInSpain),
    spaced(
      `[XYZ][- ]?\\d(?:\\.?\\d{3}){2}(?: ?- ?| ?)${SPANISH_LETTER}`,
      NIE_WORDS,
      isForeignerInSpain,
      false,
    ),
    identifier('[STFGM]\\d{7}[A-Z]', 'nric|\\bfin\\b|singapore', isSingaporean),
    identifier('[A-Z]\\d{6}\\([0-9A]\\)', 'hkid', isHongKong),
    identifier('[CFGHJ-NPRTV-Z]\\d{9}', 'ausweis', passesIcao, false),
    identifier('[A-Z]\\d{9}', 'kvnr|krankenversicher|versicherten', isGermanPatient, false),
    identifier('A-?\\d{8,9}', 'alien|uscis|\\ba number ?[:#]', always, false),
    identifier('P-?\\d{8}', '\\bptin\\b', always, false),
    identifier('[VE]-?\\d{1,2}\\.\\d{3}\\.\\d{3}', CEDULA_WORDS, always, false),
    identifier('[VE]-?\\d{7,8}', CEDULA_WORDS, always, false),
    identifier('A\\d{9}[A-Z]', '\\bkra\\b', always, false),
    identifier('[A-Z][1289]\\d{8}', '身分證|身份證|居留證|taiwan', isTaiwanese, false),
  ],
  [
    identifier('[A-Z]{2}\\d{2}(?: ?\\d{2}){2} ?[A-D]', INSURANCE_WORDS, isInsurance),
    identifier('[A-Z]{2}-\\d{2}(?:[ -]\\d{2}){2}[ -][A-D]', INSURANCE_WORDS, isInsurance),
    spaced('[A-Z]{2} \\d{2}(?:[ -]?\\d{2}){2}[ -]?[A-D]', INSURANCE_WORDS, isInsurance),
    identifier('[A-Z]{2}\\d{6}\\([0-9A]\\)', 'hkid', isHongKong),
  ],
  [identifier('[A-Z]{3}\\d{7}', 'voter|\\bepic\\b|election|\\bvote\\b|मतदाता', always, false)],
  [
    identifier('[A-Z]{4}\\d{6}[HMX][A-Z]{5}[0-9A-Z]\\d', 'curp', isMexican),
    identifier('[A-ZÑ&]{4}\\d{6}[0-9A-Z]{3}', '\\brfc\\b', isDatedName, false),
  ],
  [
    // There is no check digit, and names of devices look like it in lower case.
    spaced('[A-Z]{5}\\d{4}[A-Z]', PAN_WORDS, isPan),
    identifier('[A-Z]{5}\\d{4}[A-Z]', PAN_WORDS, isPan, false),
  ],
  [
    identifier(`[A-Z]{6}\\d{2}[A-EHLMPRST]${OMOCODE}{2}[A-Z]${OMOCODE}{3}[A-Z]`, FISCAL_WORDS, isItalian),
    identifier('[A-Z]{6}\\d{8}[HM]\\d{3}', 'elector', isVoterInMexico, false),
    spaced(`[A-Z]{3} ?[A-Z]{3} \\d{2}[A-EHLMPRST]\\d{2} ?[A-Z]${OMOCODE}{3}[A-Z]`, FISCAL_WORDS, isItalian),
  ],
]
