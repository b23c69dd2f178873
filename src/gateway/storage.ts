// Opens the store for a gateway: its limits and retention, and which parts its events reach.

import { randomBytes } from 'node:crypto'
import type { Clock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import type { Metrics } from '../metrics/registry.ts'
import type { LiveTail } from '../server/live-tail.ts'
import { freeBytesOf, isDiskFull } from '../store/files/disk-space.ts'
import { CLOCK_DOUBT } from '../store/log/clock-doubt.ts'
import type { ShippingTerms } from '../store/log/shipping.ts'
import { identityOf } from '../store/opening/identity.ts'
import { openStore, type Store } from '../store/store.ts'
import type { Checkpointing } from './checkpointing.ts'
import type { HubLink } from './hub-link.ts'
import type { GatewayLogger } from './logger.ts'

const DAY_MS = 86_400_000

interface StorageParts {
  readonly clock: Clock
  readonly userKey: Buffer | null
  readonly logger: GatewayLogger
  readonly metrics: Metrics
  /** A write hangs and will not return. */
  readonly onStalled: () => void
}

/** Parts that are built on the store and receive its events. */
interface StorageUsers {
  readonly signatures: Pick<Checkpointing, 'sign' | 'sealed'>
  readonly liveTail: Pick<LiveTail, 'committed'>
  /** Null without a hub. */
  readonly fleet: Pick<HubLink, 'sealed'> | null
  /** Writes succeed again. */
  readonly onAvailable: () => void
}

export interface GatewayStorage {
  readonly store: Store
  /** To be called before the event loop continues, so that no event is lost. */
  connect(users: StorageUsers): void
}

/** What hubs get of the log; null without a hub. */
const shippingTerms = ({ fleet, audit }: Config): ShippingTerms | null =>
  fleet === null
    ? null
    : {
        sendsContent: fleet.ship === 'entries+content',
        sendsClear: audit.user === 'clear',
        onUnshippable: fleet.onUnshippable,
      }

/** @throws StoreOpenError that says what is wrong and what to do */
export function openStorage(
  config: Config,
  { clock, userKey, logger, metrics, onStalled }: StorageParts,
): GatewayStorage {
  const { retainDays, retain, maxBytes, whenFull } = config.audit
  let users: StorageUsers | null = null
  const store = openStore({
    path: config.data.path,
    clock,
    random: randomBytes,
    maxBytes,
    segmentBytes: config.data.segmentBytes,
    whenFull,
    userKey,
    fileKeys: config.keys,
    hub: config.fleet?.hubs[0] ?? null,
    shipping: shippingTerms(config),
    retention: {
      retainMs: retainDays * DAY_MS,
      retain,
      beforePrune: async () => users?.signatures.sign(),
      onPruned: (entries) => {
        logger.info({ entries }, 'the oldest entries of the usage log were pruned')
        metrics.auditPruned.inc(entries)
      },
      onClockDoubt: () => logger.warn({}, CLOCK_DOUBT),
    },
    onUnavailable: (cause) => {
      const message = 'the usage log cannot be written; calls are refused'
      logger.error(
        { err: cause, freeBytes: freeBytesOf(config.data.path) },
        isDiskFull(cause) ? `disk full: ${message}` : message,
      )
    },
    onAvailable: () => {
      logger.info({}, 'the usage log can be written again')
      users?.onAvailable()
    },
    onStalled,
    onContentDropped: () => metrics.auditContentDropped.inc(),
    onSealed: (types) => {
      for (const type of types) metrics.auditEntries.inc({ type })
      users?.signatures.sealed(types.length)
      users?.liveTail.committed()
      users?.fleet?.sealed()
    },
    onHousekeepingError: (error) => logger.warn({ err: error }, 'housekeeping of the store failed'),
  })
  if (identityOf(config.data.path) === null) {
    const message =
      'the file system of the data folder gives no birth times; a copied or restored folder continues its log unnoticed'
    logger.warn({ path: config.data.path }, message)
  }
  return {
    store,
    connect(connected) {
      users = connected
    },
  }
}
