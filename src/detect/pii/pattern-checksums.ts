// Check digits that a pattern of an open kind may ask for.

import { passesLuhn, remainder } from './checksums.ts'

export const CHECKSUMS = ['luhn', 'mod97', 'mod11'] as const
export type Checksum = (typeof CHECKSUMS)[number]

/** What they are, for documents. */
export const CHECKSUM_FORMS =
  'luhn (as cards), mod97 (ISO 7064 MOD 97-10: check digits at the end, or as in an IBAN) or mod11 (weights 1, 2, 3 … from the right, X for 10: as ISBN-10)'

/** Fewer digits have no check digit. */
const MINIMUM_DIGITS = 2

const CHECKS: Readonly<Record<Checksum, (value: string) => boolean>> = {
  luhn(value) {
    const digits = value.replace(/[^0-9]/g, '')
    return digits.length >= MINIMUM_DIGITS && passesLuhn(digits)
  },
  mod97(value) {
    const characters = value.toUpperCase().replace(/[^0-9A-Z]/g, '')
    const digits = characters.replace(/[A-Z]/g, '')
    const moved = characters.slice(4) + characters.slice(0, 4)
    return (
      digits.length >= MINIMUM_DIGITS &&
      [digits, characters, moved].some((text) => remainder(inDigits(text), 97) === 1)
    )
  },
  mod11(value) {
    const characters = value.toUpperCase().replace(/[^0-9X]|X(?=.*[0-9])/g, '')
    const sum = [...characters]
      .reverse()
      .reduce((total, one, index) => total + (index + 1) * (one === 'X' ? 10 : Number(one)), 0)
    return characters.length >= MINIMUM_DIGITS && sum % 11 === 0
  },
}

/** Letters count from A = 10. */
const inDigits = (text: string): string =>
  text.replace(/[A-Z]/g, (letter) => String(Number.parseInt(letter, 36)))

/** Reports whether the letters and digits of a value end in the right check digits. */
export const passesChecksum = (checksum: Checksum, value: string): boolean => CHECKS[checksum](value)
