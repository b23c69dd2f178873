// Timers that run when the test says so.

import type { Timers } from '../../src/core/timers.ts'

interface Waiting {
  readonly callback: () => void
  readonly dueMs: number
}

export class ManualTimers implements Timers {
  #nowMs = 0
  readonly #timers = new Set<Waiting>()

  set(callback: () => void, delayMs: number): unknown {
    const timer = { callback, dueMs: this.#nowMs + delayMs }
    this.#timers.add(timer)
    return timer
  }

  clear(timer: unknown): void {
    this.#timers.delete(timer as Waiting)
  }

  get waiting(): number {
    return this.#timers.size
  }

  /** Runs what falls due, in order, including what is set meanwhile. */
  advance(spanMs: number): void {
    const untilMs = this.#nowMs + spanMs
    for (;;) {
      const next = [...this.#timers].sort((a, b) => a.dueMs - b.dueMs)[0]
      if (next === undefined || next.dueMs > untilMs) break
      this.#nowMs = next.dueMs
      this.#timers.delete(next)
      next.callback()
    }
    this.#nowMs = untilMs
  }
}
