// Keeps the last normalised characters of a growing text, with their offsets in it.

/** A power of two. Holds a match, what may still decide on it, and what is before it. */
const KEPT_CHARACTERS = 512
const MASK = KEPT_CHARACTERS - 1

/** Characters are numbered from the beginning of the text. */
export class RecentCharacters {
  /** Characters so far; the last KEPT_CHARACTERS of them can be read. */
  count = 0
  readonly #plain = new Int32Array(KEPT_CHARACTERS)
  readonly #folded = new Int32Array(KEPT_CHARACTERS)
  readonly #start = new Int32Array(KEPT_CHARACTERS)
  readonly #end = new Int32Array(KEPT_CHARACTERS)
  readonly #taken = new Int32Array(KEPT_CHARACTERS)

  /**
   * @param start UTF-16 offset of the cluster that the character comes from
   * @param end after it
   * @param taken UTF-16 units of the text when the character was known
   */
  add(plain: number, folded: number, start: number, end: number, taken: number): void {
    const at = this.count++ & MASK
    this.#plain[at] = plain
    this.#folded[at] = folded
    this.#start[at] = start
    this.#end[at] = end
    this.#taken[at] = taken
  }

  plain(number: number): number {
    return this.#plain[number & MASK]!
  }

  folded(number: number): number {
    return this.#folded[number & MASK]!
  }

  start(number: number): number {
    return this.#start[number & MASK]!
  }

  end(number: number): number {
    return this.#end[number & MASK]!
  }

  taken(number: number): number {
    return this.#taken[number & MASK]!
  }
}
