// What the sums of a combination are of: whole calls, the part of calls with one tool, or the calls
// of one run. The number of a combination says which.

const PARTS = ['call', 'tool', 'run'] as const
export type CountedPart = (typeof PARTS)[number]

/** Numbers that combinations of one part can have. */
const NUMBERS_OF_PART = 2 ** 30

/** Returns the first number of a part, and the one after its last. */
export function numbersOf(part: CountedPart): { readonly first: number; readonly end: number } {
  const first = PARTS.indexOf(part) * NUMBERS_OF_PART
  return { first, end: first + NUMBERS_OF_PART }
}

export const partOf = (combination: number): CountedPart =>
  combination < NUMBERS_OF_PART ? 'call' : combination < 2 * NUMBERS_OF_PART ? 'tool' : 'run'

/** Returns the part that a report by these fields reads. */
export const partOfReport = (groupBy: readonly string[]): CountedPart =>
  PARTS.find((part) => groupBy.includes(part)) ?? 'call'
