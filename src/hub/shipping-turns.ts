// Lets a few bodies of sidecars be read and checked at a time. The others stay unread on their
// connections, and those that are too many are refused.

import type { Milliseconds } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import type { Timers } from '../core/timers.ts'
import { Slots } from './slots.ts'

/** Bodies at a time. With more, revocations wait for them. */
const MAXIMUM_BODIES = 4
/** Bodies with a long exchange among them: each takes several times its bytes. */
const MAXIMUM_LONG_BODIES = 1
/** Requests that wait. */
const MAXIMUM_WAITING = 2000
/** Requests of one sidecar, whose logs have one each. */
const MAXIMUM_OF_SIDECAR = 4
/** Longest time before a turn: with that of the body it is below the limit of the listener. */
const WAIT_MS: Milliseconds = 30_000
const RETRY_AFTER_SECONDS = '1'

export class ShippingTurns {
  readonly #timers: Timers
  readonly #bodies = new Slots(MAXIMUM_BODIES)
  readonly #longBodies = new Slots(MAXIMUM_LONG_BODIES)
  readonly #ofSidecar = new Map<string, number>()
  #count = 0

  constructor(timers: Timers) {
    this.#timers = timers
  }

  /**
   * Waits for a turn, for a limited time.
   * @returns ends it
   * @throws GatewayError (rejects) `overloaded`
   */
  async take(sidecar: string, isLong: boolean): Promise<() => void> {
    const own = this.#ofSidecar.get(sidecar) ?? 0
    if (own >= MAXIMUM_OF_SIDECAR || this.#count >= MAXIMUM_WAITING) throw overloaded()
    this.#count++
    this.#ofSidecar.set(sidecar, own + 1)
    const leave = () => {
      this.#count--
      const left = this.#ofSidecar.get(sidecar)! - 1
      if (left === 0) this.#ofSidecar.delete(sidecar)
      else this.#ofSidecar.set(sidecar, left)
    }
    try {
      const release = await this.#inTime(this.#slots(isLong))
      return () => {
        release()
        leave()
      }
    } catch (error) {
      leave()
      throw error
    }
  }

  async #slots(isLong: boolean): Promise<() => void> {
    const releaseLong = isLong ? await this.#longBodies.take() : () => {}
    const release = await this.#bodies.take()
    return () => {
      release()
      releaseLong()
    }
  }

  /** Gives slots back that come too late. @throws GatewayError (rejects) `overloaded` */
  #inTime(slots: Promise<() => void>): Promise<() => void> {
    return new Promise((resolve, reject) => {
      let isLate = false
      const timer = this.#timers.set(() => {
        isLate = true
        reject(overloaded())
      }, WAIT_MS)
      void slots.then((release) => {
        this.#timers.clear(timer)
        if (isLate) release()
        else resolve(release)
      })
    })
  }
}

const overloaded = (): GatewayError =>
  new GatewayError('overloaded', 'Too many shipments wait; send the entries again.', {
    headers: { 'retry-after': RETRY_AFTER_SECONDS },
  })
