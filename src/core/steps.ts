// Long work in steps: after each of them other work may come in between. What is worked on here is pure; when it goes on
// is for whoever runs it to say.

import type { Clock, Milliseconds } from './clock.ts'

/** Work that may be left at each yield. All that it needs to go on it holds itself. */
export type Steps<Result> = Generator<undefined, Result>

/** Text that one step takes in, UTF-16 units, about: a millisecond or two of searching. */
export const STEP_UNITS = 32_768

/** Counts short pieces of text together into steps. */
export class Pace {
  #units = 0

  /** Whether a step is over with so many units more. */
  isOver(units: number): boolean {
    this.#units += units
    if (this.#units < STEP_UNITS) return false
    this.#units = 0
    return true
  }
}

/** Work that is long goes on for so much of each turn of the event loop, and a step more. */
const SLICE_MS: Milliseconds = 2

/** Pieces of work that wait for a turn of their own: at most one for each call that is under way or being judged on trial. */
const waiting: (() => void)[] = []

/** The result, without a pause. */
export function atOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/**
 * The result, at once where that takes no longer than a slice. What takes longer goes on a slice at a time, and all
 * work that does shares one slice a turn: in between, other calls and streams go on as if it were not there.
 * @param check runs after each pause; what it throws ends the work
 */
export async function inSlices<Result>(
  steps: Steps<Result>,
  clock: Pick<Clock, 'monotonic'>,
  check: () => void = () => {},
): Promise<Result> {
  let endMs = clock.monotonic() + SLICE_MS
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
    if (clock.monotonic() < endMs) continue
    await nextSlice()
    check()
    endMs = clock.monotonic() + SLICE_MS
  }
}

/** Resolves in a turn to come, in the order of asking, for one a turn. */
function nextSlice(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    if (waiting.length === 1) setImmediate(takeTurn)
  })
}

function takeTurn(): void {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(takeTurn)
}

let end: Promise<void> | null = null

/** Resolves when everything that this turn of the event loop has brought in has been read, for all that wait at once. */
export function endOfTurn(): Promise<void> {
  end ??= new Promise((resolve) => {
    setImmediate(() => {
      end = null
      resolve()
    })
  })
  return end
}
