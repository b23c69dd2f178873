// Creates the metrics of the gateway and their page. The tables list them.
// Labels never contain client text: names of models are bounded, and all other values come from
// fixed lists or from operators.

import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { OUTCOMES } from '../audit/entry-fields.ts'
import { API_NAMES } from '../chat/apis.ts'
import { ERRORS } from '../core/errors.ts'
import { isBuiltIn } from '../core/finding.ts'
import { MONITORING_PRECISION, registerEventLoopDelay } from './event-loop.ts'
import { BUDGET_GAUGES, CERTIFICATE_GAUGES, FLEET_GAUGES, GAUGES, type GatewayState } from './gauge-table.ts'
import { COUNTERS, HISTOGRAMS } from './metric-table.ts'
import { Counter, Histogram, registerRows } from './series.ts'

/** Model names that get a label of their own; others are counted as `other`. */
const MAXIMUM_MODELS = 100
/** Names of API keys that get a label of their own. */
const MAXIMUM_KEYS = 200
/** Names of tools that get a label of their own. */
const MAXIMUM_TOOLS = 200
/** Maximum open kinds of personal data with a label of their own; all others share `other`. */
const MAXIMUM_OPEN_KINDS = 100
/** Names of functions, and of tools and servers as `mcp:LABEL/TOOL`. */
const TOOL_NAME = /^[\w.:/-]{1,128}$/
/** Allows a version after `@`, as Google writes it, and `@` in front, as Cloudflare does. */
const MODEL_NAME = /^@?[\w./:+-]{1,128}(?:@(?:\d[\w.-]{0,32}|default|latest))?$/
/** Credentials contain a long word with a digit; names of models do not. */
const CREDENTIAL = /(?=[A-Za-z]*\d)\w{30}/

const SIGN_IN_RESULTS = ['ok', 'wrong_token', 'throttled', 'off', 'no_role', 'unfit_name', 'oidc_failed']

/** Steps of a call whose time is measured. */
export type Phase = 'key' | 'inspect' | 'recognise' | 'policy' | 'response' | 'seal'

export type { GatewayState } from './gauge-table.ts'

type Counters = { readonly [K in keyof typeof COUNTERS]: Counter<(typeof COUNTERS)[K]['labels'][number]> }
type Histograms = {
  readonly [K in keyof typeof HISTOGRAMS]: Histogram<(typeof HISTOGRAMS)[K]['labels'][number]>
}

export interface Metrics extends Counters, Histograms {
  readonly contentType: string
  readonly ruleReloadTime: Pick<Gauge, 'set'>
  readonly priceReloadTime: Pick<Gauge, 'set'>
  /** Returns the page in Prometheus' text format. */
  page(): Promise<string>
  /** Returns the label for a model. Call it only for a model that an upstream has answered for. */
  modelLabel(model: string): string
  /** Returns the label for a tool. */
  toolLabel(name: string): string
  /** Returns the label for a kind of personal data. */
  kindLabel(kind: string): string
  /** Returns the label for the name of an API key; null when keys are not counted apart. */
  keyLabel(name: string): string | null
}

/**
 * Creates all metrics.
 * @param state called once for each page; must be cheap
 * @param countsKeys whether keys are counted by name
 * @param hasHub whether the state of a fleet is shown
 */
export function createMetrics(
  version: string,
  state: () => GatewayState,
  countsKeys = true,
  hasHub = false,
): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, ...MONITORING_PRECISION })
  const startPage = registerState(registry, version, state, hasHub)
  registerEventLoopDelay(registry)
  const metrics: Metrics = {
    ...createCounters(registry),
    ...createHistograms(registry),
    contentType: registry.contentType,
    ruleReloadTime: new Gauge({
      name: 'sidegate_rule_reload_success_timestamp_seconds',
      help: 'Time of the last successful load of the rule files.',
      registers: [registry],
    }),
    priceReloadTime: new Gauge({
      name: 'sidegate_price_reload_success_timestamp_seconds',
      help: 'Time of the last successful load of the price file; 0 without one.',
      registers: [registry],
    }),
    page: () => {
      startPage()
      return registry.metrics()
    },
    modelLabel: boundedLabels(MAXIMUM_MODELS, (model) => MODEL_NAME.test(model) && !CREDENTIAL.test(model)),
    toolLabel: boundedLabels(MAXIMUM_TOOLS, (name) => TOOL_NAME.test(name) && !CREDENTIAL.test(name)),
    kindLabel: kindLabels(),
    keyLabel: countsKeys ? boundedLabels(MAXIMUM_KEYS, () => true) : () => null,
  }
  createFirstSeries(metrics)
  return metrics
}

