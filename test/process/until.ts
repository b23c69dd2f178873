// Waits with a deadline: a wait that never ends fails with its name.

import { setTimeout as delay } from 'node:timers/promises'

const DEADLINE_MS = 60_000
const POLL_MS = 10

/** Resolves once the condition holds. @throws Error (rejects) that names it after the deadline */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  deadlineMs = DEADLINE_MS,
): Promise<void> {
  const endMs = performance.now() + deadlineMs
  while (!(await condition())) {
    if (performance.now() > endMs) throw new Error(`${what}: not within ${deadlineMs} ms`)
    await delay(POLL_MS)
  }
}

/** Settles as the promise does. @throws Error (rejects) that names it after the deadline */
export function inTime<T>(what: string, promise: Promise<T>, deadlineMs = DEADLINE_MS): Promise<T> {
  const timer = Promise.withResolvers<never>()
  const timeout = setTimeout(
    () => timer.reject(new Error(`${what}: not within ${deadlineMs} ms`)),
    deadlineMs,
  )
  return Promise.race([promise, timer.promise]).finally(() => clearTimeout(timeout))
}
