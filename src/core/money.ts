// Amounts of money in whole units of 10⁻⁹ USD. Sums and products of whole numbers are exact.

/** A whole number of 10⁻⁹ USD, from 0 to MAXIMUM_NANO_USD. */
export type NanoUsd = number

const DIGITS = 9
const ONE_USD: NanoUsd = 10 ** DIGITS
/** The largest amount, about nine million USD: larger whole numbers are not exact. */
export const MAXIMUM_NANO_USD: NanoUsd = Number.MAX_SAFE_INTEGER

const DECIMAL = /^(\d+)(?:\.(\d+))?(?:e([+-]\d{1,3}))?$/

/**
 * Reads a decimal number of USD. Digits after the ninth are rounded, halves up.
 * @returns null for what is no decimal number from 0 to MAXIMUM_NANO_USD
 */
export function readUsd(text: string): NanoUsd | null {
  const [, whole = '', fraction = '', exponent = '0'] = DECIMAL.exec(text) ?? []
  if (whole === '') return null
  const shift = Number(exponent) + DIGITS - fraction.length
  const digits = BigInt(whole + fraction)
  const nano = shift >= 0 ? digits * 10n ** BigInt(shift) : divide(digits, 10n ** BigInt(-shift))
  return nano <= BigInt(MAXIMUM_NANO_USD) ? Number(nano) : null
}

/** Reads a number that JSON or YAML gave, as its shortest decimal form says. */
export const usdOf = (value: number): NanoUsd | null => readUsd(String(value))

/**
 * The number of USD, as JSON shows it. Below 2²³ USD, `usdOf` gives the amount back.
 * @param amount also a sum that is too large for a NanoUsd
 */
export function toUsd(amount: NanoUsd | bigint): number {
  if (typeof amount === 'number') return amount / ONE_USD
  const digits = String(amount).padStart(DIGITS + 1, '0')
  return Number(`${digits.slice(0, -DIGITS)}.${digits.slice(-DIGITS)}`)
}

/** The amount as text, with at least two digits after the point: `12.50`. */
export function formatUsd(amount: NanoUsd): string {
  const fraction = String(amount % ONE_USD).padStart(DIGITS, '0')
  return `${Math.floor(amount / ONE_USD)}.${fraction.replace(/0{1,7}$/, '')}`
}

/** Divides whole numbers and rounds, halves up. */
export const divide = (dividend: bigint, divisor: bigint): bigint =>
  (2n * dividend + divisor) / (2n * divisor)
