// The parts by which a hub serves sidecars, connected: what changes in the database goes to the
// feeds, and what sidecars acknowledge goes to the database and to who waits for it.

import type { Clock, Milliseconds } from '../core/clock.ts'
import type { JsonObject } from '../core/json.ts'
import { systemTimers } from '../core/timers.ts'
import { VERSION } from '../core/version.ts'
import type { GatewayLogger } from '../gateway/logger.ts'
import type { Database } from '../ledger/database.ts'
import { type FleetReading, NOTHING_READ, readFleet } from '../ledger/fleet-reading.ts'
import { CHANGES_CHANNEL } from '../ledger/hub-log.ts'
import type { KeyLedger } from '../ledger/key-ledger.ts'
import { ACKS_CHANNEL, HUB_LOST_MS, type SidecarLedger } from '../ledger/sidecar-ledger.ts'
import type { HubMetrics } from '../metrics/hub-metrics.ts'
import { Confirmation } from './confirmation.ts'
import { Feeds } from './feeds.ts'
import { FleetState } from './fleet-state.ts'
import { FleetWatch } from './fleet-watch.ts'
import { KeyUseReports } from './key-use-reports.ts'

/** Interval at which the sidecars of lost hubs are released. */
const RELEASE_MS: Milliseconds = 2000

interface FleetParts {
  /** Id of this hub. */
  readonly hub: string
  readonly database: Database
  readonly keys: KeyLedger
  readonly sidecars: SidecarLedger
  readonly fleetKey: string
  /** Takes what is read, before sidecars get it. */
  readonly onReading: (reading: FleetReading) => void
  /** The database can be read again. */
  readonly onRecovered: () => void
  readonly clock: Clock
  readonly logger: GatewayLogger
  readonly metrics: HubMetrics
}

export class Fleet {
  readonly #parts: FleetParts
  readonly #watch: FleetWatch
  readonly state = new FleetState()
  readonly feeds: Feeds
  readonly confirmation: Confirmation
  readonly uses: KeyUseReports
  #isListening = false
  #takenAtMs: Milliseconds
  #releases: NodeJS.Timeout | null = null

  constructor(parts: FleetParts) {
    this.#parts = parts
    const { hub, sidecars, keys, fleetKey, clock, logger, metrics } = parts
    const { state } = this
    this.#takenAtMs = clock.monotonic()
    this.#watch = new FleetWatch({
      read: () => this.#read(),
      take: (reading) => {
        const nowMs = clock.monotonic()
        // Another hub may have counted this one as lost, and its sidecars as silent.
        if (nowMs - this.#takenAtMs > HUB_LOST_MS) this.feeds.endAll('this hub was away')
        this.#takenAtMs = nowMs
        parts.onReading(reading)
        this.feeds.take(reading)
        metrics.rev.set(state.rev)
        const [oldest] = state.orders
        metrics.ordersOpen.set(state.orders.length)
        metrics.orderAgeSeconds.set(oldest === undefined ? 0 : (reading.atMs - oldest.atMs) / 1000)
      },
      onState: (error) => {
        metrics.databaseUp.set(Number(error === null))
        if (error !== null)
          logger.error({ err: error }, 'the database cannot be read; sidecars continue with what they have')
        else {
          logger.info({}, 'the database can be read again')
          parts.onRecovered()
        }
      },
    })
    this.feeds = new Feeds({ hub, state, sidecars, catchUp: this.catchUp, fleetKey, clock, logger, metrics })
    this.confirmation = new Confirmation({
      catchUp: this.catchUp,
      rev: () => state.rev,
      rows: () => sidecars.list(),
      feed: (id) => this.feeds.feed(id),
      clock,
      timers: systemTimers,
    })
    this.feeds.onAck = this.confirmation.acknowledged
    this.uses = new KeyUseReports({
      write: (uses) => keys.noteUses(uses),
      clock,
      onError: (error) => logger.warn({ err: error }, 'times of last use could not be stored'),
    })
  }

  /** Resolves once everything that was in the database at the time of the call has been sent. */
  readonly catchUp = (): Promise<void> => this.#watch.catchUp()

  /** What the status of the hub says of it. */
  status(): JsonObject {
    const { epoch, rev } = this.state
    return {
      ...{ id: this.#parts.hub, epoch, rev },
      ...{ feeds: this.feeds.count, listening: this.#isListening },
    }
  }

  /** @throws GatewayError (rejects) `fleet_unavailable` */
  async start(): Promise<void> {
    await this.#watch.start()
    this.#parts.metrics.databaseUp.set(1)
    this.feeds.start()
    this.#releases = setInterval(() => this.#releaseLost(), RELEASE_MS).unref()
    const { database, hub, logger, metrics } = this.#parts
    database.listen([CHANGES_CHANNEL, ACKS_CHANNEL], {
      onNotification: (channel, payload) => {
        if (channel === CHANGES_CHANNEL) this.#watch.wake()
        else if (payload !== hub) this.confirmation.remoteAcknowledged()
      },
      onState: (isListening) => {
        this.#isListening = isListening
        metrics.listening.set(isListening ? 1 : 0)
        if (isListening) logger.info({}, 'the database notifies of changes')
        else
          logger.warn({}, 'the database sends no notifications (a transaction pooler does not); it is polled')
      },
    })
  }

  /** Ends all feeds and writes what is not written yet. */
  async stop(): Promise<void> {
    this.#watch.stop()
    if (this.#releases !== null) clearInterval(this.#releases)
    await this.feeds.stop()
    await this.uses.flush()
  }

  #releaseLost(): void {
    // Without the database nothing is released; the watch reports that.
    const { sidecars } = this.#parts
    Promise.all([sidecars.releaseLost(), sidecars.forgetOld()]).catch(() => {})
  }

  async #read(): Promise<FleetReading> {
    const { database, hub } = this.#parts
    const { state } = this
    const self = { id: hub, version: VERSION, connected: this.feeds.count }
    const reading = await readFleet(database, self, state.readBefore)
    return state.isOther(reading) && state.rev >= 0 ? readFleet(database, self, NOTHING_READ) : reading
  }
}
