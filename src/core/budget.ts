// Budget of a counted resource, such as bytes of memory.

/** A fixed amount, shared by any number of callers in one event loop. */
export class Budget {
  readonly size: number
  #taken = 0
  /** In order of arrival. */
  readonly #waiting: { readonly amount: number; readonly grant: () => void }[] = []

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
    for (let next = this.#waiting[0]; next !== undefined && this.take(next.amount); next = this.#waiting[0]) {
      this.#waiting.shift()
      next.grant()
    }
  }

  /**
   * Takes the amount as soon as it is free, first come, first served. A request larger than the
   * budget is granted alone.
   * @returns a function that releases the amount; calling it again has no effect
   */
  async wait(amount: number): Promise<() => void> {
    const share = Math.min(amount, this.size)
    if (this.#waiting.length > 0 || !this.take(share))
      await new Promise<void>((grant) => this.#waiting.push({ amount: share, grant }))
    let isTaken = true
    return () => {
      if (isTaken) this.release(share)
      isTaken = false
    }
  }
}
