// Makes typing errors: letters swapped, dropped, doubled, replaced by a neighbouring key, or spelt
// as they sound.

import type { Random } from './injection-learn.ts'

/** Share of the words of a text with an error, drawn once per text. */
const SHARES: readonly number[] = [0.25, 0.5, 0.75, 0.9]
/** Shorter words have no errors other than abbreviations. */
const LETTERS_MIN = 3
/** Words of at least this length may have two errors. */
const LONG_LETTERS = 7

/** Each key with its neighbours. */
const NEIGHBOURS: Readonly<Record<string, string>> = {
  a: 'sq',
  b: 'vn',
  c: 'xv',
  d: 'sf',
  e: 'wr',
  f: 'dg',
  g: 'fh',
  h: 'gj',
  i: 'uo',
  j: 'hk',
  k: 'jl',
  l: 'k',
  m: 'n',
  n: 'bm',
  o: 'ip',
  p: 'o',
  q: 'wa',
  r: 'et',
  s: 'ad',
  t: 'ry',
  u: 'yi',
  v: 'cb',
  w: 'qe',
  x: 'zc',
  y: 'tu',
  z: 'xa',
}

const SHORT: Readonly<Record<string, string>> = {
  you: 'u',
  your: 'ur',
  are: 'r',
  please: 'pls',
  what: 'wat',
  and: 'n',
  to: '2',
  for: '4',
  the: 'da',
  now: 'nw',
  because: 'cuz',
  everything: 'evrythng',
  me: 'mi',
  text: 'txt',
}

/** Pairs of spelling and sound. */
const SOUNDS: readonly (readonly [RegExp, string])[] = [
  [/tion/, 'shun'],
  [/ck/, 'k'],
  [/c(?=[aour])/, 'k'],
  [/ph/, 'f'],
  [/ea/, 'ee'],
  [/y\b/, 'i'],
  [/ou/, 'u'],
  [/ge\b/, 'j'],
  [/(.)\1/, '$1'],
  [/e\b/, ''],
]

/** Returns the text with errors in many of its words. Scripts without case are left alone. */
export function mistype(text: string, random: Random): string {
  const share = SHARES[Math.floor(random() * SHARES.length)] as number
  return text.replace(/[\p{Lu}\p{Ll}]+/gu, (word) => {
    if (random() >= share) return word
    const short = random() < 0.4 ? SHORT[word.toLowerCase()] : undefined
    if (short !== undefined) return short
    if (word.length < LETTERS_MIN) return word
    const once = misspell(word, random)
    return word.length >= LONG_LETTERS && random() < 0.3 ? misspell(once, random) : once
  })
}

function misspell(word: string, random: Random): string {
  const at = 1 + Math.floor(random() * (word.length - 1))
  const [head, letter, tail] = [word.slice(0, at), word.charAt(at), word.slice(at + 1)]
  const kind = random()
  // Swaps a letter with the next one, or the last with the one before.
  if (kind < 0.35) {
    const first = Math.min(at, word.length - 2)
    return word.slice(0, first) + word.charAt(first + 1) + word.charAt(first) + word.slice(first + 2)
  }
  if (kind < 0.65) return head + tail
  if (kind < 0.77) return head + letter + letter + tail
  if (kind < 0.87) {
    const near = NEIGHBOURS[letter] ?? letter
    return head + near.charAt(Math.floor(random() * near.length)) + tail
  }
  const [sound, spelling] = SOUNDS[Math.floor(random() * SOUNDS.length)] as (typeof SOUNDS)[number]
  return word.replace(sound, spelling)
}
