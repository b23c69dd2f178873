// Hashes a word letter by letter (FNV-1a over UTF-16 code units). Words with equal hashes are taken
// for equal.

export const WORD_SEED = 0x811c9dc5 | 0
const WORD_PRIME = 0x01000193

/** Returns the running hash after one more letter. */
export function hashLetter(hash: number, unit: number): number {
  return Math.imul(hash ^ unit, WORD_PRIME)
}

/** Returns the running hash of `units[first, end)`. */
export function hashLetters(units: Uint16Array, first: number, end: number): number {
  let hash = WORD_SEED
  for (let index = first; index < end; index++) hash = hashLetter(hash, units[index] as number)
  return hash
}

/** Spreads the low bits of a running hash. Call it once, after the last letter. */
export function finishHash(hash: number): number {
  const mixed = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return mixed ^ (mixed >>> 13)
}
