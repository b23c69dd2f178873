// Copies text into an array of UTF-16 code units. Reading the array is several times faster than
// charCodeAt, since a string has one of many representations.

/** A buffer of code units, made once and reused. */
export class CodeUnits {
  readonly units: Uint16Array
  readonly #bytes: Buffer

  constructor(capacity: number) {
    this.units = new Uint16Array(capacity)
    this.#bytes = Buffer.from(this.units.buffer)
  }

  /**
   * Copies `text[start, end)`, as far as it fits, to the beginning of `units`; returns the number
   * of units.
   */
  write(text: string, start: number, end: number): number {
    const part = start === 0 && end >= text.length ? text : text.slice(start, end)
    return this.#bytes.write(part, 'utf16le') >> 1
  }

  /** Returns the first `length` units as a string. */
  toString(length: number): string {
    return this.#bytes.toString('utf16le', 0, 2 * length)
  }
}
