// The lengths of the groups of a number as one number, so that forms are told apart without making text of them.

/** More groups and digits than any number has that is looked for. */
export const MAX_GROUPS = 7
export const MAX_DIGITS = 19

/** Lengths of groups as one number, so that runs can be told apart without making text of them. */
const SHAPE_BASE = MAX_DIGITS + 1
const POWERS = Array.from({ length: MAX_GROUPS + 1 }, (_, exponent) => SHAPE_BASE ** exponent)

/** The shape of a form as it is written down: `3-3-4`. */
export function shapeOf(groups: string): number {
  return groups.split('-').reduce((shape, length) => shape * SHAPE_BASE + Number(length), 0)
}

/** Digits in one piece. */
export const isPlainShape = (shape: number): boolean => shape < SHAPE_BASE

/** With one more group behind. */
export const withGroup = (shape: number, length: number): number => shape * SHAPE_BASE + length

/** The shape as it is written down. */
export function lengthsOf(shape: number): string {
  let text = ''
  for (let rest = shape; rest > 0; rest = Math.floor(rest / SHAPE_BASE)) {
    text = text === '' ? `${rest % SHAPE_BASE}` : `${rest % SHAPE_BASE}-${text}`
  }
  return text
}

/** The shape of some of the groups; 0 if there are not as many. */
export function groupsOf(shape: number, from: number, count: number): number {
  const power = (exponent: number): number => POWERS[exponent] ?? 1
  let first = shape
  while (first >= power(from + count)) first = Math.floor(first / SHAPE_BASE)
  return first < power(from + count - 1) ? 0 : first % power(count)
}
