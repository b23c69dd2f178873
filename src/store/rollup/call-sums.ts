// Sums over calls as exact whole numbers of 64 bits, and their packed form. Knows neither keys nor
// times.

import { SUMMED_FIELDS, type SummedField } from '../../audit/entry-fields.ts'

/** Counts of calls, by their position in the packed form. */
const CALL_COUNTS = [
  { name: 'requests', position: 0 },
  /** Calls whose cost is known. */
  { name: 'priced_requests', position: 6 },
  /** Calls that used tokens and whose cost is not known. */
  { name: 'unpriced_requests', position: 7 },
] as const

type SumField = SummedField | (typeof CALL_COUNTS)[number]['name']

/** The sums in the order of the packed form. */
const SUM_FIELDS: readonly SumField[] = [...CALL_COUNTS, ...SUMMED_FIELDS]
  .sort((one, other) => one.position - other.position)
  .map(({ name }) => name)

/** The sums that reports show, in their order. */
export const SHOWN_SUMS = SUM_FIELDS.filter((field) => field !== 'priced_requests')

export type ExactSums = Readonly<Record<SumField, number | bigint>>

/** What one call adds; each field is a whole number up to MAX_SAFE_INTEGER. */
export type CallValues = Readonly<Record<SumField, number>>

/** Numbers that one sum of all fields takes. */
export const SUM_HALVES = 2 * SUM_FIELDS.length

const U32_VALUES = 2 ** 32
const U32_MAX = U32_VALUES - 1
/** Bytes of the header, which holds the length of each field in four bits. */
const LENGTHS_BYTES = 4
const LENGTH_BITS = 4
const LENGTH_MASK = 0b1111
const U32_BYTES = 4

/** A number has two halves of 32 bits, which may be larger until they are carried. */
export class CallSums {
  /** High and low half of each field. Two million additions are exact without a carry. */
  readonly #halves: Float64Array

  /** @param halves zeros, for many sums in one allocation */
  constructor(halves = new Float64Array(SUM_HALVES)) {
    this.#halves = halves
  }

  addCall(values: CallValues): void {
    for (const [index, field] of SUM_FIELDS.entries()) {
      const value = values[field]
      this.#halves[2 * index]! += Math.floor(value / U32_VALUES)
      this.#halves[2 * index + 1]! += value % U32_VALUES
    }
  }

  add(other: CallSums): void {
    other.#carry()
    for (let at = 0; at < this.#halves.length; at++) this.#halves[at]! += other.#halves[at]!
    this.#carry()
  }

  /** Adds packed sums. @returns the offset after them */
  addPacked(bytes: Uint8Array, offset: number): number {
    const halves = this.#halves
    let lengths =
      ((bytes[offset]! << 24) |
        (bytes[offset + 1]! << 16) |
        (bytes[offset + 2]! << 8) |
        bytes[offset + 3]!) >>>
      0
    let at = offset + LENGTHS_BYTES
    for (let half = 0; half < halves.length; half += 2) {
      const length = lengths & LENGTH_MASK
      lengths >>>= LENGTH_BITS
      if (length === 0) continue
      const end = at + length
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
    let lengths = 0
    const bytes: number[] = []
    for (let index = 0; index < SUM_FIELDS.length; index++) {
      const start = bytes.length
      for (const half of [this.#halves[2 * index]!, this.#halves[2 * index + 1]!]) {
        for (let shift = 24; shift >= 0; shift -= 8) {
          const byte = (half >>> shift) & 0xff
          if (byte !== 0 || bytes.length > start) bytes.push(byte)
        }
      }
      lengths |= (bytes.length - start) << (LENGTH_BITS * index)
    }
    const packed = Buffer.allocUnsafe(LENGTHS_BYTES + bytes.length)
    packed.writeUInt32BE(lengths >>> 0)
    packed.set(bytes, LENGTHS_BYTES)
    return packed
  }

  /** Returns each sum: a number while it is exact, else a bigint. */
  values(): ExactSums {
    this.#carry()
    const exact = (index: number) => {
      const high = this.#halves[2 * index]!
      const low = this.#halves[2 * index + 1]!
      const value = high * U32_VALUES + low
      return value <= Number.MAX_SAFE_INTEGER ? value : BigInt(high) * BigInt(U32_VALUES) + BigInt(low)
    }
    return Object.fromEntries(SUM_FIELDS.map((field, index) => [field, exact(index)])) as ExactSums
  }

  get isZero(): boolean {
    this.#carry()
    return this.#halves.every((half) => half === 0)
  }

  /** Brings each half into 32 bits. A sum stays at most the largest number of 64 bits. */
  #carry(): void {
    const halves = this.#halves
    for (let at = 0; at < halves.length; at += 2) {
      const over = Math.floor(halves[at + 1]! / U32_VALUES)
      halves[at]! += over
      halves[at + 1]! -= over * U32_VALUES
      if (halves[at]! > U32_MAX) halves.fill(U32_MAX, at, at + 2)
    }
  }
}
