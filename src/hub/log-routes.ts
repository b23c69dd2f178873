// The routes of a hub that read the logs of all sidecars. Paths and answers are those of a gateway;
// an answer names the sidecar besides.

import { hashRun } from '../audit/user-hash.ts'
import { systemClock } from '../core/clock.ts'
import { text } from '../core/schema-builders.ts'
import { ChangeReading } from '../ledger/change-reading.ts'
import type { LedgerReceipts } from '../ledger/ledger-receipts.ts'
import { limitsInUseOf } from '../ledger/limit-usage.ts'
import { LogLines } from '../ledger/log-lines.ts'
import { UsageReading } from '../ledger/usage-reading.ts'
import { FleetUsage } from '../ledger/usage-sums.ts'
import type { ApiRoute } from '../server/api.ts'
import type { QueryString } from '../server/query-string.ts'
import { type ProvenLog, proofRoute, receiptRoute } from '../server/routes/audit.ts'
import { changesRoute } from '../server/routes/changes.ts'
import { exportRoute } from '../server/routes/export.ts'
import type { Keys } from '../server/routes/keys.ts'
import { usageRoutes } from '../server/routes/usage.ts'
import { usageLimitsRoute } from '../server/routes/usage-limits.ts'
import { usageLiveRoute } from '../server/routes/usage-live.ts'
import { usageReportRoute } from '../server/routes/usage-report.ts'
import { usageSeriesRoute } from '../server/routes/usage-series.ts'
import { checkRoutes } from '../server/routes/verify.ts'
import type { Gatekeeper } from '../server/session.ts'
import { HUB_FIELDS } from '../usage/report-query.ts'
import type { HubPolicy } from './hub-policy.ts'
import type { LogReading } from './log-reading.ts'

export interface LogRouteParts {
  readonly logReading: LogReading
  /** Hashes end users. */
  readonly fleetKey: Buffer
  readonly keys: Pick<Keys, 'list'>
  readonly policy: Pick<HubPolicy, 'limits'>
  readonly gatekeeper: Pick<Gatekeeper, 'require'>
}

const SIDECAR = text('Id or name of a sidecar: its entries alone.')
const LOG = text('Id of a log, in place of `sidecar`.')
const UNAVAILABLE = 503
const SERIES =
  'Returns usage over time: the last hours minute by minute, or the last days hour by hour (up to 7) or day by day. The time that gateways add and streams are null.'

const LIVE =
  'Streams the calls of all sidecars that hubs store from now on as server-sent events: `entry` with the entry as in the list, `gap` with `{"missed": n}` where about n calls were left out (null: nobody counted them), and `database` with `{"available": false, "since": …}` while no calls can be read. A reader that sends `Last-Event-ID` within a minute gets what it missed first, and calls of a few seconds before again. The stream ends with the session.'

export function logRoutes({ logReading, fleetKey, keys, policy, gatekeeper }: LogRouteParts): ApiRoute[] {
  const queries = logReading.database
  const errors = [UNAVAILABLE]
  const sums = new FleetUsage(queries, systemClock)
  const { receipts } = logReading
  const changesForm = {
    answer: 'FleetChanges',
    query: {
      sidecar: SIDECAR,
      log: LOG,
      cursor: text('`next_cursor` of an answer with the same filters, instead of `before`.'),
    },
    errors,
  }
  const usageForm = {
    list: 'FleetUsageLogs',
    detail: 'FleetUsageEntryDetail',
    query: { sidecar: SIDECAR },
    errors,
  }
  return [
    ...usageRoutes(
      new UsageReading({ queries, fleetKey }),
      systemClock,
      (run) => [hashRun(fleetKey, run)],
      usageForm,
    ),
    usageLiveRoute(logReading.tail, gatekeeper, LIVE),
    usageReportRoute(sums, systemClock, { fields: HUB_FIELDS, errors }),
    usageSeriesRoute(sums, sums, systemClock, { summary: SERIES, errors }),
    usageLimitsRoute(
      {
        rules: () => policy.limits,
        keys: () => keys.list(),
        counts: (nowMs) => limitsInUseOf(queries, nowMs),
        hub: { isOfHub: () => true, isAlone: false },
      },
      systemClock,
      errors,
    ),
    changesRoute(new ChangeReading(queries), changesForm),
    exportRoute(new LogLines(queries), {
      sidecar: text('Id or name of the sidecar whose log to export; without it and `log` that of the hubs.'),
      log: text('Id of the log to export, of a sidecar that has several.'),
    }),
    ...checkRoutes(logReading.check, errors),
    proofRoute((query) => provenLog(receipts, query), { query: { sidecar: SIDECAR, log: LOG } }),
    receiptRoute((id) => receipts.receipt(id)),
  ]
}

/** Finds the log of a sidecar that a request means. */
async function provenLog(receipts: LedgerReceipts, query: QueryString): Promise<ProvenLog> {
  const { log, size, signed } = await receipts.log({
    sidecar: query.text('sidecar'),
    log: query.text('log'),
  })
  return {
    ...{ size, signed: signed ?? size },
    inclusion: (seq, of) => receipts.inclusion(log, seq, of),
    consistency: (from, of) => receipts.consistency(log, from, of),
  }
}
