// Waits for promises: with a time limit, or for one after another.

import type { Milliseconds } from './clock.ts'

/**
 * Waits for the promise, at most `limitMs`.
 * @returns whether it resolved in time
 * @throws what the promise rejects with
 */
export async function within(promise: Promise<void>, limitMs: Milliseconds): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), limitMs)
  })
  try {
    return await Promise.race([promise.then(() => true), late])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Settles as `first` does, once `other` has settled too. Ignores the result of `other`.
 * `Promise.allSettled` allocates a list and objects and takes ten times as long.
 */
export async function settledWith<T>(first: Promise<T>, other: Promise<unknown>): Promise<T> {
  // Attached before the first await: an unhandled rejection would end the process.
  const otherSettled = other.catch(() => {})
  try {
    return await first
  } finally {
    await otherSettled
  }
}
