// Splits long computations into steps, so that they share the event loop with other calls.

import type { Clock, Milliseconds } from './clock.ts'

/** A computation that can pause at each yield. It keeps its own state. */
export type Steps<Result> = Generator<undefined, Result>

/** Approximate text per step, UTF-16 code units: one or two milliseconds of scanning. */
export const STEP_UNITS = 32_768

/** What a text takes besides its characters, as characters. */
const TEXT_UNITS = 32

/** Groups short texts into steps. */
export class Pace {
  #units = 0

  /** Adds a text of `units` to the step and reports whether the step is complete. */
  isOver(units: number): boolean {
    this.#units += units + TEXT_UNITS
    if (this.#units < STEP_UNITS) return false
    this.#units = 0
    return true
  }
}

/** Time per turn of the event loop that all long computations share, besides one step. */
const SLICE_MS: Milliseconds = 2

/**
 * Computations that wait for a turn: at most one for each call in flight or in shadow evaluation.
 */
const waiting: (() => void)[] = []

/** Runs all steps without a pause. */
export function atOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/**
 * Runs the steps one slice at a time. All long computations together get one slice per turn of the
 * event loop, in the order in which they wait.
 * @param check runs before each slice; an error that it throws ends the computation
 */
export async function inSlices<Result>(
  steps: Steps<Result>,
  clock: Pick<Clock, 'monotonic'>,
  check: () => void = () => {},
): Promise<Result> {
  for (;;) {
    await nextSlice()
    check()
    const step = runSlice(steps, clock)
    if (step.done === true) return step.value
  }
}

/**
 * Works like `inSlices`, but runs the first slice at once. For the pieces of streams: most take
 * less than a slice.
 * @returns a promise only for a computation of more than one slice
 */
export function nowOrInSlices<Result>(
  steps: Steps<Result>,
  clock: Pick<Clock, 'monotonic'>,
  check: () => void = () => {},
): Result | Promise<Result> {
  check()
  const step = runSlice(steps, clock)
  return step.done === true ? step.value : inSlices(steps, clock, check)
}

/** Runs the steps until the end of a slice, or of the computation. */
function runSlice<Result>(
  steps: Steps<Result>,
  clock: Pick<Clock, 'monotonic'>,
): IteratorResult<undefined, Result> {
  const endMs = clock.monotonic() + SLICE_MS
  let step = steps.next()
  while (step.done !== true && clock.monotonic() < endMs) step = steps.next()
  return step
}

/** Resolves in a later turn, first come, first served, one computation per turn. */
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

/**
 * Resolves after all I/O of this turn of the event loop has been read. All callers of one turn
 * share the promise.
 */
export function endOfTurn(): Promise<void> {
  end ??= new Promise((resolve) => {
    setImmediate(() => {
      end = null
      resolve()
    })
  })
  return end
}
