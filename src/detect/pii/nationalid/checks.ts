// Verifies check digits and dates in the personal numbers of single countries. The caller checks
// the length.

import { digitAt, isDay, isOneDigit, passesLuhn, remainder, weighted } from '../checksums.ts'

export const twoDigits = (digits: string, at: number): number => Number(digits.slice(at, at + 2))
/**
 * Reports whether a date of birth starts at `at`, year first. Some countries add to the month for
 * the century or the sex.
 */
export const isDated = (digits: string, at = 0, monthsPer = 100): boolean =>
  isDay(twoDigits(digits, at + 2) % monthsPer, twoDigits(digits, at + 4))
export const isDayFirst = (digits: string, addedToDay = 0): boolean => {
  const day = twoDigits(digits, 0)
  return isDay(twoDigits(digits, 2), day > addedToDay && addedToDay > 0 ? day - addedToDay : day)
}

export function isCpf(digits: string): boolean {
  if (isOneDigit(digits)) return false
  const check = (weights: number[]): number => ((weighted(digits, weights) * 10) % 11) % 10
  const first = check([10, 9, 8, 7, 6, 5, 4, 3, 2])
  return first === digitAt(digits, 9) && check([11, 10, 9, 8, 7, 6, 5, 4, 3, 2]) === digitAt(digits, 10)
}

export function isTurkish(digits: string): boolean {
  if (digits[0] === '0') return false
  const odd = weighted(digits, [1, 0, 1, 0, 1, 0, 1, 0, 1])
  const even = weighted(digits, [0, 1, 0, 1, 0, 1, 0, 1])
  const tenth = (((odd * 7 - even) % 10) + 10) % 10
  return tenth === digitAt(digits, 9) && (odd + even + tenth) % 10 === digitAt(digits, 10)
}

/** Estonia and Lithuania. */
export function isBaltic(digits: string): boolean {
  if (!/^[1-8]/.test(digits) || !isDated(digits, 1)) return false
  const first = weighted(digits, [1, 2, 3, 4, 5, 6, 7, 8, 9, 1]) % 11
  const second = weighted(digits, [3, 4, 5, 6, 7, 8, 9, 1, 2, 3]) % 11
  return (first < 10 ? first : second % 10) === digitAt(digits, 10)
}

/** Temporary numbers add 40 to the day, those of hospitals 40 to the month. */
export function isNorwegian(digits: string): boolean {
  const month = twoDigits(digits, 2)
  if (!isDayFirst(digits, 40) && !isDay(month - 40, twoDigits(digits, 0))) return false
  return (
    weighted(digits, [3, 7, 6, 1, 8, 9, 4, 5, 2, 1]) % 11 === 0 &&
    weighted(digits, [5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1]) % 11 === 0
  )
}

export const elevenMinus = (sum: number): number => (11 - (sum % 11)) % 11
/** Co-ordination numbers add 60 to the day. */
export const isSwedish = (digits: string): boolean => {
  const [month, day] = [twoDigits(digits, digits.length - 8), twoDigits(digits, digits.length - 6)]
  return isDay(month, day > 60 ? day - 60 : day) && passesLuhn(digits.slice(-10))
}
/** Women have 50 added to the month, and 20 more where the numbers of a day are used up. */
export const isCzechDay = (digits: string): boolean => {
  const month = twoDigits(digits, 2) % 50
  return isDay(month > 20 ? month - 20 : month, twoDigits(digits, 4))
}
/** Until 1985, a remainder of ten gave the check digit 0. */
export const isCzech = (digits: string): boolean =>
  isCzechDay(digits) && remainder(digits.slice(0, 9), 11) % 10 === digitAt(digits, 9)
/** The day may have 40 added. The century follows the check digit. */
export const isIcelandic = (digits: string): boolean =>
  isDayFirst(digits, 40) && elevenMinus(weighted(digits, [3, 2, 7, 6, 5, 4, 3, 2])) === digitAt(digits, 8)
/** Until 1996 the weights ascended. */
export const isHungarian = (digits: string): boolean =>
  isDated(digits, 1) &&
  [
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
    [10, 9, 8, 7, 6, 5, 4, 3, 2, 1],
  ].some((weights) => weighted(digits, weights) % 11 === digitAt(digits, 10))
