// Every metric in one file: its name, help, labels and buckets. The rest of the code calls what is exported here.
// Labels never carry client text: model names are bounded, all other values come from fixed lists or from operators.

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Outcome } from '../audit/entry.ts'
import { ERRORS } from '../core/errors.ts'

/** Distinct model names that get a label of their own; more are counted as `other`. */
const MAX_MODELS = 100
/** With a version behind an `@` as Google writes it, and before all as Cloudflare does. */
const MODEL_NAME = /^@?[\w./:+-]{1,128}(?:@(?:\d[\w.-]{0,32}|default|latest))?$/
/** No name of a model has so long a word with a digit, and all credentials do. */
const CREDENTIAL = /(?=[A-Za-z]*\d)\w{30}/

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120]
const OVERHEAD_SECONDS = [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5]
const SCORES = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]

/** How often the event loop is looked at, milliseconds; also the delay of an idle one. */
const LOOP_DELAY_RESOLUTION_MS = 10
const NANOSECONDS = 1e9

/** Nothing measured yet reads as no delay. */
const loopDelaySeconds = (delay: ReturnType<typeof monitorEventLoopDelay>, quantile: number): number =>
  delay.count === 0
    ? 0
    : Math.max(0, delay.percentile(quantile * 100) / NANOSECONDS - LOOP_DELAY_RESOLUTION_MS / 1000)

const OUTCOMES: readonly Outcome[] = [
  'ok',
  'blocked',
  'rate_limited',
  'upstream_error',
  'client_aborted',
  'interrupted',
  'invalid_request',
  'overloaded',
]

/** Steps of a call whose own time is measured. */
export type Phase = 'key' | 'inspect' | 'policy' | 'response' | 'seal'

/** What is read when the page is scraped, handed in by the composition root. */
export interface GatewayState {
  readonly policyRevision: string
  readonly rules: readonly { readonly source: 'file' | 'api'; readonly enabled: boolean }[]
  readonly overrides: number
  readonly oldestOverrideSeconds: number
  readonly activeKeys: number
  readonly tokenLimits: number
  readonly auditSequence: number
  readonly auditAvailable: boolean
  /** Whether the rule files are in force as they are now. */
  readonly ruleFilesInForce: boolean
  /** Damaged logs that lie set aside. */
  readonly auditQuarantines: number
  /** The newest checkpoint; null before the first. */
  readonly checkpoint: {
    readonly sequence: number
    readonly fingerprint: number
    readonly timeSeconds: number
  } | null
  /** The last full check; null before the first. */
  readonly verified: { readonly ok: boolean; readonly sequence: number; readonly timeSeconds: number } | null
  readonly storeBytes: number
  readonly storeLimitBytes: number
  readonly callsInFlight: number
}

export type Metrics = ReturnType<typeof createMetrics>

