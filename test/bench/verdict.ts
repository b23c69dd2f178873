// Judges a comparison of two builds from the CPU per call of each round: ratio, spread, verdict.
// Pure: comparison.ts measures.

import { median } from './report.ts'

/** Builds whose ratio differs from 1 by no more than this count as equal. */
export const TOLERANCE = 0.03

/** CPU µs a call, one list of rounds for each process of a build. */
export type Rounds = readonly (readonly number[])[]

/** Processes that were alive together. All have the same number of rounds. */
export interface Generation {
  readonly tree: Rounds
  readonly revision: Rounds
}

export interface Verdict {
  /** CPU per call of the tree divided by that of the revision. */
  readonly ratio: number
  /** First and third quartile of the ratios of single pairs of processes. */
  readonly quartiles: readonly [number, number]
  /** Lowest and highest ratio of a single pair. */
  readonly range: readonly [number, number]
  /** The ratio of the medians over processes of each process's best round. Noisier; for reference. */
  readonly ratioOfBest: number
  /** CPU µs a call that the ratio is of the revision's median. */
  readonly differenceUs: number
  readonly withinTolerance: boolean
}

/**
 * Compares two builds by the median of the ratios of all pairs: a process of the tree and one of the
 * revision that were alive together. A process counts with the median of its rounds, each divided by
 * the median of all processes in the same round: what slows the machine for a second or a minute
 * slows all of them.
 */
export function judge(generations: readonly Generation[]): Verdict {
  const pairs = generations.flatMap(pairRatios).toSorted((a, b) => a - b)
  const at = (share: number) => pairs[Math.round((pairs.length - 1) * share)] ?? Number.NaN
  const ratio = median(pairs)
  return {
    ratio,
    quartiles: [at(0.25), at(0.75)],
    range: [at(0), at(1)],
    ratioOfBest:
      medianOfBest(generations.flatMap(({ tree }) => tree)) /
      medianOfBest(generations.flatMap(({ revision }) => revision)),
    differenceUs: (ratio - 1) * median(generations.flatMap(({ revision }) => revision.map(median))),
    withinTolerance: Math.abs(ratio - 1) <= TOLERANCE,
  }
}

/** The ratio of each process of the tree to each process of the revision. */
function pairRatios({ tree, revision }: Generation): number[] {
  const relative = relativeRounds([...tree, ...revision]).map(median)
  const ours = relative.slice(0, tree.length)
  const theirs = relative.slice(tree.length)
  return ours.flatMap((one) => theirs.map((other) => one / other))
}

/** Divides each figure by the median of its round over all processes. */
function relativeRounds(processes: Rounds): number[][] {
  const rounds = processes[0]?.map((_, index) => median(processes.map((one) => one[index]!))) ?? []
  return processes.map((one) => one.map((value, index) => value / rounds[index]!))
}

/** The median over processes of each process's best round. */
export const medianOfBest = (processes: Rounds): number => median(processes.map((one) => Math.min(...one)))

/**
 * Returns the items in random order (Fisher–Yates).
 * @param random returns a number from 0 to 1, 1 excluded
 */
export function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const order = [...items]
  for (let last = order.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1))
    const kept = order[last]!
    order[last] = order[other]!
    order[other] = kept
  }
  return order
}
