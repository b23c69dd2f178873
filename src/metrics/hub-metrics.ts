// The metrics of a hub and their page. Labels come from fixed lists.

import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { MONITORING_PRECISION } from './event-loop.ts'
import { CERTIFICATE_GAUGES, type CertificateState, CONFIGURATION_STALE } from './gauge-table.ts'
import { COUNTERS } from './metric-table.ts'
import { Counter, Histogram, registerRows } from './series.ts'

const counterOf = <L extends string>(
  registry: Registry,
  definition: { readonly name: string; readonly help: string; readonly labels: readonly L[] },
): Counter<L> => new Counter(registry, { ...definition, name: `sidegate_${definition.name}` })

/** Seconds from the sealing of an entry to its storage: an outage is made up for in minutes. */
const DELAY_SECONDS = [0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 1800, 7200, 86_400]

/** What the page of a hub shows besides what is counted; read once for each page. */
interface HubState {
  readonly certificates: () => readonly CertificateState[]
  /** Whether the configuration file differs from what is in force. */
  readonly isConfigStale: () => boolean
  /** Whether the rule files and the price file of this hub are in force, or there are none. */
  readonly areRuleFilesInForce: () => boolean
  readonly isPriceFileInForce: () => boolean
}

function showVersion(registry: Registry, version: string): void {
  const build = new Gauge({
    name: 'sidegate_build_info',
    help: 'Version of the hub; always 1.',
    labelNames: ['version'],
    registers: [registry],
  })
  build.labels(version).set(1)
}

/** Shows whether the files of this hub are in force. */
function showFiles(registry: Registry, state: HubState): void {
  const none = 'of this hub are in force or there are none, 0 otherwise.'
  for (const [name, help, read] of [
    [CONFIGURATION_STALE.name, CONFIGURATION_STALE.help, state.isConfigStale],
    ['rule_files_in_force', `1 while the rule files ${none}`, state.areRuleFilesInForce],
    ['price_file_in_force', `1 while the price file ${none}`, state.isPriceFileInForce],
  ] as const)
    new Gauge({
      name: `sidegate_${name}`,
      help,
      registers: [registry],
      collect() {
        this.set(Number(read()))
      },
    })
}

/** Creates the metrics of a hub. */
export function createHubMetrics(version: string, state: HubState) {
  const registry = new Registry()
  registerRows(registry, CERTIFICATE_GAUGES, 'listener', state.certificates)
  showFiles(registry, state)
  collectDefaultMetrics({ register: registry, ...MONITORING_PRECISION })
  showVersion(registry, version)
  const gauge = (name: string, help: string): Gauge => new Gauge({ name, help, registers: [registry] })
  const sidecarsRefused = new Counter(registry, {
    name: 'sidegate_sidecars_refused_total',
    help: 'Requests of sidecars whose token was refused, by the check that failed: expired, audience, issuer, signature, account, malformed or unknown_sidecar.',
    labels: ['reason'],
  })
  const ingestDelay = new Histogram(
    registry,
    {
      name: 'sidegate_hub_ingest_delay_seconds',
      help: 'Seconds from the sealing of the newest entry of a shipment to its storage.',
      labels: [],
    },
    DELAY_SECONDS,
  )
  const counter = <L extends string = never>(name: string, help: string, ...labels: L[]): Counter<L> =>
    new Counter<L>(registry, { name, help, labels })
  return {
    contentType: registry.contentType,
    page: () => registry.metrics(),
    refusals: counterOf(registry, COUNTERS.refusals),
    signIns: counterOf(registry, COUNTERS.signIns),
    ruleReloads: counterOf(registry, COUNTERS.ruleReloads),
    priceReloads: counterOf(registry, COUNTERS.priceReloads),
    checkpointSize: gauge(
      'sidegate_hub_checkpoint_entries',
      'Entries of the log of the hubs that the newest checkpoint of this hub covers.',
    ),
    ...feedMetrics(registry),
    ordersOpen: gauge(
      'sidegate_hub_erase_orders_open',
      'Orders of erasure that some sidecar has not applied.',
    ),
    orderAgeSeconds: gauge(
      'sidegate_hub_erase_order_age_seconds',
      'Age of the oldest order of erasure that some sidecar has not applied; 0 without one.',
    ),
    sidecarsRefused,
    entries: counter('sidegate_hub_entries_total', 'Entries of sidecars that this hub has stored.'),
    ingestDelay,
    conflicts: counter(
      'sidegate_hub_conflicts_total',
      'Shipments of sidecars that do not fit what is stored, by kind: fork, forged, foreign, gap, chain, form or checkpoint.',
      'kind',
    ),
    logsCut: gauge(
      'sidegate_hub_logs_cut',
      'Logs that ended without a stop entry and whose sidecar is not heard any more.',
    ),
    logsDamaged: gauge(
      'sidegate_hub_logs_damaged',
      'Logs in which the newest full check found something; 0 before the first check.',
    ),
    ...leaseMetrics(registry),
  }
}

const feedMetrics = (registry: Registry) => {
  const gauge = (name: string, help: string): Gauge => new Gauge({ name, help, registers: [registry] })
  return {
    feeds: gauge('sidegate_hub_feeds', 'Sidecars with an open feed at this hub.'),
    databaseUp: gauge('sidegate_hub_database_up', '1 while this hub can read its database, 0 otherwise.'),
    rev: gauge('sidegate_hub_revision', 'Newest revision of the keys that this hub has sent.'),
    listening: gauge(
      'sidegate_hub_listening',
      '1 while the database notifies this hub of changes; 0 while it is polled.',
    ),
    feedsAhead: new Counter(registry, {
      name: 'sidegate_hub_feeds_ahead_total',
      help: 'Feeds that this hub ended because the sidecar knows more than the database: one that was restored from a backup.',
      labels: [],
    }),
  }
}

const leaseMetrics = (registry: Registry) => ({
  leaseRequests: new Counter(registry, {
    name: 'sidegate_hub_lease_requests_total',
    help: 'Requests of sidecars for parts of limits, by result: answered, or failed.',
    labels: ['result'],
  }),
  leaseRefusals: new Counter(registry, {
    name: 'sidegate_hub_lease_refusals_total',
    help: 'Parts of such requests that were refused, by reason: unknown_limit, switched_off, namespace, amount or late_request.',
    labels: ['reason'],
  }),
})

export type HubMetrics = ReturnType<typeof createHubMetrics>
