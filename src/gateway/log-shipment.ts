// The log of a sidecar on its way to a hub: what is logged, counted and reported of it.

import type { Clock, Milliseconds } from '../core/clock.ts'
import type { JsonObject } from '../core/json.ts'
import type { Secret } from '../core/secret.ts'
import { isoTimeOrNull } from '../core/time.ts'
import { systemTimers } from '../core/timers.ts'
import { Shipper, type ShipperParts } from '../fleet/shipper.ts'
import type { GatewayState, Metrics } from '../metrics/registry.ts'
import type { StoredCheckpoint } from '../store/log/checkpoints.ts'
import type { LeftBehind, LogShipping } from '../store/log/shipping.ts'
import type { Store } from '../store/store.ts'
import type { GatewayLogger } from './logger.ts'

interface LogShipmentParts extends Pick<ShipperParts, 'hub' | 'authorize'> {
  readonly ca: Secret | null
  readonly store: Pick<Store, 'shipping' | 'log'>
  readonly clock: Clock
  readonly logger: GatewayLogger
  readonly metrics: Pick<Metrics, 'fleetShipped' | 'fleetContentKept'>
  readonly onCosigned: (checkpoint: StoredCheckpoint) => Promise<void>
}

type ShipmentGauges = Pick<
  NonNullable<GatewayState['fleet']>,
  'unshippedEntries' | 'unshippedAgeSeconds' | 'isForked'
>

export class LogShipment {
  readonly #log: LogShipping
  /** After an error of the disk even reading is unsafe. */
  readonly #isReadable: () => boolean
  readonly #shipper: Shipper
  readonly #clock: Clock
  readonly #logger: GatewayLogger

  /** @throws Error when the store was opened without a hub */
  constructor({ ca, store, hub, authorize, clock, logger, metrics, onCosigned }: LogShipmentParts) {
    const { shipping, log } = store
    if (shipping === null) throw new Error('the store was opened without a hub')
    this.#log = shipping
    this.#isReadable = () => log.writable
    this.#clock = clock
    this.#logger = logger
    this.#shipper = new Shipper({
      log: shipping,
      ca,
      isReadable: this.#isReadable,
      hub,
      authorize,
      clock,
      timers: systemTimers,
      random: Math.random,
      events: {
        shipped: (entries) => metrics.fleetShipped.inc(entries),
        troubled: (url, problem) =>
          logger.warn({ hub: url, problem }, 'sending the usage log to the hub has a problem'),
        ended: (problem) => logger.error({ problem }, 'the usage log is no longer sent to the hub'),
        leftOut: (seq) => {
          const message = 'an exchange is too long to be sent to the hub; it stays here, its entry is sent'
          metrics.fleetContentKept.inc()
          logger.warn({ seq }, message)
        },
        cosigned: onCosigned,
      },
    })
  }

  start(): void {
    for (const { log, head, shipped } of this.#log.leftBehind)
      this.#logger.warn({ log, head, shipped }, 'an earlier log of this data folder is not complete at a hub')
    this.#shipper.start()
  }

  sealed(): void {
    this.#shipper.sealed()
  }

  signed(checkpoint: StoredCheckpoint): void {
    this.#shipper.signed(checkpoint)
  }

  /** Sends what is left, within the time, and logs what was not sent. */
  async finish(limitMs: Milliseconds, hurry: Promise<void>): Promise<void> {
    await this.#shipper.stop(limitMs, hurry)
    if (!this.#isReadable()) return
    const { unshipped } = this.#log
    const { problem } = this.#shipper
    const message = 'entries of the usage log were not sent to a hub; they stay in the data folder'
    if (unshipped > 0) this.#logger.warn({ entries: unshipped, problem }, message)
    else this.#logger.info({}, 'a hub has the whole usage log')
  }

  /** What /readyz shows. */
  problems(): string[] {
    const { problem } = this.#shipper
    return [...(problem === null ? [] : [problem]), ...this.#log.leftBehind.map(whatIsLeft)]
  }

  status(): JsonObject {
    const { log, next, unshipped, oldestUnshippedMs } = this.#log
    return {
      id: log,
      shipped_seq: next === 0 ? null : next - 1,
      unshipped,
      oldest_unshipped_at: isoTimeOrNull(oldestUnshippedMs),
      ended: this.#shipper.end !== null,
      problem: this.#shipper.problem,
    }
  }

  /** The values of the metrics page. */
  state(): ShipmentGauges {
    const { unshipped, oldestUnshippedMs } = this.#log
    return {
      unshippedEntries: unshipped,
      unshippedAgeSeconds:
        oldestUnshippedMs === null ? 0 : Math.max(0, this.#clock.now() - oldestUnshippedMs) / 1000,
      isForked: this.#shipper.end !== null,
    }
  }
}

const NEXT_STEP =
  'it is in a folder predecessor-… or quarantine-…: verify it (`sidegate audit verify` with a configuration whose data.path is that folder), then move it out of the data folder or delete it; the next start no longer names it'

function whatIsLeft({ log, head, shipped }: LeftBehind): string {
  const named = `the earlier log ${log ?? ''} of this data folder`.replace('  ', ' ')
  if (head === null) return `${named} may have entries that no hub has; ${NEXT_STEP}`
  return `up to ${head - (shipped ?? -1)} entries of ${named} were never sent to a hub; ${NEXT_STEP}`
}
