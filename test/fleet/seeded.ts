// Random choices that a seed repeats.

/** Numbers from 0, inclusive, to 1, exclusive (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

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
