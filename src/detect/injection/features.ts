// Turns tokens into hashed features: words, pairs, triples, pairs with a gap, four-letter parts of
// words, and ideas. Training and scoring share this code, which knows nothing of how weights come
// about. Some features depend on the token alone, the others on the tokens before it.

import {
  COLUMN_HASH,
  COLUMN_SUM,
  COLUMN_TOTAL,
  COLUMN_TRAITS,
  ROW_COLUMNS,
  TOTAL_SUM_SHIFT,
  type TokenList,
  TRAIT_COUNT_SHIFT,
  TRAIT_IDEA_MASK,
  TRAIT_IDEA_SHIFT,
  TRAIT_WORD,
} from './token-list.ts'

/** log2 of the number of weights. */
const BUCKET_BITS = 18
export const BUCKETS = 2 ** BUCKET_BITS
const SHIFT = 32 - BUCKET_BITS

/** Changes whenever text becomes other features. A model of another form is refused. */
export const FEATURE_FORM = 2

/** Added to the number of features, so that a few words weigh less than a sentence. */
const FEATURE_FLOOR = 8
/**
 * From this many features on, about two hundred words, the sum is an average: length alone is no
 * evidence.
 */
const FEATURE_CEILING = 1600

/** An upper bound for a window of 48 tokens. */
const WINDOW_FEATURES_MAX = 4095

/** Shorter words have no parts. */
const PART_MIN_UNITS = 4
/** Most features of a word alone: the word, and one part per letter including both edges. */
export const WORD_FEATURES_MAX = 48
/** Most features of an idea. */
const IDEA_FEATURES_MAX = 4

// Salts that separate the kinds of features.
const UNIGRAM = 0x1b873593
const BIGRAM = 0x24a3f1d7
const TRIGRAM = 0x3f84d5b5
const SKIP = 0x4cf5ad43
const PART = 0x58f38ded
const IDEA = 0x6c8e9cf5
const IDEA_PAIR = 0x71d67fff
const IDEA_TRIPLE = 0x7feb352d
/** Ideas further apart are not paired. */
const IDEA_REACH_TOKENS = 8
const GOLDEN = 0x9e3779b1
const MIX_A = 0x85ebca6b
const MIX_B = 0xc2b2ae35
const EDGE = 0x5e
const PART_RADIX = 0x01000193
/** PART_RADIX to the fourth power: removes the oldest letter from the rolling hash. */
const PART_RADIX_4 = Math.imul(Math.imul(PART_RADIX, PART_RADIX), Math.imul(PART_RADIX, PART_RADIX))

/** Square roots by number of features, since windows are tried at every second token. */
const ROOTS = Float64Array.from({ length: FEATURE_CEILING + 1 }, (_, count) =>
  Math.sqrt(count + FEATURE_FLOOR),
)
const ROOT_OF_CEILING = Math.sqrt(FEATURE_CEILING + FEATURE_FLOOR)

/**
 * Approximate divisor of a window's sum by number of features. Rules out nearly all windows without
 * a division.
 */
export const WINDOW_DIVISORS = Float64Array.from({ length: WINDOW_FEATURES_MAX + 1 }, (_, count) =>
  count <= FEATURE_CEILING ? (ROOTS[count] as number) : (count + FEATURE_FLOOR) / ROOT_OF_CEILING,
)

/** Hash of the token before the text. The first token is the beginning of a sentence. */
const NO_TOKEN = 0x7ed558cc

/**
 * Normalises a sum of weights over `count` features: grows with the square root of the length up to
 * a ceiling.
 */
export function normalisedSum(sum: number, count: number): number {
  return count <= FEATURE_CEILING
    ? sum / (ROOTS[count] as number)
    : (sum / (count + FEATURE_FLOOR)) * ROOT_OF_CEILING
}

/** Fills in the buckets of a word alone: the word, then its four-letter parts. Returns how many. */
export function wordBuckets(
  units: Uint16Array,
  first: number,
  end: number,
  hash: number,
  buckets: Int32Array,
): number {
  buckets[0] = wordBucket(hash)
  return partBuckets(units, first, end, buckets, 1)
}

/** Returns the bucket of a word, mark or other token alone. */
export function wordBucket(hash: number): number {
  return bucket(hash ^ UNIGRAM)
}

/**
 * Appends the buckets of a word's parts after the first `found`, with a rolling hash over `^word$`.
 * Returns how many there are now.
 */
function partBuckets(
  units: Uint16Array,
  start: number,
  end: number,
  buckets: Int32Array,
  found: number,
): number {
  if (end - start < PART_MIN_UNITS) return found
  let count = found
  let hash = EDGE
  for (let at = start; at <= end; at++) {
    hash = (Math.imul(hash, PART_RADIX) + (at < end ? (units[at] as number) : EDGE)) | 0
    const oldest = at - 4
    if (oldest >= start - 1) {
      hash = (hash - Math.imul(oldest < start ? EDGE : (units[oldest] as number), PART_RADIX_4)) | 0
    }
    if (at >= start + 2) buckets[count++] = bucket(hash ^ PART)
  }
  return count
}

/**
 * Adds the features that depend on the tokens before. Keeps those tokens, so that the pieces of a
 * text join without a seam.
 */
