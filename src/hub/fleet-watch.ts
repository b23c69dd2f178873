// Follows the database: reads what changed when a notification arrives, and twice a second in any
// case, because a notification may be lost.

import type { Milliseconds } from '../core/clock.ts'
import type { FleetReading } from '../ledger/fleet-reading.ts'

/** Interval of readings without a notification. */
const POLL_MS: Milliseconds = 500

interface FleetWatchParts {
  readonly read: () => Promise<FleetReading>
  /** Takes what was read, in order. */
  readonly take: (reading: FleetReading) => void
  /** Called when readings begin to fail, and with null when they succeed again. */
  readonly onState: (error: unknown) => void
}

export class FleetWatch {
  readonly #parts: FleetWatchParts
  #running: Promise<void> | null = null
  #next: Promise<void> | null = null
  #timer: NodeJS.Timeout | null = null
  #isFailing = false

  constructor(parts: FleetWatchParts) {
    this.#parts = parts
  }

  /** Reads for the first time, and regularly from then on. @throws as `read` (rejects) */
  async start(): Promise<void> {
    await this.catchUp()
    this.#timer = setInterval(() => this.wake(), POLL_MS).unref()
  }

  /** Reads soon. */
  wake(): void {
    this.catchUp().catch(() => {})
  }

  /**
   * Resolves once everything that was in the database at the time of the call has been taken.
   * Callers that wait at the same time share a reading.
   * @throws as `read` (rejects)
   */
  catchUp(): Promise<void> {
    if (this.#running === null) {
      this.#running = this.#read().finally(() => {
        this.#running = null
      })
      return this.#running
    }
    // The reading that runs may have begun before.
    this.#next ??= this.#running
      .catch(() => {})
      .then(() => {
        this.#next = null
        return this.catchUp()
      })
    return this.#next
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
  }

  async #read(): Promise<void> {
    try {
      const reading = await this.#parts.read()
      this.#report(null)
      this.#parts.take(reading)
    } catch (error) {
      this.#report(error)
      throw error
    }
  }

  #report(error: unknown): void {
    const isFailing = error !== null
    if (isFailing === this.#isFailing) return
    this.#isFailing = isFailing
    this.#parts.onState(error)
  }
}
