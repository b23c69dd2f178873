// Since when a database cannot be reached, over all connections to it. A database that was never
// reached has no such time.

import type { Clock, Milliseconds } from '../core/clock.ts'

export class Outage {
  readonly #clock: Pick<Clock, 'now'>
  #wasReached = false
  #sinceMs: Milliseconds | null = null

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  /** Null while the database answers. */
  get sinceMs(): Milliseconds | null {
    return this.#sinceMs
  }

  answered(): void {
    this.#wasReached = true
    this.#sinceMs = null
  }

  failed(): void {
    if (this.#wasReached) this.#sinceMs ??= this.#clock.now()
  }
}
