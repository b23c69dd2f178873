// Sums over calls as exact whole numbers of 64 bits, and their packed form. Knows neither keys nor
// times.

import { CALL_COUNTS, SUMMED_FIELDS, type SummedField } from '../audit/entry-fields.ts'

type SumField = SummedField | (typeof CALL_COUNTS)[number]['name']

/** A packed row counts its sums in one byte. */
const MAXIMUM_SUMS = 255

/**
 * Returns the names of sums in the order of the packed form.
 * @throws Error that names a sum whose position another has, or which leaves a gap
 */
export function namesByPosition<Name>(sums: readonly { name: Name; position: number }[]): Name[] {
  const ordered = sums.toSorted((one, other) => one.position - other.position)
  const wrong = ordered.find(({ position }, index) => position !== index || index >= MAXIMUM_SUMS)
  if (wrong !== undefined)
    throw new Error(
      `src/audit/entry-fields.ts: ${wrong.name} has position ${wrong.position} of packed sums; use each of 0 to ${Math.min(sums.length, MAXIMUM_SUMS) - 1} once`,
    )
  return ordered.map(({ name }) => name)
}

/** The sums in the order of the packed form. */
const SUM_FIELDS: readonly SumField[] = namesByPosition<SumField>([...CALL_COUNTS, ...SUMMED_FIELDS])

/** The sums that reports show, in their order. */
export const SHOWN_SUMS = SUM_FIELDS.filter((field) => field !== 'priced_requests')

export type ExactSums = Readonly<Record<SumField, number | bigint>>

/** What one call adds; each field is a whole number up to MAX_SAFE_INTEGER. */
export type CallValues = Readonly<Record<SumField, number>>

/** Number of sums. */
export const SUM_COUNT = SUM_FIELDS.length
/** Numbers that one sum of all fields takes. */
export const SUM_HALVES = 2 * SUM_FIELDS.length

const U32_VALUES = 2 ** 32
const U32_MAX = U32_VALUES - 1
const U32_BYTES = 4

/**
 * Sums of the short header, which holds the length of each in four bits, the first in the lowest.
 * No length is above 8, so no short header begins with LONG_MARK. A long header is the mark, a byte
 * with the number of sums, and their lengths in the same way.
 */
const SHORT_SUMS = 8
const LONG_MARK = 0xff
const LENGTHS_OF_BYTE = 2
const LENGTH_BITS = 4
const LENGTH_MASK = 0b1111

const lengthsBytes = (sums: number): number => Math.ceil(sums / LENGTHS_OF_BYTE)

/** A number has two halves of 32 bits, which may be larger until they are carried. */
export class CallSums {
  /** High and low half of each field. Two million additions are exact without a carry. */
  readonly #halves: Float64Array | number[]

  /**
   * @param halves zeros, for many sums in one allocation. A short array of V8's heap is made faster
   *   than a typed one.
   */
  constructor(halves: Float64Array | number[] = new Array<number>(SUM_HALVES).fill(0)) {
    this.#halves = halves
  }

  addCall(values: CallValues): void {
    for (let index = 0; index < SUM_FIELDS.length; index++) {
      const value = values[SUM_FIELDS[index]!]
      if (value === 0) continue
      if (value <= U32_MAX) this.#halves[2 * index + 1]! += value
      else {
        this.#halves[2 * index]! += Math.floor(value / U32_VALUES)
        this.#halves[2 * index + 1]! += value % U32_VALUES
      }
    }
  }

