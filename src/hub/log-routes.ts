// The routes of a hub that read the logs of all sidecars. Paths and answers are those of a gateway;
// an answer names the sidecar besides.

import { hashRun } from '../audit/user-hash.ts'
import { systemClock } from '../core/clock.ts'
import { text } from '../core/schema-builders.ts'
import { ChangeReading } from '../ledger/change-reading.ts'
import { LogLines } from '../ledger/log-lines.ts'
import { UsageReading } from '../ledger/usage-reading.ts'
import type { ApiRoute } from '../server/api.ts'
import { changesRoute } from '../server/routes/changes.ts'
import { exportRoute } from '../server/routes/export.ts'
import { usageRoutes } from '../server/routes/usage.ts'
import { checkRoutes } from '../server/routes/verify.ts'
import type { LogReading } from './log-reading.ts'

export interface LogRouteParts {
  readonly logReading: LogReading
  /** Hashes end users. */
  readonly fleetKey: Buffer
}

const SIDECAR = text('Id or name of a sidecar: its entries alone.')
const LOG = text('Id of a log, in place of `sidecar`.')
const UNAVAILABLE = 503

export function logRoutes({ logReading, fleetKey }: LogRouteParts): ApiRoute[] {
  const queries = logReading.database
  const changesForm = {
    answer: 'FleetChanges',
    query: {
      sidecar: SIDECAR,
      log: LOG,
      cursor: text('`next_cursor` of an answer with the same filters, instead of `before`.'),
    },
    errors: [UNAVAILABLE],
  }
  const usageForm = {
    list: 'FleetUsageLogs',
    detail: 'FleetUsageEntryDetail',
    query: { sidecar: SIDECAR },
    errors: [UNAVAILABLE],
  }
  return [
    ...usageRoutes(
      new UsageReading({ queries, fleetKey }),
      systemClock,
      (run) => [hashRun(fleetKey, run)],
      usageForm,
    ),
    changesRoute(new ChangeReading(queries), changesForm),
    exportRoute(new LogLines(queries), {
      sidecar: text('Id or name of the sidecar whose log to export; without it and `log` that of the hubs.'),
      log: text('Id of the log to export, of a sidecar that has several.'),
    }),
    ...checkRoutes(logReading.check),
  ]
}
