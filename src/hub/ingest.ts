// Gathers the shipments of many sidecars into few transactions. What waits is bounded: a caller
// that brings more waits as well, and no further body is read.

import type { Milliseconds } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import type { Timers } from '../core/timers.ts'
import type { Shipment, ShipmentResult } from '../ledger/shipped-logs.ts'

/** Time for which shipments are gathered into one transaction. */
const GATHER_MS: Milliseconds = 2
/** Entries of one transaction, and bytes unless it is one shipment. */
const MAXIMUM_STORED_ENTRIES = 2000
const MAXIMUM_STORED_BYTES = 8 * 1024 * 1024
/** Entries and bytes that wait for their transaction or are in one. */
const MAXIMUM_WAITING_ENTRIES = 4000
const MAXIMUM_WAITING_BYTES = 32 * 1024 * 1024

/** Transactions at a time: one is prepared while the other waits for the disk. */
const MAXIMUM_TRANSACTIONS = 2

interface IngestParts {
  /** Stores shipments of different logs: all or nothing. */
  readonly store: (shipments: readonly Shipment[]) => Promise<readonly ShipmentResult[]>
  readonly timers: Timers
}

interface Waiting {
  readonly shipment: Shipment
  readonly bytes: number
  readonly resolve: (result: ShipmentResult) => void
  readonly reject: (error: unknown) => void
}

export class Ingest {
  readonly #parts: IngestParts
  #queue: Waiting[] = []
  /** Sums over what waits or is being stored. */
  #entries = 0
  #bytes = 0
  #timer: unknown = null
  #transactions = 0
  /** Logs that a transaction writes. */
  readonly #busy = new Set<string>()
  #forRoom: (() => void)[] = []

  constructor(parts: IngestParts) {
    this.#parts = parts
  }

  /**
   * Resolves once there is room for the shipment, with the promise of what becomes of it, which
   * resolves once that is durable. It rejects as `store`.
   */
  async submit(shipment: Shipment): Promise<{ readonly result: Promise<ShipmentResult> }> {
    while (this.#entries >= MAXIMUM_WAITING_ENTRIES || this.#bytes >= MAXIMUM_WAITING_BYTES)
      await new Promise<void>((resolve) => this.#forRoom.push(resolve))
    const { promise, resolve, reject } = Promise.withResolvers<ShipmentResult>()
    const waiting = { shipment, bytes: bytesOf(shipment), resolve, reject }
    this.#entries += shipment.entries.length
    this.#bytes += waiting.bytes
    this.#queue.push(waiting)
    this.#schedule()
    return { result: promise }
  }

  /** Begins another transaction soon, if there is something for it. */
  #schedule(): void {
    const canWrite = this.#queue.some(({ shipment }) => !this.#busy.has(shipment.log))
    if (!canWrite || this.#timer !== null || this.#transactions >= MAXIMUM_TRANSACTIONS) return
    this.#timer = this.#parts.timers.set(() => {
      this.#timer = null
      void this.#drain()
    }, GATHER_MS)
  }

  /** Stores what waits, one transaction after the other. Two drains may run at a time. */
  async #drain(): Promise<void> {
    this.#transactions++
    for (let batch = this.#take(); batch.length > 0; batch = this.#take()) {
      this.#schedule()
      await this.#store(batch)
      for (const { shipment, bytes } of batch) {
        this.#busy.delete(shipment.log)
        this.#entries -= shipment.entries.length
        this.#bytes -= bytes
      }
      for (const proceed of this.#forRoom.splice(0)) proceed()
    }
    this.#transactions--
  }

  /** Takes the oldest shipments of different logs that fit into one transaction. */
  #take(): Waiting[] {
    const batch: Waiting[] = []
    const left: Waiting[] = []
    let entries = 0
    let bytes = 0
    for (const waiting of this.#queue) {
      const { log, entries: own } = waiting.shipment
      const fits =
        entries + own.length <= MAXIMUM_STORED_ENTRIES && bytes + waiting.bytes <= MAXIMUM_STORED_BYTES
      if (this.#busy.has(log) || !(fits || batch.length === 0)) {
        left.push(waiting)
        continue
      }
      this.#busy.add(log)
      batch.push(waiting)
      entries += own.length
      bytes += waiting.bytes
    }
    this.#queue = left
    return batch
  }

  async #store(batch: readonly Waiting[]): Promise<void> {
    try {
      const results = await this.#parts.store(batch.map(({ shipment }) => shipment))
      for (const [index, { resolve }] of batch.entries()) resolve(results[index]!)
    } catch (error) {
      // One shipment that the database does not take must not stop the others.
      if (batch.length > 1 && !(error instanceof GatewayError)) {
        for (const one of batch) await this.#store([one])
      } else for (const { reject } of batch) reject(error)
    }
  }
}

const bytesOf = ({ entries }: Shipment): number =>
  entries.reduce((sum, { sent }) => sum + sent.bytes.length + (sent.content?.length ?? 0), 0)
