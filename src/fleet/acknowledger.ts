// Acknowledges what is applied: at once after a change, one acknowledgement at a time, and at least
// every few seconds.

import type { Milliseconds } from '../core/clock.ts'
import { within } from '../core/deadline.ts'
import { visibleLine } from '../core/hidden-characters.ts'
import type { Timers } from '../core/timers.ts'
import { HubRefusal } from './hub-requests.ts'
import {
  type Acknowledgement,
  CONTACT_MS,
  MAXIMUM_ACK_ITEMS,
  MAXIMUM_CONFLICTS,
  MAXIMUM_NACKS,
  type Nack,
} from './protocol.ts'
import { printUses, type SidecarMemory } from './sidecar-memory.ts'

/** Time to wait for the disk before an acknowledgement says that it has not written. */
const DURABLE_MS: Milliseconds = 200
/** Time after which an acknowledgement that failed is sent again. */
const RETRY_MS: Milliseconds = 200
const MAXIMUM_REASON_CHARACTERS = 512
/** Longest name of a rule, and longest path in it. */
const MAXIMUM_PLACE_CHARACTERS = 256

export interface AcknowledgerParts {
  readonly memory: SidecarMemory
  readonly timers: Timers
  /** Events that are not in force. */
  readonly unknown: readonly Nack[]
  /** Posts to the hub of the open feed; rejects without an answer. */
  readonly post: (ack: Acknowledgement, signal: AbortSignal) => Promise<void>
  /** The hub refuses acknowledgements. */
  readonly onRefusal: (problem: string) => void
}

export class Acknowledger {
  readonly #parts: AcknowledgerParts
  /** Ends the acknowledgements to the hub of the open feed; null without one. */
  #feed: AbortController | null = null
  #isWanted = false
  #isRunning = false
  #failures = 0
  #timer: unknown = null

  constructor(parts: AcknowledgerParts) {
    this.#parts = parts
  }

  /** A feed is open, and what is applied here is of its history. */
  open(): void {
    this.#feed ??= new AbortController()
  }

  /** The feed has ended: there is nobody to tell. */
  close(): void {
    this.#feed?.abort()
    this.#feed = null
    this.#isWanted = false
    this.#failures = 0
    this.#parts.timers.clear(this.#timer)
  }

  /** Acknowledges what is applied now; with one under way, after it. */
  request(): void {
    this.#isWanted = true
    if (!this.#isRunning) void this.#run()
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#isWanted) {
      this.#isWanted = false
      this.#failures = (await this.#send()) ? 0 : this.#failures + 1
      // The hub may have closed a connection that was kept.
      if (this.#failures === 1) this.#isWanted = true
      else if (this.#failures > 1) break
    }
    this.#isRunning = false
    this.#schedule()
  }

  #schedule(): void {
    const { timers } = this.#parts
    timers.clear(this.#timer)
    if (this.#feed === null) return
    const delayMs = this.#failures > 0 ? RETRY_MS : CONTACT_MS
    this.#timer = timers.set(() => this.request(), delayMs)
  }

  /** @returns whether there was nothing to say, or the hub has answered */
  async #send(): Promise<boolean> {
    const { memory, post, onRefusal } = this.#parts
    const { position } = memory.keys
    const rev = memory.appliedRev
    const isDurable = await this.#save()
    const feed = this.#feed
    if (feed === null || position === null || memory.keys.position?.epoch !== position.epoch) return true
    const uses = memory.uses(MAXIMUM_ACK_ITEMS)
    try {
      const ack: Acknowledgement = {
        ...{ epoch: position.epoch, rev },
        durable: isDurable,
        nack: this.#refusals(),
        last_used: printUses(uses),
        conflicts: memory.keys.conflicts().slice(0, MAXIMUM_CONFLICTS),
      }
      await post(ack, feed.signal)
      memory.forgetUses(uses)
      return true
    } catch (error) {
      if (!(error instanceof HubRefusal)) return false
      onRefusal(error.message)
      return true
    }
  }

  /** @returns whether the disk has everything; a write that ends later is acknowledged then */
  async #save(): Promise<boolean> {
    let isDurable = false
    let isLate = false
    const saving = this.#parts.memory.save().then((saved) => {
      isDurable = saved
      if (saved && isLate && this.#feed !== null) this.request()
    })
    isLate = !(await within(saving, DURABLE_MS))
    return isDurable
  }

  #refusals(): Nack[] {
    return [...this.#parts.unknown, ...this.#parts.memory.refusals()]
      .slice(0, MAXIMUM_NACKS)
      .map(({ rev, reason, rule, path }) => ({
        rev,
        reason: printable(reason, MAXIMUM_REASON_CHARACTERS),
        ...(rule !== undefined && { rule: printable(rule, MAXIMUM_PLACE_CHARACTERS) }),
        ...(path !== undefined && { path: printable(path, MAXIMUM_PLACE_CHARACTERS) }),
      }))
  }
}

const printable = (text: string, maximum: number): string =>
  visibleLine(text).slice(0, maximum).toWellFormed()