export class ContextReader {
  #previous = NO_TOKEN
  #beforePrevious = NO_TOKEN
  #previousWord = NO_TOKEN
  #wordBeforePrevious = NO_TOKEN
  #position = 0
  #afterMark = true
  #idea = 0
  #ideaBefore = 0
  #ideaPosition = 0
  readonly #ideaBuckets = new Int32Array(IDEA_FEATURES_MAX)

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

  /** Continues where another reader is. */
  copy(other: ContextReader): void {
    this.#position = other.#position
    this.#afterMark = other.#afterMark
    this.#idea = other.#idea
    this.#ideaBefore = other.#ideaBefore
    this.#ideaPosition = other.#ideaPosition
    this.#previous = other.#previous
    this.#beforePrevious = other.#beforePrevious
    this.#previousWord = other.#previousWord
    this.#wordBeforePrevious = other.#wordBeforePrevious
  }

  /**
   * Fills in the total column of every token from index `from` on.
   * @param contextBuckets receives the buckets that depend on the context, one list per token;
   * null except in training
   */
  read(tokens: TokenList, from: number, weights: Int8Array, contextBuckets: number[][] | null): void {
    const { rows } = tokens
    const end = tokens.length * ROW_COLUMNS
    let previous = this.#previous
    let beforePrevious = this.#beforePrevious
    let previousWord = this.#previousWord
    let wordBeforePrevious = this.#wordBeforePrevious
    let afterMark = this.#afterMark
    for (let row = from * ROW_COLUMNS; row < end; row += ROW_COLUMNS) {
      const hash = rows[row + COLUMN_HASH] as number
      const traits = rows[row + COLUMN_TRAITS] as number
      const pair = Math.imul(previous, MIX_A) ^ hash
      const two = bucket(pair ^ BIGRAM)
      const three = bucket(Math.imul(beforePrevious, MIX_B) ^ Math.imul(pair, MIX_A) ^ TRIGRAM)
      let sum = (rows[row + COLUMN_SUM] as number) + (weights[two] as number) + (weights[three] as number)
      let count = 2 + (traits >> TRAIT_COUNT_SHIFT)
      if (contextBuckets !== null) contextBuckets.push([two, three])
      if ((traits & TRAIT_WORD) !== 0) {
        if (previousWord !== previous) {
          // Words on both sides of a punctuation mark are neighbours, too.
          const across = bucket(Math.imul(previousWord, MIX_A) ^ hash ^ BIGRAM)
          sum += weights[across] as number
          count++
          if (contextBuckets !== null) contextBuckets.at(-1)?.push(across)
        }
        const skip = bucket(Math.imul(wordBeforePrevious, MIX_A) ^ hash ^ SKIP)
        sum += weights[skip] as number
        count++
        if (contextBuckets !== null) contextBuckets.at(-1)?.push(skip)
        const idea = (traits >> TRAIT_IDEA_SHIFT) & TRAIT_IDEA_MASK
        if (idea !== 0) {
          const position = this.#position + row / ROW_COLUMNS - from
          const found = this.#readIdea(idea, position, afterMark)
          for (let at = 0; at < found; at++) {
            sum += weights[this.#ideaBuckets[at] as number] as number
            if (contextBuckets !== null) contextBuckets.at(-1)?.push(this.#ideaBuckets[at] as number)
          }
          count += found
        }
        wordBeforePrevious = previousWord
        previousWord = hash
        afterMark = false
      } else afterMark = true
      beforePrevious = previous
      previous = hash
      rows[row + COLUMN_TOTAL] = (sum << TOTAL_SUM_SHIFT) | count
    }
    this.#position += tokens.length - from
    this.#previous = previous
    this.#beforePrevious = beforePrevious
    this.#previousWord = previousWord
    this.#wordBeforePrevious = wordBeforePrevious
    this.#afterMark = afterMark
  }

  /**
   * Fills in the buckets of an idea alone, at the beginning of a sentence, and after the one or two
   * ideas before it. They are the same in every language. Returns how many.
   */
  #readIdea(idea: number, position: number, afterMark: boolean): number {
    const buckets = this.#ideaBuckets
    let count = 0
    buckets[count++] = bucket(Math.imul(idea, MIX_A) ^ IDEA)
    if (position - this.#ideaPosition > IDEA_REACH_TOKENS) {
      this.#idea = 0
      this.#ideaBefore = 0
    }
    if (afterMark) buckets[count++] = bucket(Math.imul(idea, MIX_B) ^ IDEA)
    if (this.#idea !== 0) {
      const pair = (this.#idea << 8) | idea
      buckets[count++] = bucket(Math.imul(pair, MIX_A) ^ IDEA_PAIR)
      if (this.#ideaBefore !== 0) {
        buckets[count++] = bucket(Math.imul((this.#ideaBefore << 16) | pair, MIX_A) ^ IDEA_TRIPLE)
      }
    }
    this.#ideaBefore = this.#idea
    this.#idea = idea
    this.#ideaPosition = position
    return count
  }
}

function bucket(hash: number): number {
  const mixed = Math.imul(hash ^ (hash >>> 16), GOLDEN)
  return (mixed ^ (mixed >>> 15)) >>> SHIFT
}
