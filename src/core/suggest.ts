// Suggests a known word for a mistyped one.

/** Longer words are not compared. */
const MAXIMUM_CHARACTERS = 64

/** Edits by which a mistyped word may differ. */
const MAXIMUM_EDITS = 3

/** Returns the nearest known word, at most a third of the letters or `most` edits away, or null. */
export function nearest(word: string, known: readonly string[], most = MAXIMUM_EDITS): string | null {
  if (word.length > MAXIMUM_CHARACTERS) return null
  const wanted = word.toLowerCase()
  const tolerance = Math.min(most, Math.max(1, Math.floor(word.length / 3)))
  let best: string | null = null
  let bestDistance = tolerance + 1
  for (const candidate of known) {
    if (candidate.length > MAXIMUM_CHARACTERS) continue
    const distance = editDistance(wanted, candidate.toLowerCase())
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/**
 * Counts insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
 */
function editDistance(a: string, b: string): number {
  let beforePrevious: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const current = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      let cost = Math.min(previous[j]! + 1, current[j - 1]! + 1, replaced)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, beforePrevious[j - 2]! + 1)
      }
      current.push(cost)
    }
    beforePrevious = previous
    previous = current
  }
  return previous[b.length]!
}
