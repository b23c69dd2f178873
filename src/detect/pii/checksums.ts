// Verifies check digits that several kinds of number share. Digits are ASCII; the caller checks the
// length.

import { DIGIT_0 } from '../../core/ascii.ts'

/** Luhn (ISO/IEC 7812-1, annex B). */
export function passesLuhn(digits: string): boolean {
  let sum = 0
  for (let i = 0; i < digits.length; i++) {
    const digit = (digits.charCodeAt(digits.length - 1 - i) - DIGIT_0) * (i % 2 === 0 ? 1 : 2)
    sum += digit > 9 ? digit - 9 : digit
  }
  return sum % 10 === 0
}

/** `passesLuhn` for the digits in a range of a text; other characters are ignored. */
export function passesLuhnAt(text: string, start: number, end: number): boolean {
  let sum = 0
  let doubled = false
  for (let at = end - 1; at >= start; at--) {
    const digit = text.charCodeAt(at) - DIGIT_0
    if (digit < 0 || digit > 9) continue
    sum += doubled ? (digit > 4 ? 2 * digit - 9 : 2 * digit) : digit
    doubled = !doubled
  }
  return sum % 10 === 0
}

/** Sum of the first digits, each multiplied by its weight. */
export function weighted(digits: string, weights: readonly number[]): number {
  let sum = 0
  for (let i = 0; i < weights.length; i++) sum += (digits.charCodeAt(i) - DIGIT_0) * (weights[i] ?? 0)
  return sum
}

/** The digit at an index; a negative index counts from the end. */
export const digitAt = (digits: string, index: number): number => Number(digits.at(index))

/** The number modulo `modulus` (at most 2^20), for numbers too long to convert. */
export function remainder(digits: string, modulus: number): number {
  let rest = 0
  for (let i = 0; i < digits.length; i++) rest = (rest * 10 + digits.charCodeAt(i) - DIGIT_0) % modulus
  return rest
}

/** ISO 7064 mod 11,10: the last digit is the check digit. */
export function passesMod11And10(digits: string): boolean {
  let product = 10
  for (let i = 0; i < digits.length - 1; i++) {
    const sum = (digits.charCodeAt(i) - DIGIT_0 + product) % 10 || 10
    product = (sum * 2) % 11
  }
  return (product + digitAt(digits, -1)) % 10 === 1
}

const VERHOEFF_PERMUTATION = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4]

/** Multiplication in the dihedral group D5. */
function dihedral(a: number, b: number): number {
  if (a < 5) return b < 5 ? (a + b) % 5 : 5 + ((a + b) % 5)
  return b < 5 ? 5 + ((a - b) % 5) : (a - b + 5) % 5
}

/** Verhoeff's check digit (1969). */
export function passesVerhoeff(digits: string): boolean {
  let check = 0
  for (let i = 0; i < digits.length; i++) {
    let digit = digitAt(digits, -1 - i)
    for (let times = i % 8; times > 0; times--) digit = VERHOEFF_PERMUTATION[digit] ?? 0
    check = dihedral(check, digit)
  }
  return check === 0
}

/** Reports whether all digits are the same. */
export function isOneDigit(digits: string): boolean {
  for (let i = 1; i < digits.length; i++) if (digits[i] !== digits[0]) return false
  return true
}

const MONTH_DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** Reports whether the day exists in some year. */
export function isDay(month: number, day: number): boolean {
  return day >= 1 && day <= (MONTH_DAYS[month - 1] ?? 0)
}