  add(other: CallSums): void {
    other.#carry()
    for (let at = 0; at < this.#halves.length; at++) this.#halves[at]! += other.#halves[at]!
    this.#carry()
  }

  /**
   * Adds packed sums. Sums that an older release did not have are zero; those that only a newer one
   * has are skipped.
   * @returns the offset after them
   */
  addPacked(bytes: Uint8Array, offset: number): number {
    const halves = this.#halves
    const isLong = bytes[offset] === LONG_MARK
    const stored = isLong ? bytes[offset + 1]! : SHORT_SUMS
    let at = offset + (isLong ? 2 : 0) + lengthsBytes(stored)
    const firstLengths = at - 1
    for (let index = 0; index < stored; index++) {
      const lengths = bytes[firstLengths - (index >> 1)]!
      const length = (index & 1) === 0 ? lengths & LENGTH_MASK : lengths >>> LENGTH_BITS
      if (length === 0) continue
      const half = 2 * index
      const end = at + length
      if (half >= halves.length) {
        at = end
        continue
      }
      if (length > U32_BYTES) {
        let high = 0
        while (at < end - U32_BYTES) high = (high << 8) | bytes[at++]!
        halves[half]! += high >>> 0
      }
      let low = 0
      while (at < end) low = (low << 8) | bytes[at++]!
      halves[half + 1]! += low >>> 0
    }
    return at
  }

  /** @returns the header with the lengths, then each field big-endian without leading zero bytes */
  packed(): Buffer {
    this.#carry()
    const halves = this.#halves
    let used = halves.length
    while (used > 2 * SHORT_SUMS && halves[used - 1] === 0) used--
    const sums = Math.max(SHORT_SUMS, Math.ceil(used / 2))
    const bytes: number[] = sums > SHORT_SUMS ? [LONG_MARK, sums] : []
    for (let at = lengthsBytes(sums); at > 0; at--) bytes.push(0)
    const firstLengths = bytes.length - 1
    for (let half = 0; half < used; half += 2) {
      const start = bytes.length
      for (const value of [halves[half]!, halves[half + 1]!]) {
        for (let shift = 24; shift >= 0; shift -= 8) {
          const byte = (value >>> shift) & 0xff
          if (byte !== 0 || bytes.length > start) bytes.push(byte)
        }
      }
      const length = bytes.length - start
      bytes[firstLengths - (half >> 2)]! |= (half & 2) === 0 ? length : length << LENGTH_BITS
    }
    return Buffer.from(bytes)
  }

  /** Returns each sum: a number while it is exact, else a bigint. */
  values(): ExactSums {
    const sums = this.list()
    return Object.fromEntries(SUM_FIELDS.map((field, index) => [field, sums[index]])) as ExactSums
  }

  /** Returns each sum by its position, as `values`. */
  list(): (number | bigint)[] {
    this.#carry()
    const sums: (number | bigint)[] = []
    for (let at = 0; at < this.#halves.length; at += 2) {
      const high = this.#halves[at]!
      const low = this.#halves[at + 1]!
      const value = high * U32_VALUES + low
      sums.push(value <= Number.MAX_SAFE_INTEGER ? value : BigInt(high) * BigInt(U32_VALUES) + BigInt(low))
    }
    return sums
  }

  /** Adds sums by their position: integers in decimal, null for 0. Further ones are skipped. */
  addList(sums: readonly (string | null)[]): void {
    for (let index = 0; index < SUM_FIELDS.length; index++) {
      const value = BigInt(sums[index] ?? 0)
      this.#halves[2 * index]! += Number(value / BigInt(U32_VALUES))
      this.#halves[2 * index + 1]! += Number(value % BigInt(U32_VALUES))
    }
    this.#carry()
  }

  get isZero(): boolean {
    this.#carry()
    return this.#halves.every((half) => half === 0)
  }

  /** Brings each half into 32 bits. A sum stays at most the largest number of 64 bits. */
  #carry(): void {
    const halves = this.#halves
    for (let at = 0; at < halves.length; at += 2) {
      if (halves[at + 1]! < U32_VALUES && halves[at]! <= U32_MAX) continue
      const over = Math.floor(halves[at + 1]! / U32_VALUES)
      halves[at]! += over
      halves[at + 1]! -= over * U32_VALUES
      if (halves[at]! > U32_MAX) halves.fill(U32_MAX, at, at + 2)
    }
  }
}
