// Writes to standard output and standard error without waiting for their reader. A pipe that nobody
// reads and a stopped terminal otherwise block the whole process.

import { constants, openSync, writeSync } from 'node:fs'
import { isatty } from 'node:tty'
import type { Milliseconds } from './clock.ts'

export const STDOUT = 1
export const STDERR = 2

/** Longest wait of `writeLast` for a reader. */
const LAST_MS: Milliseconds = 500
/** Time between two attempts of `writeLast`. */
const ATTEMPT_MS: Milliseconds = 5

/**
 * Returns a descriptor of the stream on which `writeSync` fails with EAGAIN where it would wait for
 * a reader. Files are written as before. Call it once for a stream.
 */
export function withoutWaiting(stream: typeof STDOUT | typeof STDERR): number {
  if (isatty(stream)) {
    try {
      // A description of its own: the shell shares the other one.
      const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants
      return openSync(`/dev/fd/${stream}`, O_WRONLY | O_NONBLOCK | O_NOCTTY)
    } catch {
      return stream
    }
  }
  // Node opens the stream, and libuv makes pipes and sockets non-blocking (uv_pipe_open). Opening
  // their path again would fail where another user made them.
  void (stream === STDOUT ? process.stdout : process.stderr)
  return stream
}

/** Reports that a write failed because the reader takes no more now. */
export const isReaderBusy = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'EAGAIN'

/**
 * Runs an attempt to write until it reports success, for a process that ends. Blocks the event loop
 * for at most LAST_MS.
 */
export function writeLast(attempt: () => boolean): void {
  const endMs = performance.now() + LAST_MS
  const pause = new Int32Array(new SharedArrayBuffer(4))
  while (!attempt() && performance.now() < endMs) Atomics.wait(pause, 0, 0, ATTEMPT_MS)
}

/** Writes the last words of a process to standard error, as far as a reader takes them in time. */
export function writeLastWords(text: string): void {
  const bytes = Buffer.from(text)
  const file = withoutWaiting(STDERR)
  let at = 0
  writeLast(() => {
    try {
      at += writeSync(file, bytes, at)
      return at === bytes.length
    } catch (error) {
      return !isReaderBusy(error)
    }
  })
}
