// A growing list of threads, each a place in the program with a tag: where it began, or which thread it comes from.

/** Threads that have room before the arrays grow. */
const INITIAL_CAPACITY = 16

export class ThreadList {
  threads = new Int32Array(INITIAL_CAPACITY)
  tags = new Int32Array(INITIAL_CAPACITY)
  count = 0

  add(thread: number, tag: number): void {
    if (this.count === this.threads.length) this.#grow()
    this.threads[this.count] = thread
    this.tags[this.count++] = tag
  }

  #grow(): void {
    const threads = new Int32Array(2 * this.count)
    const tags = new Int32Array(2 * this.count)
    threads.set(this.threads)
    tags.set(this.tags)
    this.threads = threads
    this.tags = tags
  }
}
