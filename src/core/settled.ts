// Two pieces of work side by side, where one must have ended before the other's end is told.

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
