// Set of items in flight, which come and go by the thousand.

/** Position of an item in the set; `remove` takes it. */
export interface InFlightSlot<T> {
  readonly item: T
  index: number
}

/**
 * An unordered set with constant-time `add` and `remove`. Not a Set or Map: items that come and go
 * make V8 rehash those again and again, and each table that V8 leaves points to the next. The first
 * such table in the old generation keeps all later items alive through every scavenge.
 */
export class InFlight<T> {
  readonly #slots: InFlightSlot<T>[] = []

  get size(): number {
    return this.#slots.length
  }

  add(item: T): InFlightSlot<T> {
    const slot = { item, index: this.#slots.length }
    this.#slots.push(slot)
    return slot
  }

  /** Has no effect for an item that was removed before. */
  remove(slot: InFlightSlot<T>): void {
    const { index } = slot
    if (this.#slots[index] !== slot) return
    const last = this.#slots.pop()
    if (last === undefined || last === slot) return
    this.#slots[index] = last
    last.index = index
  }

  /** Returns the items in the set, in a new list. */
  items(): T[] {
    return this.#slots.map(({ item }) => item)
  }
}
