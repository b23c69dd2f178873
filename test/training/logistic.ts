// Learns the weights of hashed features by logistic regression with an L2 penalty. Dual coordinate
// descent (Yu, Huang, Lin 2011) runs to convergence, so that the order of the texts does not matter.

import { CELLS, CHECK_MASK, cellOf, scaleOf } from '../../src/detect/injection/features.ts'
import type { Random } from './phrases.ts'

/** A text or a part of one: the keys of its features, its label and its weight. */
export interface Example {
  readonly keys: Int32Array
  readonly label: 0 | 1
  readonly weight: number
}

/** Weights by key, zero for features that were not learned. */
export interface Learned {
  readonly weights: Float64Array
  readonly bias: number
}

/** Number of keys. A key is a cell with its check, so that all features of one key are one. */
export const KEYS = CELLS * (CHECK_MASK + 1)

export const keyOf = (hash: number): number => cellOf(hash) * (CHECK_MASK + 1) + (hash & CHECK_MASK)

const ROUNDS_MAX = 60
/** Largest gradient at which the weights count as converged. */
const TOLERANCE = 0.05
const NEWTON_STEPS_MAX = 100

/**
 * Examples as rows of one sparse matrix. A key that a text has twice is twice in its row. The keys
 * in use are numbered without gaps, so that their weights stay in the processor's cache.
 */
interface Matrix {
  /** Key of each column. */
  readonly keys: Int32Array
  readonly starts: Int32Array
  readonly columns: Int32Array
  /** Value of each entry of a row. */
  readonly scales: Float64Array
  /** Squared length of each row with the constant 1 for the bias. */
  readonly lengths: Float64Array
}

/**
 * Learns from the features that `used` marks.
 * @param cost the weight of the loss against the penalty
 */
export function learn(examples: readonly Example[], used: Uint8Array, cost: number, random: Random): Learned {
  const matrix = matrixOf(examples, used)
  const { starts, columns, scales, lengths } = matrix
  const size = examples.length
  const weights = new Float64Array(matrix.keys.length)
  let bias = 0
  // The two dual variables of each example; they sum to its cost.
  const duals = new Float64Array(2 * size)
  const order = Int32Array.from(examples.keys())
  for (const [row, { label, weight }] of examples.entries()) {
    const limit = cost * weight
    const first = Math.min(0.001 * limit, 1e-8)
    duals[2 * row] = first
    duals[2 * row + 1] = limit - first
    const step = label === 1 ? first : -first
    bias += step
    const end = starts[row + 1] as number
    for (let at = starts[row] as number; at < end; at++)
      weights[columns[at] as number]! += step * (scales[row] as number)
  }
  let inner = 1e-2
  for (let round = 0; round < ROUNDS_MAX; round++) {
    shuffle(order, random)
    let newtonSteps = 0
    let largest = 0
    for (const row of order) {
      const { label, weight } = examples[row] as Example
      const limit = cost * weight
      const sign = label === 1 ? 1 : -1
      const scale = scales[row] as number
      const from = starts[row] as number
      const end = starts[row + 1] as number
      let sum = 0
      for (let at = from; at < end; at++) sum += weights[columns[at] as number] as number
      const margin = sign * (sum * scale + bias)
      const length = lengths[row] as number
      const isFirst = 0.5 * length * (duals[2 * row + 1]! - duals[2 * row]!) + margin >= 0
      const one = isFirst ? 2 * row : 2 * row + 1
      const slope = isFirst ? margin : -margin
      const old = duals[one] as number
      let dual = limit - old < 0.5 * limit ? 0.1 * old : old
      let gradient = length * (dual - old) + slope + Math.log(dual / (limit - dual))
      largest = Math.max(largest, Math.abs(gradient))
      let steps = 0
      while (Math.abs(gradient) >= inner && steps < NEWTON_STEPS_MAX) {
        const next = dual - gradient / (length + limit / (limit - dual) / dual)
        dual = next <= 0 ? 0.1 * dual : next
        gradient = length * (dual - old) + slope + Math.log(dual / (limit - dual))
        steps++
      }
      if (steps === 0) continue
      newtonSteps += steps
      duals[one] = dual
      duals[isFirst ? 2 * row + 1 : 2 * row] = limit - dual
      const change = (isFirst ? dual - old : old - dual) * sign
      bias += change
      for (let at = from; at < end; at++) weights[columns[at] as number]! += change * scale
    }
    if (largest < TOLERANCE) break
    if (newtonSteps <= size / 10) inner = Math.max(1e-8, 0.1 * inner)
  }
  const all = new Float64Array(KEYS)
  for (const [column, key] of matrix.keys.entries()) all[key] = weights[column] as number
  return { weights: all, bias }
}

