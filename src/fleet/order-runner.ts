// Applies the orders of erasure of a sidecar, one after the other, and tries again when one fails.

import type { Milliseconds } from '../core/clock.ts'
import type { Timers } from '../core/timers.ts'
import type { PendingOrder } from '../keys/fleet-state.ts'
import { withApplied } from './order-book.ts'
import type { SidecarMemory } from './sidecar-memory.ts'

/** Time after which an order that failed is tried again. */
const RETRY_MS: Milliseconds = 5000

export interface OrderRunnerParts {
  readonly memory: Pick<SidecarMemory, 'state' | 'update'>
  readonly timers: Timers
  /**
   * Erases what an order selects, and seals that the log has passed it. May be called again for an
   * order that was applied.
   */
  readonly erase: (order: PendingOrder) => Promise<unknown>
  /** An order is applied: the state is to be saved and acknowledged. */
  readonly onApplied: () => void
  /** An order could not be applied; it is tried again. */
  readonly onError: (error: unknown) => void
}

export class OrderRunner {
  readonly #parts: OrderRunnerParts
  #running: Promise<void> | null = null
  #isStopped = false
  #retry: unknown = null

  constructor(parts: OrderRunnerParts) {
    this.#parts = parts
  }

  /** Applies what waits. Call it at start and whenever an order may have come. */
  wake(): void {
    if (this.#isStopped || this.#running !== null || this.#parts.memory.state.orders.length === 0) return
    this.#parts.timers.clear(this.#retry)
    this.#running = this.#run().finally(() => {
      this.#running = null
    })
  }

  /** Resolves once no order is being applied. What waits is applied after the next start. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#parts.timers.clear(this.#retry)
    await this.#running
  }

  async #run(): Promise<void> {
    const { memory, erase, timers, onApplied, onError } = this.#parts
    for (let order = memory.state.orders[0]; order !== undefined; order = memory.state.orders[0]) {
      if (this.#isStopped) return
      try {
        await erase(order)
      } catch (error) {
        onError(error)
        if (!this.#isStopped) this.#retry = timers.set(() => this.wake(), RETRY_MS)
        return
      }
      memory.update(withApplied(memory.state, order.id))
      onApplied()
    }
  }
}
