// Counts calls at a time for limits of parallel calls. In memory: a process that ends has no calls.

export class ParallelCalls {
  /** Running calls by the name of their count; only counts above 0, so as many as calls at most. */
  readonly #counts = new Map<string, number>()

  running(name: string): number {
    return this.#counts.get(name) ?? 0
  }

  /** Adds a call. @returns removes it; further calls do nothing */
  begin(name: string): () => void {
    this.#counts.set(name, this.running(name) + 1)
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      const left = this.running(name) - 1
      if (left > 0) this.#counts.set(name, left)
      else this.#counts.delete(name)
    }
  }
}
