// Budget of a counted resource, such as bytes of memory.

import type { Milliseconds } from './clock.ts'

interface Waiting {
  readonly amount: number
  readonly grant: () => void
}

/** A fixed amount, shared by any number of callers in one event loop. */
export class Budget {
  readonly size: number
  #taken = 0
  /** In order of arrival. */
  #waiting: Waiting[] = []

  constructor(size: number) {
    this.size = size
  }

  /**
   * Takes the amount if that much is free; takes nothing otherwise.
   * @returns whether it was taken
   */
  take(amount: number): boolean {
    if (this.#taken + amount > this.size) return false
    this.#taken += amount
    return true
  }

  /** Returns an amount that `take` took, and grants it to callers that wait. */
  release(amount: number): void {
    this.#taken -= amount
    this.#grantWaiting()
  }

  #grantWaiting(): void {
    for (let next = this.#waiting[0]; next !== undefined && this.take(next.amount); next = this.#waiting[0]) {
      this.#waiting.shift()
      next.grant()
    }
  }

  /**
   * Takes the amount as soon as it is free, first come, first served. A request larger than the
   * budget is granted alone.
   * @param isFirst goes before all that wait
   * @returns a function that releases the amount; calling it again has no effect
   */
  async wait(amount: number, isFirst = false): Promise<() => void> {
    const share = Math.min(amount, this.size)
    if ((this.#waiting.length > 0 && !isFirst) || !this.take(share))
      await new Promise<void>((grant) => {
        const waiting = { amount: share, grant }
        if (isFirst) this.#waiting.unshift(waiting)
        else this.#waiting.push(waiting)
      })
    return this.#releaseOnce(share)
  }

  /**
   * The same for a caller that does not wait longer than `limitMs`.
   * @returns null when the amount was not free in time
   */
  async waitAtMost(amount: number, limitMs: Milliseconds): Promise<(() => void) | null> {
    const share = Math.min(amount, this.size)
    if (this.#waiting.length === 0 && this.take(share)) return this.#releaseOnce(share)
    const isGranted = await new Promise<boolean>((resolve) => {
      const waiting = {
        amount: share,
        grant: () => {
          clearTimeout(timer)
          resolve(true)
        },
      }
      const timer = setTimeout(() => {
        this.#waiting = this.#waiting.filter((other) => other !== waiting)
        resolve(false)
        // It may have kept smaller requests waiting.
        this.#grantWaiting()
      }, limitMs)
      this.#waiting.push(waiting)
    })
    return isGranted ? this.#releaseOnce(share) : null
  }

  #releaseOnce(amount: number): () => void {
    let isTaken = true
    return () => {
      if (isTaken) this.release(amount)
      isTaken = false
    }
  }
}