/** @param state called at each scrape; must be cheap */
export function createMetrics(version: string, state: () => GatewayState) {
  const registry = new Registry()
  const registers = [registry]
  /** Of the page that is being made: looked up once for all that show a part of it. */
  let shown: GatewayState | null = null
  const current = (): GatewayState => {
    shown ??= state()
    return shown
  }
  const counter = <T extends string>(name: string, help: string, ...labelNames: T[]) =>
    new Counter<T>({ name: `sidegate_${name}`, help, labelNames, registers })
  const histogram = <T extends string>(name: string, help: string, buckets: number[], ...labelNames: T[]) =>
    new Histogram<T>({ name: `sidegate_${name}`, help, buckets, labelNames, registers })
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name: `sidegate_${name}`,
      help,
      registers,
      collect() {
        this.set(read())
      },
    })

  collectDefaultMetrics({ register: registry })
  new Gauge({
    name: 'sidegate_build_info',
    help: 'Version of the gateway; always 1.',
    labelNames: ['version'],
    registers,
  })
    .labels(version)
    .set(1)
  new Gauge({
    name: 'sidegate_rules_revision_info',
    help: 'Revision of the rule set in force; always 1.',
    labelNames: ['revision'],
    registers,
    collect() {
      this.reset()
      this.labels(current().policyRevision).set(1)
    },
  })
  new Gauge({
    name: 'sidegate_rules',
    help: 'Rules known, by where they are declared and whether they are enabled.',
    labelNames: ['source', 'enabled'],
    registers,
    collect() {
      this.reset()
      for (const rule of current().rules) this.labels(rule.source, String(rule.enabled)).inc()
    },
  })
  gauge(
    'rule_files_in_force',
    '1 while the rule files are in force as they are; 0 while older ones stay.',
    () => Number(current().ruleFilesInForce),
  )
  gauge(
    'rule_overrides',
    'Rules whose enabled state is overridden through the API.',
    () => current().overrides,
  )
  gauge(
    'rule_override_oldest_seconds',
    'Age of the oldest override, 0 without one.',
    () => current().oldestOverrideSeconds,
  )
  gauge(
    'keys_active',
    'API keys that are accepted, from the API and from the configuration.',
    () => current().activeKeys,
  )
  gauge(
    'token_limit_windows',
    'Token windows being counted, one a key and rate_limit rule.',
    () => current().tokenLimits,
  )
  gauge('audit_chain_sequence', 'Sequence number of the newest sealed entry.', () => current().auditSequence)
  gauge('audit_available', '1 while entries can be sealed; at 0 calls are refused.', () =>
    Number(current().auditAvailable),
  )
  gauge(
    'audit_quarantines',
    'Damaged logs that lie set aside in the data folder (quarantine-*), until somebody takes them away.',
    () => current().auditQuarantines,
  )
  gauge(
    'audit_checkpoint_sequence',
    'Newest entry that a checkpoint is signed over; -1 before the first.',
    () => current().checkpoint?.sequence ?? -1,
  )
  gauge(
    'audit_checkpoint_fingerprint',
    'The first 52 bits of the Merkle root in it: kept elsewhere, a sample is a witness of the log.',
    () => current().checkpoint?.fingerprint ?? 0,
  )
  gauge(
    'audit_checkpoint_timestamp_seconds',
    'When it was signed; 0 before the first.',
    () => current().checkpoint?.timeSeconds ?? 0,
  )
  gauge(
    'audit_verified',
    '1 when the last full check since the start (POST /api/v1/audit/verify) found the log intact, 0 when not, -1 before the first.',
    () => (current().verified === null ? -1 : Number(current().verified?.ok)),
  )
  gauge(
    'audit_verified_sequence',
    'Newest entry of the last full check; -1 before the first.',
    () => current().verified?.sequence ?? -1,
  )
  gauge(
    'audit_verified_timestamp_seconds',
    'When the last full check ended; 0 before the first.',
    () => current().verified?.timeSeconds ?? 0,
  )
  gauge('store_bytes', 'Bytes of the store in use.', () => current().storeBytes)
  gauge('store_limit_bytes', 'Bytes that the store stays below.', () => current().storeLimitBytes)
  gauge('calls_in_flight', 'Chat calls being handled.', () => current().callsInFlight)

  const loopDelay = monitorEventLoopDelay({ resolution: LOOP_DELAY_RESOLUTION_MS })
  loopDelay.enable()
  new Gauge({
    name: 'sidegate_event_loop_delay_seconds',
    help: 'Delay of the event loop since the last scrape, by quantile.',
    labelNames: ['quantile'],
    registers,
    collect() {
      for (const quantile of [0.5, 0.9, 0.99])
        this.labels(String(quantile)).set(loopDelaySeconds(loopDelay, quantile))
      loopDelay.reset()
    },
  })

  const models = new Set<string>()
  const metrics = {
    /** The text format of Prometheus, with its content type. */
    page: () => {
      shown = null
      return registry.metrics()
    },
    contentType: registry.contentType,
    /** The label for a model that an upstream has answered for. */
    modelLabel(model: string): string {
      if (models.has(model)) return model
      if (models.size >= MAX_MODELS || !MODEL_NAME.test(model) || CREDENTIAL.test(model)) return 'other'
      models.add(model)
      return model
    },
    requests: counter('requests_total', 'Sealed chat calls by outcome.', 'outcome', 'stream'),
    refusals: counter('refusals_total', 'Requests answered with an error, by its code.', 'code'),
    duration: histogram(
      'request_duration_seconds',
      'Time from the request to the end of its answer.',
      SECONDS,
      'outcome',
    ),
    overhead: histogram(
      'overhead_seconds',
      "The gateway's own time by step of a call, waiting for the upstream left out.",
      OVERHEAD_SECONDS,
      'phase',
    ),
    upstreamDuration: histogram(
      'upstream_duration_seconds',
      'Time spent waiting for the upstream.',
      SECONDS,
      'status',
    ),
    timeToFirstToken: histogram(
      'time_to_first_token_seconds',
      'Time to the first piece of a stream.',
      SECONDS,
    ),
    tokens: counter('tokens_total', 'Tokens by direction and model.', 'direction', 'model'),
    piiFindings: counter(
      'pii_findings_total',
      'Personal data found, by kind and direction.',
      'kind',
      'direction',
    ),
    binaryParts: counter('binary_parts_total', 'Payloads that could not be scanned.', 'decision'),
    ruleDecisions: counter('rule_decisions_total', 'Rules that fired.', 'rule', 'action', 'direction'),
    injectionScore: histogram(
      'injection_score',
      'Prompt injection scores of calls that were scored.',
      SCORES,
    ),
    candidateCalls: counter(
      'candidate_calls_total',
      'Calls judged by the rules on trial as well, by whether anything would have changed.',
      'changed',
    ),
    candidateDifferences: counter(
      'candidate_differences_total',
      'What rules do to calls and would do as on trial, where the two differ.',
      'rule',
      'live',
      'candidate',
    ),
    ruleReloads: counter('rule_reloads_total', 'Loads of the rule files by result.', 'result'),
    ruleReloadTime: new Gauge({
      name: 'sidegate_rule_reload_success_timestamp_seconds',
      help: 'When the rule files were last loaded successfully.',
      registers,
    }),
    auditEntries: counter('audit_entries_total', 'Entries sealed, by type.', 'type'),
    auditPruned: counter('audit_pruned_entries_total', 'Entries that went by age or for want of room.'),
    auditContentDropped: counter(
      'audit_content_dropped_total',
      'Calls sealed without their exchange for want of room (audit.whenFull: drop-content).',
    ),
    auditCommit: histogram(
      'audit_commit_seconds',
      'Time from sealing an entry to its being durable.',
      OVERHEAD_SECONDS,
    ),
  }
  // A series that is there from the start: otherwise the first increase is one that no query sees.
  for (const stream of ['true', 'false'])
    for (const outcome of OUTCOMES) metrics.requests.inc({ outcome, stream }, 0)
  for (const code of Object.keys(ERRORS)) metrics.refusals.inc({ code }, 0)
  for (const result of ['ok', 'error']) metrics.ruleReloads.inc({ result }, 0)
  for (const decision of ['pass', 'block']) metrics.binaryParts.inc({ decision }, 0)
  return metrics
}
