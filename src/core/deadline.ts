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
