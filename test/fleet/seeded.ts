// Choices by random numbers, which a seed repeats.

/** Returns one of the values. */
export const oneOf = <T>(values: readonly T[], random: () => number): T =>
  values[Math.floor(random() * values.length)]!

/** Returns a name as often as its weight says. */
export function weighted<Name extends string>(
  weights: Readonly<Record<Name, number>>,
  random: () => number,
): Name {
  const entries = Object.entries(weights) as [Name, number][]
  let left = random() * entries.reduce((sum, [, weight]) => sum + weight, 0)
  for (const [name, weight] of entries) {
    left -= weight
    if (left < 0) return name
  }
  return entries.at(-1)![0]
}