function matrixOf(examples: readonly Example[], used: Uint8Array): Matrix {
  const size = examples.length
  const starts = new Int32Array(size + 1)
  const columns = new Int32Array(examples.reduce((sum, { keys }) => sum + keys.length, 0))
  const scales = new Float64Array(size)
  const lengths = new Float64Array(size)
  const keysInUse = keysIn(used)
  const columnOf = new Int32Array(KEYS)
  for (const [column, key] of keysInUse.entries()) columnOf[key] = column
  const times = new Uint8Array(keysInUse.length)
  let end = 0
  for (const [row, { keys }] of examples.entries()) {
    for (const key of keys) if (used[key] === 1) columns[end++] = columnOf[key] as number
    starts[row + 1] = end
    const entries = columns.subarray(starts[row], end)
    scales[row] = scaleOf(entries.length)
    for (const key of entries) times[key]!++
    let squares = 0
    for (const key of entries) squares += times[key] as number
    for (const key of entries) times[key] = 0
    lengths[row] = squares * (scales[row] as number) ** 2 + 1
  }
  return { keys: keysInUse, starts, columns, scales, lengths }
}

/** Returns the marked keys in order. */
function keysIn(used: Uint8Array): Int32Array {
  const keys = new Int32Array(used.reduce((sum, mark) => sum + mark, 0))
  let end = 0
  for (let key = 0; key < KEYS; key++) if (used[key] === 1) keys[end++] = key
  return keys
}

function shuffle(items: Int32Array, random: Random): void {
  for (let index = 0; index < items.length; index++) {
    const other = index + Math.floor(random() * (items.length - index))
    const item = items[index] as number
    items[index] = items[other] as number
    items[other] = item
  }
}

/** Marks the features of at least `least` of the texts. */
export function frequent(texts: Iterable<Int32Array>, least: number): Uint8Array {
  const counts = new Uint8Array(KEYS)
  for (const keys of texts) for (const key of keys) if (counts[key]! < 255) counts[key]!++
  for (let key = 0; key < KEYS; key++) counts[key] = counts[key]! >= least ? 1 : 0
  return counts
}

/** Marks the feature with the largest weight of each cell, and of those at most `most`. */
export function strongest({ weights }: Learned, most: number): Uint8Array {
  const best: number[] = []
  for (let cell = 0; cell < CELLS; cell++) {
    let key = cell * (CHECK_MASK + 1)
    for (let other = key; other < (cell + 1) * (CHECK_MASK + 1); other++)
      if (Math.abs(weights[other] as number) > Math.abs(weights[key] as number)) key = other
    if (weights[key] !== 0) best.push(key)
  }
  best.sort((one, other) => Math.abs(weights[other] as number) - Math.abs(weights[one] as number))
  const used = new Uint8Array(KEYS)
  for (const key of best.slice(0, most)) used[key] = 1
  return used
}

/** Returns the margin of a text with these keys. */
export function marginOf({ weights, bias }: Learned, keys: Int32Array): number {
  let sum = 0
  let count = 0
  for (const key of keys) {
    const weight = weights[key] as number
    if (weight === 0) continue
    sum += weight
    count++
  }
  return bias + sum * scaleOf(count)
}
