// The calls that wait for the answer of a hub, by the limit they wait for, in the order of their
// arrival. Each waits at most a given time.

import type { Clock, Milliseconds } from '../core/clock.ts'
import type { Timers } from '../core/timers.ts'

/** How the wait of a call ends. */
export interface WaitEnd<Result> {
  /** What the call gets without a hub. */
  without(): Result
  /** What it gets now; null while it still waits. @param isRefused whether the hub said no */
  covered(isRefused: boolean): Result | null
}

/** What a call waits for: what it needs, and what it takes if there is more. */
export interface WaitingDemand {
  readonly need: number
  readonly expected: number
}

/** A wait that ends later than this was not watched: the process was busy. */
const LATE_MS: Milliseconds = 20

export interface WaitingParts {
  readonly clock: Pick<Clock, 'monotonic'>
  readonly timers: Timers
  /** Longest wait. A process that was busy at its end adds as long as that, at most once more. */
  readonly waitMs: Milliseconds
}

interface Waiting {
  readonly demand: WaitingDemand
  /** True once a request asks for it. */
  isSent: boolean
  /** Ends the wait after an answer. @returns whether it has ended */
  answered(): boolean
  giveUp(): void
}

export class WaitingCalls<State> {
  readonly #parts: WaitingParts
  readonly #queues = new Map<State, Waiting[]>()

  constructor(parts: WaitingParts) {
    this.#parts = parts
  }

  get isEmpty(): boolean {
    return this.#queues.size === 0
  }

  states(): Iterable<State> {
    return this.#queues.keys()
  }

  wait<Result>(state: State, demand: WaitingDemand, { without, covered }: WaitEnd<Result>): Promise<Result> {
    const { clock, timers, waitMs } = this.#parts
    const startedMs = clock.monotonic()
    return new Promise((resolve) => {
      const end = (result: Result) => {
        timers.clear(timer)
        resolve(result)
      }
      const waiting: Waiting = {
        demand,
        isSent: false,
        answered() {
          const result = covered(this.isSent)
          if (result === null) return false
          end(result)
          return true
        },
        giveUp: () => end(without()),
      }
      const giveUp = () => {
        this.#keep(state, (one) => one !== waiting)
        waiting.giveUp()
      }
      let timer = timers.set(() => {
        // The answer may be there, and a process that was busy has not read it.
        const lateMs = clock.monotonic() - startedMs - waitMs
        if (lateMs <= LATE_MS) giveUp()
        else timer = timers.set(giveUp, Math.min(lateMs, waitMs))
      }, waitMs)
      const queue = this.#queues.get(state)
      if (queue === undefined) this.#queues.set(state, [waiting])
      else queue.push(waiting)
    })
  }

  /** Notes that a request asks for the calls of a limit. @returns what they wait for together */
  sent(state: State): WaitingDemand {
    const sum = { need: 0, expected: 0 }
    for (const one of this.#queues.get(state) ?? []) {
      one.isSent = true
      sum.need += one.demand.need
      sum.expected += one.demand.expected
    }
    return sum
  }

  /** A later call that needs less may fit where an earlier one does not. */
  answered(state: State): void {
    this.#keep(state, (one) => !one.answered())
  }

  /** No hub answers: the calls of a limit end their wait. */
  giveUp(state: State): void {
    const queue = this.#queues.get(state) ?? []
    this.#queues.delete(state)
    for (const one of queue) one.giveUp()
  }

  #keep(state: State, test: (waiting: Waiting) => boolean): void {
    const left = (this.#queues.get(state) ?? []).filter(test)
    if (left.length > 0) this.#queues.set(state, left)
    else this.#queues.delete(state)
  }
}
