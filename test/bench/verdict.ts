// Judges a comparison of two builds from the CPU per call of each round: ratio, spread, verdict.
// Pure: comparison.ts measures.

import { median } from './report.ts'

/** Builds whose ratio differs from 1 by no more than this count as equal. */
export const TOLERANCE = 0.03

/**
 * CPU µs a call, one list of rounds for each process of a build. Each process has the same number.
 */
export type Rounds = readonly (readonly number[])[]

export interface Verdict {
  /** CPU per call of the tree divided by that of the revision. */
  readonly ratio: number
  /** Lowest and highest ratio of one process of the tree to one process of the revision. */
  readonly spread: readonly [number, number]
  /** The same ratio from the best round of each process. Noisier; for reference. */
  readonly ratioOfBest: number
  readonly withinTolerance: boolean
}

/**
 * Compares two builds by the median over their processes. A process counts with the median of its
 * rounds, each divided by the median of all processes in the same round: what slows the machine for
 * a second or a minute slows all of them. The best round of a process varies three times as much.
 */
export function judge(tree: Rounds, revision: Rounds): Verdict {
  const relative = relativeRounds([...tree, ...revision]).map(median)
  const ours = relative.slice(0, tree.length)
  const theirs = relative.slice(tree.length)
  const pairs = ours.flatMap((one) => theirs.map((other) => one / other))
  const ratio = median(ours) / median(theirs)
  return {
    ratio,
    spread: [Math.min(...pairs), Math.max(...pairs)],
    ratioOfBest: medianOfBest(tree) / medianOfBest(revision),
    withinTolerance: Math.abs(ratio - 1) <= TOLERANCE,
  }
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
