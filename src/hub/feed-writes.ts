// Writes events to many feeds: in order for each feed, and so much in one turn of the event loop
// that other work continues while a large set of rules leaves for a thousand sidecars.

/** Bytes that are handed to sockets in one turn: some 20 ms. */
const MAXIMUM_TURN_BYTES = 8 * 1024 * 1024
/** Writes that wait; with more, the feeds of the newest ones are cut off, and resume. */
const MAXIMUM_WAITING_WRITES = 50_000

/** A feed, as far as it is written to. */
export interface WrittenFeed {
  write(bytes: Buffer): void
  /** Cuts the feed off. */
  cut(): void
}

export class FeedWrites {
  readonly #defer: (run: () => void) => void
  #waiting: { readonly feed: WrittenFeed; readonly bytes: Buffer }[] = []
  #leftBytes = MAXIMUM_TURN_BYTES
  #isDeferred = false

  /** @param defer runs a function in the next turn of the event loop */
  constructor(defer: (run: () => void) => void = setImmediate) {
    this.#defer = defer
  }

  /** Writes now or soon, after what was written to the feed before. The bytes are not copied. */
  write(feed: WrittenFeed, bytes: Buffer): void {
    if (this.#waiting.length === 0 && this.#leftBytes > 0) this.#now(feed, bytes)
    else if (this.#waiting.length < MAXIMUM_WAITING_WRITES) this.#waiting.push({ feed, bytes })
    else feed.cut()
    this.#nextTurn()
  }

  #now(feed: WrittenFeed, bytes: Buffer): void {
    this.#leftBytes -= bytes.length
    feed.write(bytes)
  }

  #nextTurn(): void {
    if (this.#isDeferred) return
    this.#isDeferred = true
    this.#defer(() => {
      this.#isDeferred = false
      this.#leftBytes = MAXIMUM_TURN_BYTES
      let count = 0
      for (; count < this.#waiting.length && this.#leftBytes > 0; count++) {
        const { feed, bytes } = this.#waiting[count]!
        this.#now(feed, bytes)
      }
      this.#waiting = this.#waiting.slice(count)
      if (this.#waiting.length > 0) this.#nextTurn()
    })
  }
}
