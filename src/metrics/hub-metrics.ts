// The metrics of a hub and their page. Labels come from fixed lists.

import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { MONITORING_PRECISION } from './event-loop.ts'
import { CERTIFICATE_GAUGES, type CertificateState, CONFIGURATION_STALE, COUNTERS } from './metric-table.ts'
import { Counter, registerRows } from './series.ts'

const counterOf = <L extends string>(
  registry: Registry,
  definition: { readonly name: string; readonly help: string; readonly labels: readonly L[] },
): Counter<L> => new Counter(registry, { ...definition, name: `sidegate_${definition.name}` })

/** What the page of a hub shows besides what is counted; read once for each page. */
interface HubState {
  readonly certificates: () => readonly CertificateState[]
  /** Whether the configuration file differs from what is in force. */
  readonly isConfigStale: () => boolean
}

/** Creates the metrics of a hub. */
export function createHubMetrics(version: string, { certificates, isConfigStale }: HubState) {
  const registry = new Registry()
  registerRows(registry, CERTIFICATE_GAUGES, 'listener', certificates)
  new Gauge({
    name: `sidegate_${CONFIGURATION_STALE.name}`,
    help: CONFIGURATION_STALE.help,
    registers: [registry],
    collect() {
      this.set(Number(isConfigStale()))
    },
  })
  collectDefaultMetrics({ register: registry, ...MONITORING_PRECISION })
  const build = new Gauge({
    name: 'sidegate_build_info',
    help: 'Version of the hub; always 1.',
    labelNames: ['version'],
    registers: [registry],
  })
  build.labels(version).set(1)
  const checkpointSize = new Gauge({
    name: 'sidegate_hub_checkpoint_entries',
    help: 'Entries of the log of the hubs that the newest checkpoint of this hub covers.',
    registers: [registry],
  })
  const gauge = (name: string, help: string): Gauge => new Gauge({ name, help, registers: [registry] })
  const sidecarsRefused = new Counter(registry, {
    name: 'sidegate_sidecars_refused_total',
    help: 'Requests of sidecars whose token was refused, by the check that failed: expired, audience, issuer, signature, account, malformed or unknown_sidecar.',
    labels: ['reason'],
  })
  return {
    contentType: registry.contentType,
    page: () => registry.metrics(),
    refusals: counterOf(registry, COUNTERS.refusals),
    signIns: counterOf(registry, COUNTERS.signIns),
    checkpointSize,
    feeds: gauge('sidegate_hub_feeds', 'Sidecars with an open feed at this hub.'),
    rev: gauge('sidegate_hub_revision', 'Newest revision of the keys that this hub has sent.'),
    listening: gauge(
      'sidegate_hub_listening',
      '1 while the database notifies this hub of changes; 0 while it is polled.',
    ),
    sidecarsRefused,
  }
}

export type HubMetrics = ReturnType<typeof createHubMetrics>
