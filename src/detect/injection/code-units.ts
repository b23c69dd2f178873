// Text as an array of UTF-16 code units: reading those is several times faster than asking a string for one after another,
// as strings come in many representations. Knows nothing of what is written.

/** Code units in memory that a string can be written to; made once and used again and again. */
export class CodeUnits {
  readonly units: Uint16Array
  readonly #bytes: Buffer

  constructor(capacity: number) {
    this.units = new Uint16Array(capacity)
    this.#bytes = Buffer.from(this.units.buffer)
  }

  /** Writes `text[start, end)`, at most as much as there is room for, to the beginning of `units`; returns its length. */
  write(text: string, start: number, end: number): number {
    const part = start === 0 && end >= text.length ? text : text.slice(start, end)
    return this.#bytes.write(part, 'utf16le') >> 1
  }

  /** The first `length` units as a string. */
  toString(length: number): string {
    return this.#bytes.toString('utf16le', 0, 2 * length)
  }
}
