// Writes log lines to standard output, in order. Lines that it does not take wait in a bounded
// buffer; further ones are dropped and counted. Never waits for a reader.

import { writeSync } from 'node:fs'
import type { Milliseconds } from '../core/clock.ts'
import { isReaderBusy, STDOUT, withoutWaiting, writeLast } from '../core/standard-stream.ts'
import { systemTimers, type Timers } from '../core/timers.ts'

/** Bytes of lines that wait while they cannot be written; later lines are dropped. */
const MAXIMUM_WAITING_BYTES = 1024 * 1024
/** Time to the next attempt after one that wrote something. */
const FIRST_RETRY_MS: Milliseconds = 10
/** Longest time between two attempts. */
const MAXIMUM_RETRY_MS: Milliseconds = 500

export interface LineWriterOptions {
  /** Called with the number of lines when lines are dropped. */
  readonly onDrop: (lines: number) => void
  /** Called once all waiting lines are written, with the number of lines dropped since the last. */
  readonly onRecover: (dropped: number) => void
  /** Writes some of the bytes and returns how many, or throws. */
  readonly output?: (bytes: Buffer) => number
  readonly timers?: Timers
}

export class LineWriter {
  readonly #options: LineWriterOptions
  readonly #output: (bytes: Buffer) => number
  readonly #timers: Timers
  /** The first one may be the rest of a text. */
  #waiting: Buffer[] = []
  #waitingBytes = 0
  #retry: unknown = null
  #retryMs = FIRST_RETRY_MS
  /** Lines dropped since everything was last written. */
  #dropped = 0
  /** Whether writing fails for another reason than a slow reader. */
  #failing = false

  constructor(options: LineWriterOptions) {
    this.#options = options
    this.#output = options.output ?? standardOutput()
    this.#timers = options.timers ?? systemTimers
  }

  /** Writes whole lines now, or keeps or drops all of them. */
  write(lines: string): void {
    const bytes = Buffer.from(lines)
    if (this.#waitingBytes + bytes.length > MAXIMUM_WAITING_BYTES) {
      // The disk may have room again; a reader is tried by the timer alone.
      if (this.#failing) this.#attempt()
      if (this.#waitingBytes + bytes.length > MAXIMUM_WAITING_BYTES) {
        this.#drop(lines)
        return
      }
    }
    const isFirst = this.#waitingBytes === 0
    this.#waiting.push(bytes)
    this.#waitingBytes += bytes.length
    if (isFirst || this.#failing) this.#attempt()
  }

  /** Writes what waits, as far as the output takes it within a short time. For the exit. */
  end(): void {
    writeLast(() => this.#attempt())
  }

  #drop(lines: string): void {
    let count = 0
    for (let at = lines.indexOf('\n'); at !== -1; at = lines.indexOf('\n', at + 1)) count++
    this.#dropped += count
    this.#options.onDrop(count)
  }

  /** Returns whether nothing waits any more. */
  #attempt(): boolean {
    this.#timers.clear(this.#retry)
    this.#retry = null
    if (this.#waitingBytes === 0) return true
    let written = 0
    try {
      for (; written < this.#waiting.length; written++) {
        const bytes = this.#waiting[written]!
        const taken = this.#output(bytes)
        this.#waitingBytes -= taken
        this.#retryMs = FIRST_RETRY_MS
        if (taken < bytes.length) {
          this.#waiting[written] = bytes.subarray(taken)
          break
        }
      }
    } catch (error) {
      if (!isReaderBusy(error)) this.#fail(error as NodeJS.ErrnoException)
    }
    this.#waiting.splice(0, written)
    if (this.#waitingBytes === 0) {
      this.#recover()
      return true
    }
    this.#retry = this.#timers.set(() => this.#attempt(), this.#retryMs)
    this.#retryMs = Math.min(MAXIMUM_RETRY_MS, this.#retryMs * 2)
    return false
  }

  #fail(error: NodeJS.ErrnoException): void {
    if (this.#failing) return
    this.#failing = true
    console.error(
      `sidegate: log lines cannot be written (${error.code ?? error.message}); ${MAXIMUM_WAITING_BYTES} bytes of them are kept`,
    )
  }

  #recover(): void {
    const dropped = this.#dropped
    this.#dropped = 0
    if (this.#failing) {
      this.#failing = false
      console.error(
        `sidegate: log lines are written again; ${dropped > 0 ? `${dropped} are lost` : 'none is lost'}`,
      )
    }
    if (dropped > 0) this.#options.onRecover(dropped)
  }
}

function standardOutput(): (bytes: Buffer) => number {
  const file = withoutWaiting(STDOUT)
  return (bytes) => writeSync(file, bytes)
}
