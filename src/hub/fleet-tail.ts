// The live tail of the calls of all sidecars: readers as at a gateway, calls from the database.

import type { Clock, Milliseconds } from '../core/clock.ts'
import type { Timers } from '../core/timers.ts'
import type { ArrivalReading } from '../ledger/arrived-calls.ts'
import type { Shipment, ShipmentResult } from '../ledger/shipped-logs.ts'
import type { Logger } from '../pipeline/record/record.ts'
import { type LiveReaderOptions, LiveTail } from '../server/live-tail.ts'
import { LiveCalls } from './live-calls.ts'

/** Longest time for which a session that has ended gets calls: the database has the sessions. */
const SESSION_CHECK_MS: Milliseconds = 1000

interface FleetTailParts {
  readonly reading: Pick<ArrivalReading, 'grown' | 'lastBefore' | 'calls'>
  readonly clock: Clock
  readonly timers: Timers
  readonly logger: Pick<Logger, 'warn'>
}

export class FleetTail {
  readonly #clock: Clock
  readonly #calls: LiveCalls
  readonly #tail: LiveTail

  constructor({ logger, ...parts }: FleetTailParts) {
    this.#clock = parts.clock
    this.#calls = new LiveCalls({
      ...parts,
      onNews: () => this.#tail.committed(),
      onFailure: (error) =>
        logger.warn({ err: error }, 'the calls for the live tail cannot be read; it is repeated'),
    })
    this.#tail = new LiveTail({ ...parts, calls: this.#calls })
  }

  /** Works like `LiveTail.read`. @throws GatewayError (rejects) also `fleet_unavailable` */
  async read(options: LiveReaderOptions): Promise<AsyncIterable<string>> {
    const onEnd = await this.#calls.watch(options.afterSeq)
    try {
      return this.#tail.read({ ...options, isAllowed: this.#checkNowAndThen(options.isAllowed), onEnd })
    } catch (error) {
      onEnd()
      throw error
    }
  }

  /** To be called once this hub has stored shipments. Returns at once. */
  stored(shipments: readonly Shipment[], results: readonly ShipmentResult[]): void {
    for (const [index, result] of results.entries())
      if ('head' in result && result.added > 0) this.#calls.note(shipments[index]!.log, result.head.seq)
  }

  /** Ends every stream and all readings, and refuses new readers. */
  close(): void {
    this.#tail.close()
  }

  #checkNowAndThen(isAllowed: () => Promise<boolean>): () => Promise<boolean> {
    let checkedMs = Number.NEGATIVE_INFINITY
    let wasAllowed = false
    return async () => {
      const nowMs = this.#clock.monotonic()
      if (nowMs - checkedMs < SESSION_CHECK_MS) return wasAllowed
      wasAllowed = await isAllowed()
      checkedMs = nowMs
      return wasAllowed
    }
  }
}
