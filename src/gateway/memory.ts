// Gives memory back after a busy time. V8 collects garbage when more memory is asked for, so that a gateway which falls
// idle after a rush would keep what the rush took; its own remedy, the memory reducer, is turned off where this is on
// (Dockerfile): it sets in after some eight seconds. Knows nothing of calls but how many there were.

import { getHeapStatistics } from 'node:v8'
import type { Milliseconds } from '../core/clock.ts'

const LOOK_MS: Milliseconds = 5000
/** What may go on between two looks, and while one is taken, for the time to count as quiet: calls. */
const FEW_CALLS = 10
/**
 * Quiet looks in a row before it counts as idle. Giving everything back takes the code with it that V8 has compiled; the
 * next second of calls pays for that, so a pause between two rushes does not count.
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

  /** Collects once after each busy time, when next to nothing has gone on for a while. */
  look(): void {
    const { entered, inFlight } = this.#heap.calls
    const quiet = inFlight <= FEW_CALLS && entered - this.#entered <= FEW_CALLS
    this.#entered = entered
    this.#quietLooks = quiet ? this.#quietLooks + 1 : 0
    if (this.#quietLooks !== QUIET_LOOKS || this.#heap.bytes() < this.#restingBytes * GROWTH) return
    this.#heap.collect()
    this.#restingBytes = this.#heap.bytes()
  }
}

/** For V8's own heap; null in a Node that was started without `--expose-gc`. */
export function collectorOf(calls: Heap['calls']): IdleCollector | null {
  const { gc } = globalThis
  if (gc === undefined) return null
  return new IdleCollector({
    calls,
    bytes: () => getHeapStatistics().total_heap_size,
    // Any other collection leaves free pages with V8.
    collect: () => gc({ type: 'major', execution: 'sync', flavor: 'last-resort' }),
  })
}
