// Maps offsets between a text that arrives in chunks and a view of it, in which some characters are
// left out and others are added.

/** Added to the offset of a character whose further units were removed: they belong to it. */
export const INSIDE = 0.5

/** Memory grows with the changes that are not released. Offsets are UTF-16 code units. */
export class OffsetMap {
  /** Offsets in the view at which it changes, ascending. */
  #offsets: number[] = []
  /** For each offset, the count of units removed so far. */
  #totals: number[] = []
  /** Units removed before the first of #offsets. */
  #dropped = 0

  /** Removes units before an offset in the view. Offsets ascend. */
  remove(offset: number, units: number): void {
    const total = (this.#totals.at(-1) ?? this.#dropped) + units
    if (this.#offsets.at(-1) === offset) {
      this.#totals[this.#totals.length - 1] = total
      return
    }
    this.#offsets.push(offset)
    this.#totals.push(total)
  }

  /** Adds units to the view from an offset on. They have the place of the character after them. */
  add(offset: number, units: number): void {
    for (let unit = 1; unit <= units; unit++) this.remove(offset + unit, -1)
  }

  /** The offset in the whole text of the character at an offset in the view. */
  startOf(offset: number): number {
    return offset + this.#removedUpTo(offset)
  }

  /** The offset in the whole text after a character that ends at an offset in the view. */
  endOf(offset: number): number {
    return offset + this.#removedUpTo(offset - INSIDE)
  }

  /** Units removed before the offsets of the view up to `offset`. */
  #removedUpTo(offset: number): number {
    let low = 0
    let high = this.#offsets.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#offsets[middle]! <= offset) low = middle + 1
      else high = middle
    }
    return low === 0 ? this.#dropped : this.#totals[low - 1]!
  }

  /** Forgets what lies before an offset in the view. */
  release(offset: number): void {
    let count = 0
    while (count < this.#offsets.length && this.#offsets[count]! < offset) count++
    if (count === 0) return
    this.#dropped = this.#totals[count - 1]!
    this.#offsets.splice(0, count)
    this.#totals.splice(0, count)
  }
}
