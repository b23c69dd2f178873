// Calls that reach the same step in one turn of the event loop take it together, one right after the other: its code
// and its tables are then in the processor's caches for all but the first. A gateway's steps are wide, not hot, so
// going through all of them for each call as its socket is read costs a seventh more.

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
