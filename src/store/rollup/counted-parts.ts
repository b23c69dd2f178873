// Which part of calls the sums of a combination are of, by its number.

import type { CountedPart } from '../../usage/combination.ts'

/** The parts that a gateway counts. Positions are stored. */
const STORED_PARTS = ['call', 'tool', 'run'] as const satisfies CountedPart[]
export type StoredPart = (typeof STORED_PARTS)[number]

/** Numbers that combinations of one part can have. */
const NUMBERS_OF_PART = 2 ** 30

/** Returns the first number of a part, and the one after its last. */
export function numbersOf(part: StoredPart): { readonly first: number; readonly end: number } {
  const first = STORED_PARTS.indexOf(part) * NUMBERS_OF_PART
  return { first, end: first + NUMBERS_OF_PART }
}

export const partOfNumber = (combination: number): StoredPart =>
  combination < NUMBERS_OF_PART ? 'call' : combination < 2 * NUMBERS_OF_PART ? 'tool' : 'run'
