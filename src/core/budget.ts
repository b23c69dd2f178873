// Room for what is counted, as bytes of memory: taken before it is used, given back after. Does not know what for.

/** Safe for any number of takers in one event loop. */
export class Budget {
  readonly #size: number
  #taken = 0
  /** In the order of asking. */
  readonly #waiting: { readonly amount: number; readonly enter: () => void }[] = []

  constructor(size: number) {
    this.#size = size
  }

  /** Takes so much where there is that much left; otherwise nothing. @returns whether it was taken */
  take(amount: number): boolean {
    if (this.#taken + amount > this.#size) return false
    this.#taken += amount
    return true
  }

  /** Gives back what `take` took. */
  give(amount: number): void {
    this.#taken -= amount
    for (let next = this.#waiting[0]; next !== undefined && this.take(next.amount); next = this.#waiting[0]) {
      this.#waiting.shift()
      next.enter()
    }
  }

  /**
   * Takes so much once there is that much left and all who asked before have theirs. Who asks for more than there is at
   * all gets all of it, by himself. @returns what gives it back; once is enough
   */
  async wait(amount: number): Promise<() => void> {
    const share = Math.min(amount, this.#size)
    if (this.#waiting.length > 0 || !this.take(share))
      await new Promise<void>((enter) => this.#waiting.push({ amount: share, enter }))
    let isTaken = true
    return () => {
      if (isTaken) this.give(share)
      isTaken = false
    }
  }
}
