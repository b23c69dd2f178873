// Encodes the lengths of the groups of a number as one number, so that shapes are compared without
// building strings.

/** More groups and digits than any detected number has. */
export const MAXIMUM_GROUPS = 7
export const MAXIMUM_DIGITS = 19

/** Radix of a shape: each group length is one digit. */
const SHAPE_BASE = MAXIMUM_DIGITS + 1
const POWERS = Array.from({ length: MAXIMUM_GROUPS + 1 }, (_, exponent) => SHAPE_BASE ** exponent)

/** Parses a shape from its notation: `3-3-4`. */
export function shapeOf(groups: string): number {
  return groups.split('-').reduce((shape, length) => shape * SHAPE_BASE + Number(length), 0)
}

/** Reports whether the digits are in one group. */
export const isPlainShape = (shape: number): boolean => shape < SHAPE_BASE

/** The length of the last group. */
export const lastGroupOf = (shape: number): number => shape % SHAPE_BASE

/** Appends a group. */
export const withGroup = (shape: number, length: number): number => shape * SHAPE_BASE + length

/** Formats a shape: `3-3-4`. */
export function lengthsOf(shape: number): string {
  let text = ''
  for (let rest = shape; rest > 0; rest = Math.floor(rest / SHAPE_BASE)) {
    text = text === '' ? `${rest % SHAPE_BASE}` : `${rest % SHAPE_BASE}-${text}`
  }
  return text
}

/** The shape of `count` groups from index `from`; 0 if there are fewer. */
export function groupsOf(shape: number, from: number, count: number): number {
  const power = (exponent: number): number => POWERS[exponent] ?? 1
  let first = shape
  while (first >= power(from + count)) first = Math.floor(first / SHAPE_BASE)
  return first < power(from + count - 1) ? 0 : first % power(count)
}
