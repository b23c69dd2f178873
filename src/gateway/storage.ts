// The store as a gateway runs it: what it keeps and for how long, and where its troubles are told.

import { randomBytes } from 'node:crypto'
import { statfsSync } from 'node:fs'
import { systemClock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import type { Metrics } from '../metrics/registry.ts'
import { openStore, type Store } from '../store/store.ts'
import type { Checkpointing } from './checkpointing.ts'
import type { GatewayLogger } from './logger.ts'

const DAY_MS = 86_400_000

interface StorageParts {
  readonly logger: GatewayLogger
  /** Built after the store, whose state it shows. */
  readonly metrics: () => Metrics
  /** As the metrics. */
  readonly signatures: () => Checkpointing
  /** Writes succeed again. */
  readonly onAvailable: () => void
  /** A write has hung, for good. */
  readonly onStalled: () => void
}

/** Of the disk; the database says of a full one that it is an I/O error, too. Null where it cannot be told. */
function freeBytes(path: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(path)
    return bavail * bsize
  } catch {
    return null
  }
}

/** @throws StoreOpenError saying what is wrong and what to do */
export function openStorage(config: Config, parts: StorageParts): Store {
  const { logger, metrics, signatures, onStalled } = parts
  const { retainDays, maxBytes, whenFull } = config.audit
  return openStore({
    path: config.data.path,
    clock: systemClock,
    random: randomBytes,
    maxBytes,
    whenFull,
    fileKeys: config.keys,
    retention: {
      retainMs: retainDays * DAY_MS,
      beforePrune: () => signatures().make(),
      onPruned: (entries) => {
        logger.info({ entries }, 'the oldest entries of the usage log were pruned')
        metrics().auditPruned.inc(entries)
      },
    },
    onCommit: (entries) => signatures().sealed(entries),
    onUnavailable: (cause) =>
      logger.error(
        { err: cause, freeBytes: freeBytes(config.data.path) },
        'the usage log cannot be written; calls are refused',
      ),
    onAvailable: () => {
      logger.info({}, 'the usage log can be written again')
      parts.onAvailable()
    },
    onStalled,
    onContentDropped: () => metrics().auditContentDropped.inc(),
    onSealed: (types) => {
      for (const type of types) metrics().auditEntries.inc({ type })
    },
    onHousekeepingError: (error) => logger.warn({ err: error }, 'housekeeping of the store failed'),
  })
}
