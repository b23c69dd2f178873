// Gives memory back after a busy time. V8 collects garbage when more memory is asked for, so that a gateway which falls
// idle after a rush would keep what the rush took. Knows nothing of calls but how many there were.

import { getHeapStatistics } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Milliseconds } from './core/clock.ts'

const LOOK_MS: Milliseconds = 5000
/**
 * Looks in a row between which nothing went on, before it counts as idle. With the objects of the last calls their
 * shapes go, and with these the code V8 has compiled for them: the next second of calls pays for it, so a pause between
 * two rushes does not count.
 */
const QUIET_LOOKS = 6
/** What the heap has grown by since it was collected last: less is not worth that, nor a pause of some 50 ms. */
const GROWTH = 1.5

/** What is watched, and what is done about it. */
export interface Heap {
  /** Calls taken on so far, and those that are being handled. */
  readonly calls: { readonly entered: number; readonly inFlight: number }
  /** What V8 holds, bytes. */
  bytes(): number
  /** Collects garbage, which gives free pages back. */
  collect(): void
}

export class IdleCollector {
  readonly #heap: Heap
  /** Size after the last collection. */
  #restingBytes: number
  #entered = 0
  #quietLooks = 0
  #timer: NodeJS.Timeout | null = null

  constructor(heap: Heap) {
    this.#heap = heap
    this.#restingBytes = heap.bytes()
  }

  start(): void {
    this.#timer = setInterval(() => this.look(), LOOK_MS).unref()
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
  }

  /** Collects once after each busy time, when nothing has gone on for a while. */
  look(): void {
    const { calls } = this.#heap
    const quiet = calls.inFlight === 0 && calls.entered === this.#entered
    this.#entered = calls.entered
    this.#quietLooks = quiet ? this.#quietLooks + 1 : 0
    if (this.#quietLooks !== QUIET_LOOKS || this.#heap.bytes() < this.#restingBytes * GROWTH) return
    this.#heap.collect()
    this.#restingBytes = this.#heap.bytes()
  }
}

/**
 * For V8's own heap; null in a Node that was started without `--expose-gc`. What a debugger can ask for would throw
 * all compiled code away, and not only what was compiled for shapes that are gone.
 */
export function collectorOf(calls: Heap['calls']): IdleCollector | null {
  const { gc } = globalThis
  if (gc === undefined) return null
  return new IdleCollector({
    calls,
    bytes: () => getHeapStatistics().total_heap_size,
    collect() {
      // V8 gives pages back when a context has gone, and not for a collection alone.
      runInNewContext('0')
      gc()
    },
  })
}
