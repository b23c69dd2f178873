// Tells the hub what is applied: at once after a change, one acknowledgement at a time, and at least
// every few seconds.

import type { Milliseconds } from '../core/clock.ts'
import { within } from '../core/deadline.ts'
import type { Timers } from '../core/timers.ts'
import { HubRefusal } from './hub-requests.ts'
import { type Acknowledgement, CONTACT_MS, MAXIMUM_ACK_ITEMS, type Refusal } from './protocol.ts'
import { printUses, type SidecarMemory } from './sidecar-memory.ts'

/** Time to wait for the disk before an acknowledgement says that it has not written. */
const DURABLE_MS: Milliseconds = 200
/** Time after which an acknowledgement that failed is sent again. */
const RETRY_MS: Milliseconds = 200
const MAXIMUM_REASON_CHARACTERS = 512

export interface AcknowledgerParts {
  readonly memory: SidecarMemory
  readonly timers: Timers
  /** Events that are not in force. */
  readonly unknown: readonly Refusal[]
  /** Posts to the hub of the open feed; rejects without an answer. */
  readonly post: (ack: Acknowledgement) => Promise<void>
  /** The hub refuses acknowledgements. */
  readonly onRefusal: (problem: string) => void
}

export class Acknowledger {
  readonly #parts: AcknowledgerParts
  #isOpen = false
  #isWanted = false
  #isRunning = false
  #timer: unknown = null

  constructor(parts: AcknowledgerParts) {
    this.#parts = parts
  }

  /** A feed is open. */
  open(): void {
    this.#isOpen = true
  }

  /** The feed has ended: there is nobody to tell. */
  close(): void {
    this.#isOpen = false
    this.#isWanted = false
    this.#parts.timers.clear(this.#timer)
  }

  /** Acknowledges what is applied now; with one under way, after it. */
  request(): void {
    this.#isWanted = true
    if (!this.#isRunning) void this.#run()
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    let delayMs = CONTACT_MS
    while (this.#isWanted) {
      this.#isWanted = false
      if (!(await this.#send())) {
        delayMs = RETRY_MS
        break
      }
      delayMs = CONTACT_MS
    }
    this.#isRunning = false
    this.#schedule(delayMs)
  }

  #schedule(delayMs: Milliseconds): void {
    const { timers } = this.#parts
    timers.clear(this.#timer)
    if (!this.#isOpen) return
    if (this.#isWanted) this.request()
    else this.#timer = timers.set(() => this.request(), delayMs)
  }

  /** @returns whether the hub has answered */
  async #send(): Promise<boolean> {
    const { memory, post, onRefusal } = this.#parts
    const { keys } = memory
    // A revision that the disk does not have yet is acknowledged as such.
    const rev = keys.position?.rev
    let durable = false
    let isLate = false
    const saving = memory.save().then((saved) => {
      durable = saved
      if (saved && isLate && this.#isOpen) this.request()
    })
    isLate = !(await within(saving, DURABLE_MS))
    if (rev === undefined || !this.#isOpen) return true
    const uses = memory.uses(MAXIMUM_ACK_ITEMS)
    try {
      await post({
        rev,
        durable,
        nack: this.#refusals(),
        last_used: printUses(uses),
        conflicts: keys.conflicts().slice(0, MAXIMUM_ACK_ITEMS),
      })
      memory.forgetUses(uses)
      return true
    } catch (error) {
      if (!(error instanceof HubRefusal)) return false
      onRefusal(error.message)
      return true
    }
  }

  #refusals(): Refusal[] {
    return [...this.#parts.unknown, ...this.#parts.memory.keys.refusals()]
      .slice(0, MAXIMUM_ACK_ITEMS)
      .map(({ rev, reason }) => ({ rev, reason: reason.slice(0, MAXIMUM_REASON_CHARACTERS) }))
  }
}
