// Check digits that a pattern of an open kind may ask for. Read character by character, so that all
// beginnings of a value are checked in one pass.

import { CASE_BIT, DIGIT_0, isAlphanumeric, isDigit, LOWER_A, LOWER_X } from '../../core/ascii.ts'

export const CHECKSUMS = ['luhn', 'mod97', 'mod11'] as const
export type Checksum = (typeof CHECKSUMS)[number]

/** What they are, for documents. */
export const CHECKSUM_FORMS =
  'luhn (as cards), mod97 (ISO 7064 MOD 97-10: check digits at the end, or as in an IBAN) or mod11 (weights 1, 2, 3 … from the right, X for 10: as ISBN-10)'

/** Fewer digits have no check digit. */
const MINIMUM_DIGITS = 2

/** The value of a letter A. */
const TEN = 10

/** Checks a value that grows. */
export interface CheckDigits {
  /** Takes a character, of which letters and digits of ASCII count. */
  add(codePoint: number): void
  /** Whether the value so far ends in the right check digits. */
  readonly passes: boolean
}

class Luhn implements CheckDigits {
  #count = 0
  /** The sum if the last digit is not doubled, and if it is. */
  #sum = 0
  #doubled = 0

  add(codePoint: number): void {
    if (!isDigit(codePoint)) return
    const digit = codePoint - DIGIT_0
    const twice = digit > 4 ? 2 * digit - 9 : 2 * digit
    const sum = this.#doubled + digit
    this.#doubled = this.#sum + twice
    this.#sum = sum
    this.#count++
  }

  get passes(): boolean {
    return this.#count >= MINIMUM_DIGITS && this.#sum % 10 === 0
  }
}

/** Characters that an IBAN has in front and that are checked at its end. */
const MOVED_CHARACTERS = 4
const MODULUS = 97

/** A number modulo 97 that grows at its end. */
class Remainder {
  rest = 0
  /** Ten to the power of its digits. */
  scale = 1

  /** Adds a number of one digit or two. */
  add(value: number): void {
    const base = value < TEN ? TEN : TEN * TEN
    this.rest = (this.rest * base + value) % MODULUS
    this.scale = (this.scale * base) % MODULUS
  }
}

class Mod97 implements CheckDigits {
  #digits = 0
  #characters = 0
  readonly #ofDigits = new Remainder()
  readonly #ofAll = new Remainder()
  readonly #first = new Remainder()
  readonly #others = new Remainder()

  add(codePoint: number): void {
    if (!isAlphanumeric(codePoint)) return
    const value = isDigit(codePoint) ? codePoint - DIGIT_0 : (codePoint | CASE_BIT) - LOWER_A + TEN
    if (value < TEN) {
      this.#digits++
      this.#ofDigits.add(value)
    }
    this.#ofAll.add(value)
    const part = this.#characters++ < MOVED_CHARACTERS ? this.#first : this.#others
    part.add(value)
  }

  get passes(): boolean {
    const moved = (this.#others.rest * this.#first.scale + this.#first.rest) % MODULUS
    return this.#digits >= MINIMUM_DIGITS && [this.#ofDigits.rest, this.#ofAll.rest, moved].includes(1)
  }
}

class Mod11 implements CheckDigits {
  #count = 0
  #plain = 0
  /** With the weights 1, 2, 3 from the right. */
  #weighted = 0
  /** An X counts at the end only. */
  #endsInX = false

  add(codePoint: number): void {
    if (isDigit(codePoint)) {
      this.#count++
      this.#plain += codePoint - DIGIT_0
      this.#weighted += this.#plain
      this.#endsInX = false
    } else if ((codePoint | CASE_BIT) === LOWER_X) this.#endsInX = true
  }

  get passes(): boolean {
    const weighted = this.#endsInX ? this.#weighted + this.#plain + TEN : this.#weighted
    return this.#count + Number(this.#endsInX) >= MINIMUM_DIGITS && weighted % 11 === 0
  }
}

const CHECKS: Readonly<Record<Checksum, new () => CheckDigits>> = { luhn: Luhn, mod97: Mod97, mod11: Mod11 }

/** Returns what checks one value. */
export const checkDigits = (checksum: Checksum): CheckDigits => new CHECKS[checksum]()
