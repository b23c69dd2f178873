// What a glance at a text came to, kept for when the same text comes again.

/** Empty until a place is kept in it. */
export class Glimpse {
  #generation: object | null = null
  #place = 0

  /** The place behind the text, undefined if none was kept that still counts. */
  placeIn(generation: object): number | undefined {
    return this.#generation === generation ? this.#place : undefined
  }

  keep(generation: object, place: number): void {
    this.#generation = generation
    this.#place = place
  }
}
