// Finds the reason of a failed commit.

import { setImmediate as nextTurn } from 'node:timers/promises'

/**
 * The library puts the reason of a failed commit on a separate promise, which would end the process
 * if unhandled. It rejects in the same event turn or never.
 */
export async function commitFailure(error: unknown): Promise<unknown> {
  const { commitError } = error as { commitError?: Promise<never> }
  if (commitError === undefined) return error
  return Promise.race([commitError.catch((reason: unknown) => reason), nextTurn(error)])
}
