// Waiting for something no longer than a while. Knows nothing of what is waited for.

import type { Milliseconds } from './clock.ts'

/** Waits for the promise at most so long; true when it resolved in time. Rejects as the promise does. */
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
 * What `first` settles to, once `other` has settled too; of `other` nothing is told. For each call: `Promise.allSettled` makes
 * a list and objects, and takes ten times as long.
 */
export async function settledWith<T>(first: Promise<T>, other: Promise<unknown>): Promise<T> {
  // At once: a rejection that nobody listens to would end the process.
  const otherEnded = other.catch(() => {})
  try {
    return await first
  } finally {
    await otherEnded
  }
}
