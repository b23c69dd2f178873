// What is under way: things that come and go by the thousand, some of which are always there.

/** Where one of them stands. */
export interface InFlightSlot<T> {
  readonly item: T
  index: number
}

/**
 * A set of them in no order; adding and removing take constant time. Not a Set or a Map: one of those is rehashed
 * again and again by what comes and goes, and each table it leaves points to the next. The first of these that grows
 * old keeps all that was ever in one through every collection of young objects.
 */
export class InFlight<T> {
  readonly #places: InFlightSlot<T>[] = []

  get size(): number {
    return this.#places.length
  }

  add(item: T): InFlightSlot<T> {
    const place = { item, index: this.#places.length }
    this.#places.push(place)
    return place
  }

  /** Harmless for what has left already. */
  remove(place: InFlightSlot<T>): void {
    const { index } = place
    if (this.#places[index] !== place) return
    const last = this.#places.pop()
    if (last === undefined || last === place) return
    this.#places[index] = last
    last.index = index
  }

  /** Those that are in it now. */
  items(): T[] {
    return this.#places.map(({ item }) => item)
  }
}