/** Since July 2017 the numbers start with 32 and contain no date. */
export const isLatvian = (digits: string): boolean => digits.startsWith('32') || isDayFirst(digits)
/** A remainder of ten gives the check digit 1. */
export const isRomanian = (digits: string): boolean => {
  const rest = weighted(digits, [2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9]) % 11
  return isDated(digits, 1) && (rest === 10 ? 1 : rest) === digitAt(digits, 12)
}
/** Social security number: a zero after the province is ignored. */
export const isSpanishInsurance = (digits: string): boolean =>
  remainder(digits.slice(0, 2) + digits.slice(digits[2] === '0' ? 3 : 2, 10), 97) === Number(digits.slice(10))
export const isBelgian = (digits: string): boolean =>
  isDated(digits, 0, 20) &&
  [digits.slice(0, 9), `2${digits.slice(0, 9)}`].some(
    (number) => 97 - remainder(number, 97) === Number(digits.slice(9)),
  )
export const isFrench = (digits: string): boolean =>
  /^[1-478]\d{2}(?:0[1-9]|[1-9]\d)/.test(digits) &&
  97 - remainder(digits.slice(0, 13), 97) === Number(digits.slice(13))
/** INSEE: 2A and 2B count as 19 and 18. */
export const isCorsican = (number: string): boolean =>
  isFrench(number.replace('2A', '19').replace('2B', '18'))
export const isKorean = (digits: string): boolean => isDated(digits)
/** Check digits were in use until October 2020. */
export const isOldKorean = (digits: string): boolean => {
  const sum = weighted(digits, [2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5])
  return isKorean(digits) && [(11 - (sum % 11)) % 10, (13 - (sum % 11)) % 10].includes(digitAt(digits, 12))
}
const CHINESE_WEIGHTS = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]
/** GB 11643; the check character may be an X. */
export const isChinese = (number: string): boolean =>
  /^[1-8]\d{5}(?:19|20)\d{2}/.test(number) &&
  isDated(number, 8) &&
  '10X98765432'[weighted(number, CHINESE_WEIGHTS) % 11] === number.at(-1)?.toUpperCase()

export function isSnils(digits: string): boolean {
  const check = (weighted(digits, [9, 8, 7, 6, 5, 4, 3, 2, 1]) % 101) % 100
  return check === Number(digits.slice(9)) && !isOneDigit(digits)
}

export function isRussianTaxpayer(digits: string): boolean {
  const first = (weighted(digits, [7, 2, 4, 10, 3, 5, 9, 4, 6, 8]) % 11) % 10
  const second = (weighted(digits, [3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8]) % 11) % 10
  return first === digitAt(digits, 10) && second === digitAt(digits, 11)
}

export const isSouthAfrican = (digits: string): boolean =>
  isDated(digits) && /^\d{10}[012]/.test(digits) && passesLuhn(digits)
/** If the first weights give ten, the second apply. */
export const isKazakh = (digits: string): boolean => {
  const rest = weighted(digits, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]) % 11
  const check = rest < 10 ? rest : weighted(digits, [3, 4, 5, 6, 7, 8, 9, 10, 11, 1, 2]) % 11
  return isDated(digits) && /^.{6}[0-6]/.test(digits) && check === digitAt(digits, 11)
}
/** Inland Revenue number: eight digits are padded with a zero. */
export const isNewZealandTaxpayer = (digits: string): boolean => {
  const padded = digits.padStart(9, '0')
  const first = elevenMinus(weighted(padded, [3, 2, 7, 6, 5, 4, 3, 2]))
  const check = first < 10 ? first : elevenMinus(weighted(padded, [7, 4, 3, 2, 5, 2, 7, 6]))
  return Number(digits) > 10_000_000 && Number(digits) < 150_000_000 && check === digitAt(padded, 8)
}
export const isMyNumber = (digits: string): boolean => {
  const rest = weighted(digits, [6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11
  return (rest <= 1 ? 0 : 11 - rest) === digitAt(digits, 11) && !isOneDigit(digits)
}
export const isThai = (digits: string): boolean =>
  /^[1-8]/.test(digits) &&
  (11 - (weighted(digits, [13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11)) % 10 === digitAt(digits, 12)
export const isEuropeanArticle = (digits: string): boolean =>
  (10 - (weighted(digits, [1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3]) % 10)) % 10 === digitAt(digits, 12)

/** Chile: weights 2 to 7 from the end; the check character may be a K. */
export function isChilean(number: string): boolean {
  let sum = 0
  for (let i = 0; i < number.length - 1; i++) sum += digitAt(number, -2 - i) * (2 + (i % 6))
  return '0K987654321'[sum % 11] === number.at(-1)
}
