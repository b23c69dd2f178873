// Returns memory to the system after a busy time. V8 collects garbage only when more memory is
// requested, so a gateway that turns idle would keep what it used under load. V8's own remedy, the
// memory reducer, starts after about eight seconds and is switched off (Dockerfile). Knows only the
// number of calls.

import { getHeapStatistics } from 'node:v8'
import type { Milliseconds } from '../core/clock.ts'

const CHECK_MS: Milliseconds = 5000
/** A check is quiet if at most so many calls began since the last one, and are in flight. */
const FEW_CALLS = 10
/**
 * Quiet checks in a row before the gateway counts as idle. A collection also drops compiled code,
 * which slows the next second of calls, so a short pause must not trigger one.
 */
const QUIET_CHECKS = 6
/**
 * Growth of the heap since the last collection that is worth another, which pauses for about 50 ms.
 */
const GROWTH = 1.5

/** The heap and the calls that use it. */
export interface Heap {
  /** Calls admitted so far, and calls in flight. */
  readonly calls: { readonly entered: number; readonly inFlight: number }
  /** Bytes that V8 holds. */
  bytes(): number
  /** Collects garbage and returns free pages to the system. */
  collect(): void
}

export class IdleCollector {
  readonly #heap: Heap
  /** Size after the last collection. */
  #restingBytes: number
  #entered = 0
  #quietChecks = 0
  #timer: NodeJS.Timeout | null = null

  constructor(heap: Heap) {
    this.#heap = heap
    this.#restingBytes = heap.bytes()
  }

  start(): void {
    this.#timer = setInterval(() => this.check(), CHECK_MS).unref()
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
  }

  /** Collects once after each busy time, as soon as the gateway is idle. Runs every CHECK_MS. */
  check(): void {
    const { entered, inFlight } = this.#heap.calls
    const quiet = inFlight <= FEW_CALLS && entered - this.#entered <= FEW_CALLS
    this.#entered = entered
    this.#quietChecks = quiet ? this.#quietChecks + 1 : 0
    if (this.#quietChecks !== QUIET_CHECKS || this.#heap.bytes() < this.#restingBytes * GROWTH) return
    this.#heap.collect()
    this.#restingBytes = this.#heap.bytes()
  }
}

/** A collector of the V8 heap; null when Node runs without `--expose-gc`. */
export function collectorOf(calls: Heap['calls']): IdleCollector | null {
  const { gc } = globalThis
  if (gc === undefined) return null
  return new IdleCollector({
    calls,
    bytes: () => getHeapStatistics().total_heap_size,
    // Only a last-resort collection returns free pages.
    collect: () => gc({ type: 'major', execution: 'sync', flavor: 'last-resort' }),
  })
}
