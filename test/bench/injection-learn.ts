// Learns hashed weights from examples. Deterministic for a seed; knows nothing about corpora.

import { CharacterClasses } from '../../src/detect/injection/character-classes.ts'
import {
  BUCKETS,
  ContextReader,
  normalisedSum,
  WORD_FEATURES_MAX,
  wordBuckets,
} from '../../src/detect/injection/features.ts'
import { createFoldedText, foldPiece, originOf, pieceEnd } from '../../src/detect/injection/folded-text.ts'
import { Lexicon } from '../../src/detect/injection/lexicon.ts'
import {
  COLUMN_FIRST,
  COLUMN_HASH,
  COLUMN_LETTERS_END,
  createTokenList,
  ROW_COLUMNS,
} from '../../src/detect/injection/token-list.ts'
import { Tokeniser } from '../../src/detect/injection/tokens.ts'

/** A text as buckets, with the token boundaries at which windows are cut. */
export interface Counted {
  readonly buckets: Int32Array
  /** `tokenEnds[i]` is the number of buckets up to and including token i. */
  readonly tokenEnds: Int32Array
  /** Source offset of each token. */
  readonly starts: Int32Array
  readonly mixedWords: number
}

/** An example: a span of a counted text, its label and its weight. */
export interface Example {
  readonly buckets: Int32Array
  readonly label: 0 | 1
  weight: number
}

export type Random = () => number

/** A small generator of numbers in [0, 1), the same on every machine (mulberry32). */
export function createRandom(seed: number): Random {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const folded = createFoldedText()
const tokens = createTokenList(folded.units.length)
const tokeniser = new Tokeniser(new CharacterClasses())
const context = new ContextReader()
const own = new Int32Array(WORD_FEATURES_MAX)
/** Learning needs buckets, not weights. */
const lexicon = new Lexicon(new Int8Array(BUCKETS))

/** Counts the features of a text exactly as scoring does. */
export function countFeatures(text: string, leetView: boolean): Counted {
  const buckets: number[] = []
  const tokenEnds: number[] = []
  const starts: number[] = []
  let mixedWords = 0
  context.reset()
  for (let start = 0; start < text.length; ) {
    const end = pieceEnd(text, start)
    foldPiece(text, start, end, folded)
    tokeniser.tokenise(folded, leetView, lexicon, tokens)
    mixedWords += tokens.mixedWords
    const seen: number[][] = []
    context.read(tokens, 0, lexicon.weights, seen)
    for (const [index, neighbours] of seen.entries()) {
      const [hash, first, end] = [COLUMN_HASH, COLUMN_FIRST, COLUMN_LETTERS_END].map(
        (column) => tokens.rows[index * ROW_COLUMNS + column],
      ) as [number, number, number]
      const count = wordBuckets(folded.units, first, end, hash, own)
      buckets.push(own[0] as number, ...neighbours, ...own.subarray(1, count))
      tokenEnds.push(buckets.length)
      starts.push(originOf(folded, first))
    }
    start = end
  }
  return {
    buckets: Int32Array.from(buckets),
    tokenEnds: Int32Array.from(tokenEnds),
    starts: Int32Array.from(starts),
    mixedWords,
  }
}

/** Returns the buckets of tokens [from, to). */
export function stretch({ buckets, tokenEnds }: Counted, from: number, to: number): Int32Array {
  return buckets.subarray(from === 0 ? 0 : tokenEnds[from - 1], tokenEnds[to - 1])
}

export interface Learned {
  readonly weights: Float32Array
  readonly bias: number
}

export function margin({ weights, bias }: Learned, buckets: Int32Array): number {
  let sum = 0
  for (let at = 0; at < buckets.length; at++) sum += weights[buckets[at] as number] as number
  return bias + normalisedSum(sum, buckets.length)
}

/** Returns a function for the margins of spans of a text, which uses cumulative sums. */
export function stretchMargins(
  { buckets, tokenEnds }: Counted,
  { weights, bias }: Learned,
): (from: number, to: number) => number {
  const sums = new Float64Array(tokenEnds.length + 1)
  let sum = 0
  let at = 0
  for (let token = 0; token < tokenEnds.length; token++) {
    for (; at < (tokenEnds[token] as number); at++) sum += weights[buckets[at] as number] as number
    sums[token + 1] = sum
  }
  return (from, to) => {
    const count =
      (to === 0 ? 0 : (tokenEnds[to - 1] as number)) - (from === 0 ? 0 : (tokenEnds[from - 1] as number))
    return bias + normalisedSum((sums[to] as number) - (sums[from] as number), count)
  }
}

export interface LearnOptions {
  readonly epochs: number
  readonly rate: number
  /** Decay of a weight at each step that touches it. */
  readonly decay: number
  readonly random: Random
}

/**
 * Learns by logistic regression with AdaGrad over shuffled examples, starting from `from` if given.
 */
export function learn(examples: readonly Example[], options: LearnOptions, from?: Learned): Learned {
  const weights = from === undefined ? new Float32Array(BUCKETS) : Float32Array.from(from.weights)
  const squares = new Float32Array(BUCKETS).fill(1e-2)
  let bias = from?.bias ?? 0
  let biasSquares = 1
  const order = Int32Array.from(examples, (_, index) => index)
  for (let epoch = 0; epoch < options.epochs; epoch++) {
    shuffle(order, options.random)
    const rate = options.rate / (1 + epoch)
    for (const index of order) {
      const { buckets, label, weight } = examples[index] as Example
      if (buckets.length === 0) continue
      const scale = normalisedSum(1, buckets.length)
      let sum = 0
      for (let at = 0; at < buckets.length; at++) sum += weights[buckets[at] as number] as number
      const error = (1 / (1 + Math.exp(-(bias + sum * scale))) - label) * weight
      biasSquares += error * error
      bias -= (0.1 * error) / Math.sqrt(biasSquares)
      const gradient = error * scale
      const step = gradient * gradient
      for (let at = 0; at < buckets.length; at++) {
        const bucket = buckets[at] as number
        const old = weights[bucket] as number
        const total = (squares[bucket] as number) + step
        squares[bucket] = total
        weights[bucket] = old - (rate * (gradient + options.decay * old * weight)) / Math.sqrt(total)
      }
    }
  }
  return { weights, bias }
}

function shuffle(order: Int32Array, random: Random): void {
  for (let index = order.length - 1; index > 0; index--) {
    const other = Math.floor(random() * (index + 1))
    const kept = order[index] as number
    order[index] = order[other] as number
    order[other] = kept
  }
}
