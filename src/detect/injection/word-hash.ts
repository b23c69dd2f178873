// The hash of a word, letter by letter (FNV-1a over UTF-16 code units). Equal hashes mean equal words in practice only.

export const WORD_SEED = 0x811c9dc5
const WORD_PRIME = 0x01000193

/** The running hash after one more letter. */
export function hashLetter(hash: number, unit: number): number {
  return Math.imul(hash ^ unit, WORD_PRIME)
}

/** Spreads the low bits of a running hash; to be done once, after the last letter. */
export function finishHash(hash: number): number {
  const mixed = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return mixed ^ (mixed >>> 13)
}
