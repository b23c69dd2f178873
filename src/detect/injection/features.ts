// Hashed features of a run of tokens: words, pairs, triples, pairs with a gap, and four-letter parts of words.
// The same code counts in training and in scoring; it knows nothing of weights.

import type { Tokens } from './token-list.ts'

/** log2 of the number of weights. */
const BUCKET_BITS = 18
export const BUCKETS = 2 ** BUCKET_BITS
const SHIFT = 32 - BUCKET_BITS

/** Changes with any change to how text becomes features: weights of another form are refused. */
export const FEATURE_FORM = 2

/** Added to the number of features, so that a few words alone never weigh as much as a sentence. */
const FEATURE_FLOOR = 8
/** From here on, about two hundred words, a text counts by its average: length alone is no evidence. */
const FEATURE_CEILING = 1600

/** Words shorter than this have no parts. */
const PART_MIN_UNITS = 4
/** Features of one token at most: one to nine of words and ideas and one per letter with both edges. */
const FEATURES_PER_TOKEN = 56

const UNIGRAM = 0x1b873593
const BIGRAM = 0x24a3f1d7
const TRIGRAM = 0x3f84d5b5
const SKIP = 0x4cf5ad43
const PART = 0x58f38ded
const IDEA = 0x6c8e9cf5
const IDEA_PAIR = 0x71d67fff
const IDEA_TRIPLE = 0x7feb352d
/** Ideas further apart than this many tokens have nothing to do with each other. */
const IDEA_REACH_TOKENS = 8
const GOLDEN = 0x9e3779b1
const MIX_A = 0x85ebca6b
const MIX_B = 0xc2b2ae35
const EDGE = 0x5e
const PART_RADIX = 0x01000193
/** PART_RADIX to the fourth, to take the oldest letter out of the rolling hash. */
const PART_RADIX_4 = Math.imul(Math.imul(PART_RADIX, PART_RADIX), Math.imul(PART_RADIX, PART_RADIX))

/** Roots by number of features: windows are tried for every other token. */
const ROOTS = Float64Array.from({ length: FEATURE_CEILING + 1 }, (_, count) =>
  Math.sqrt(count + FEATURE_FLOOR),
)
const ROOT_OF_CEILING = Math.sqrt(FEATURE_CEILING + FEATURE_FLOOR)

/** Token before the text: the beginning is the beginning of a sentence. */
const NO_TOKEN = 0x7ed558cc

/** A sum of weights over `count` features as evidence: it grows with the root of the length up to a ceiling. */
export function normalised(sum: number, count: number): number {
  return count <= FEATURE_CEILING
    ? sum / (ROOTS[count] as number)
    : (sum / (count + FEATURE_FLOOR)) * ROOT_OF_CEILING
}

/** Turns tokens into buckets; remembers the last tokens, so that pieces of one text join without a seam. */
export class FeatureReader {
  /** Buckets of the token last read; valid up to what `read` returned. */
  readonly buckets = new Int32Array(FEATURES_PER_TOKEN)
  #previous = NO_TOKEN
  #beforePrevious = NO_TOKEN
  #previousWord = NO_TOKEN
  #wordBeforePrevious = NO_TOKEN

  #position = 0
  #afterMark = true
  #idea = 0
  #ideaBefore = 0
  #ideaPosition = 0

  /** Begins a new text. */
  reset(): void {
    this.#position = 0
    this.#afterMark = true
    this.#idea = 0
    this.#ideaBefore = 0
    this.#previous = NO_TOKEN
    this.#beforePrevious = NO_TOKEN
    this.#previousWord = NO_TOKEN
    this.#wordBeforePrevious = NO_TOKEN
  }

  /** Puts the buckets of the token at `index` into `buckets`; returns how many there are. */
  read(tokens: Tokens, index: number): number {
    const { buckets } = this
    const hash = tokens.hashes[index] as number
    let count = 0
    buckets[count++] = bucket(hash ^ UNIGRAM)
    const pair = Math.imul(this.#previous, MIX_A) ^ hash
    buckets[count++] = bucket(pair ^ BIGRAM)
    buckets[count++] = bucket(Math.imul(this.#beforePrevious, MIX_B) ^ Math.imul(pair, MIX_A) ^ TRIGRAM)
    if (tokens.words[index] === 1) {
      // Across a mark of punctuation words are neighbours all the same.
      if (this.#previousWord !== this.#previous) {
        buckets[count++] = bucket(Math.imul(this.#previousWord, MIX_A) ^ hash ^ BIGRAM)
      }
      buckets[count++] = bucket(Math.imul(this.#wordBeforePrevious, MIX_A) ^ hash ^ SKIP)
      const idea = tokens.ideas[index] as number
      if (idea !== 0) count = this.#ideas(idea, count)
      count = this.#parts(tokens, index, count)
      this.#wordBeforePrevious = this.#previousWord
      this.#previousWord = hash
    }
    this.#beforePrevious = this.#previous
    this.#previous = hash
    this.#position++
    this.#afterMark = tokens.words[index] === 0
    return count
  }

  /** An idea alone, where a sentence begins, and with the one or two before it: the same in every language. */
  #ideas(idea: number, found: number): number {
    const { buckets } = this
    let count = found
    buckets[count++] = bucket(Math.imul(idea, MIX_A) ^ IDEA)
    if (this.#position - this.#ideaPosition > IDEA_REACH_TOKENS) {
      this.#idea = 0
      this.#ideaBefore = 0
    }
    if (this.#afterMark) buckets[count++] = bucket(Math.imul(idea, MIX_B) ^ IDEA)
    if (this.#idea !== 0) {
      const pair = (this.#idea << 8) | idea
      buckets[count++] = bucket(Math.imul(pair, MIX_A) ^ IDEA_PAIR)
      if (this.#ideaBefore !== 0) {
        buckets[count++] = bucket(Math.imul((this.#ideaBefore << 16) | pair, MIX_A) ^ IDEA_TRIPLE)
      }
    }
    this.#ideaBefore = this.#idea
    this.#idea = idea
    this.#ideaPosition = this.#position
    return count
  }

  /** Rolling hash over `^word$`, four units at a time. */
  #parts(tokens: Tokens, index: number, found: number): number {
    const start = tokens.letterStarts[index] as number
    const end = tokens.letterEnds[index] as number
    if (end - start < PART_MIN_UNITS) return found
    const { buckets } = this
    const { letters } = tokens
    let count = found
    let hash = EDGE
    for (let at = start; at <= end; at++) {
      hash = (Math.imul(hash, PART_RADIX) + (at < end ? (letters[at] as number) : EDGE)) | 0
      const oldest = at - 4
      if (oldest >= start - 1) {
        hash = (hash - Math.imul(oldest < start ? EDGE : (letters[oldest] as number), PART_RADIX_4)) | 0
      }
      if (at >= start + 2) buckets[count++] = bucket(hash ^ PART)
    }
    return count
  }
}

function bucket(hash: number): number {
  const mixed = Math.imul(hash ^ (hash >>> 16), GOLDEN)
  return (mixed ^ (mixed >>> 15)) >>> SHIFT
}