/** Registers the metrics of the state. @returns a function to call before each page */
function registerState(
  registry: Registry,
  version: string,
  state: () => GatewayState,
  hasHub: boolean,
): () => void {
  const registers = [registry]
  let page: GatewayState | null = null
  const current = (): GatewayState => {
    page ??= state()
    return page
  }
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
    help: 'Rules by source and by whether they are enabled.',
    labelNames: ['source', 'enabled'],
    registers,
    collect() {
      this.reset()
      for (const rule of current().rules) this.labels(rule.source, String(rule.enabled)).inc()
    },
  })
  registerRows(registry, BUDGET_GAUGES, 'rule', () => current().budgets)
  registerRows(registry, CERTIFICATE_GAUGES, 'listener', () => current().certificates)
  for (const [name, help, read] of GAUGES)
    new Gauge({
      name: `sidegate_${name}`,
      help,
      registers,
      collect() {
        this.set(read(current()))
      },
    })
  for (const [name, help, read] of hasHub ? FLEET_GAUGES : [])
    new Gauge({
      name: `sidegate_${name}`,
      help,
      registers,
      collect() {
        const { fleet } = current()
        if (fleet !== null) this.set(read(fleet))
      },
    })
  return () => {
    page = null
  }
}

const createCounters = (registry: Registry): Counters =>
  mapValues(COUNTERS, (counter) => new Counter(registry, withPrefix(counter))) as Counters

const createHistograms = (registry: Registry): Histograms =>
  mapValues(
    HISTOGRAMS,
    (histogram) => new Histogram(registry, withPrefix(histogram), histogram.bounds),
  ) as Histograms

const mapValues = <T, R>(table: Readonly<Record<string, T>>, map: (value: T) => R): Record<string, R> =>
  Object.fromEntries(Object.entries(table).map(([key, value]) => [key, map(value)]))

const withPrefix = <T extends { readonly name: string }>(definition: T): T => ({
  ...definition,
  name: `sidegate_${definition.name}`,
})

/** Returns a label for a name: the name itself for the first allowed ones, then `other`. */
function boundedLabels(most: number, isAllowed: (name: string) => boolean): (name: string) => string {
  const names = new Set<string>()
  return (name) => {
    if (names.has(name)) return name
    if (names.size >= most || !isAllowed(name)) return 'other'
    names.add(name)
    return name
  }
}

/** Returns a label for a kind: itself when it is built in, else as `boundedLabels` says. */
function kindLabels(): (kind: string) => string {
  const open = boundedLabels(MAXIMUM_OPEN_KINDS, () => true)
  return (kind) => (isBuiltIn(kind) ? kind : open(kind))
}

/** Creates series with fixed labels at 0, because no query sees the increase of a new series. */
function createFirstSeries(metrics: Metrics): void {
  for (const stream of ['true', 'false'])
    for (const api of API_NAMES)
      for (const outcome of OUTCOMES) metrics.requests.inc({ api, outcome, stream }, 0)
  for (const code of Object.keys(ERRORS)) metrics.refusals.inc({ code }, 0)
  for (const result of SIGN_IN_RESULTS) metrics.signIns.inc({ result }, 0)
  for (const result of ['ok', 'error']) {
    metrics.ruleReloads.inc({ result }, 0)
    metrics.priceReloads.inc({ result }, 0)
  }
  for (const decision of ['pass', 'block']) metrics.binaryParts.inc({ decision }, 0)
  for (const decision of ['called', 'refused']) metrics.toolCalls.inc({ tool: 'other', decision }, 0)
}
