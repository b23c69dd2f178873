// The hash of a word, letter by letter (FNV-1a over UTF-16 code units). Equal hashes mean equal words in practice only.

export const WORD_SEED = 0x811c9dc5 | 0
const WORD_PRIME = 0x01000193

/** The running hash after one more letter. */
export function hashLetter(hash: number, unit: number): number {
  return Math.imul(hash ^ unit, WORD_PRIME)
}

/** The running hash of all of `units[first, end)`. */
export function hashLetters(units: Uint16Array, first: number, end: number): number {
  let hash = WORD_SEED
  for (let index = first; index < end; index++) hash = hashLetter(hash, units[index] as number)
  return hash
}

/** Spreads the low bits of a running hash; to be done once, after the last letter. */
export function finishHash(hash: number): number {
  const mixed = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return mixed ^ (mixed >>> 13)
}
