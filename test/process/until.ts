// Waits with a deadline: a wait that takes too long fails with an error that names it.

import { setTimeout as delay } from 'node:timers/promises'

const DEADLINE_MS = 60_000
/** Calls over HTTP may scan megabytes on a busy machine. */
const HTTP_MS = 120_000
const POLL_MS = 10

const late = (what: string, deadlineMs: number) => new Error(`${what}: not within ${deadlineMs} ms`)

/** Resolves once the condition holds. @throws Error (rejects) that names it after the deadline */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  deadlineMs = DEADLINE_MS,
): Promise<void> {
  const endMs = performance.now() + deadlineMs
  while (!(await condition())) {
    if (performance.now() > endMs) throw late(what, deadlineMs)
    await delay(POLL_MS)
  }
}

/**
 * Reads a value until it is as wanted, and returns it.
 * @throws Error (rejects) that names the wait after the deadline
 */
export async function eventually<T>(
  what: string,
  read: () => T | Promise<T>,
  isWanted: (value: T) => boolean,
  deadlineMs = DEADLINE_MS,
): Promise<T> {
  let value!: T
  const look = async () => {
    value = await read()
    return isWanted(value)
  }
  await until(what, look, deadlineMs)
  return value
}

/** Settles as the promise does. @throws Error (rejects) that names it after the deadline */
export function inTime<T>(what: string, promise: Promise<T>, deadlineMs = DEADLINE_MS): Promise<T> {
  const timer = Promise.withResolvers<never>()
  const timeout = setTimeout(() => timer.reject(late(what, deadlineMs)), deadlineMs)
  return Promise.race([promise, timer.promise]).finally(() => clearTimeout(timeout))
}

/**
 * `fetch` that fails, while its body is read too, with an error that names the URL after the
 * deadline.
 */
export function fetchInTime(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  const limit = new AbortController()
  const url = input instanceof Request ? input.url : String(input)
  setTimeout(() => limit.abort(late(`the answer of ${url}`, HTTP_MS)), HTTP_MS).unref()
  const signal = init.signal ? AbortSignal.any([init.signal, limit.signal]) : limit.signal
  return fetch(input, { ...init, signal })
}
