// Reports the state of the gateway: readiness for /readyz, values for /metrics. Never asks the
// upstream, whose outage must not take the gateway out of service.

import type { Clock, Milliseconds } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import type { JsonObject } from '../core/json.ts'
import { toUsd } from '../core/money.ts'
import { formatProblem } from '../core/problem.ts'
import type { GatewayState } from '../metrics/registry.ts'
import type { AdmissionControl } from '../pipeline/call/admission.ts'
import type { FleetQuota } from '../pipeline/limits/fleet-quota.ts'
import { countOf } from '../policy/limit-scope.ts'
import type { EffectiveRules } from '../rules/effective.ts'
import type { Health } from '../server/ops.ts'
import type { Counters } from '../store/limits/counters.ts'
import type { Store } from '../store/store.ts'
import type { Attestation } from './attestation.ts'
import type { HubLink } from './hub-link.ts'
import type { InForce } from './in-force.ts'
import {
  certificatesHealth,
  type LiveCertificate,
  type LiveCertificates,
  servedBy,
} from './live-certificate.ts'
import { configHealth, type LiveConfig } from './live-config.ts'
import type { LivePrices } from './live-prices.ts'

/** Names of rules in readiness. */
const MAXIMUM_NAMES = 20

interface HealthParts {
  readonly admission: Pick<AdmissionControl, 'auditHindrance' | 'draining'>
  readonly rules: Pick<EffectiveRules, 'errors' | 'revision' | 'hidden'>
  /** Null without prices. */
  readonly prices: Pick<LivePrices, 'current' | 'problems' | 'hidden'> | null
  /** Null without a hub. */
  readonly fleet: Pick<HubLink, 'isReady' | 'health'> | null
  readonly liveConfig: Pick<LiveConfig<Config, never>, 'state'>
  /** Number of damaged logs set aside in the data folder. */
  readonly quarantines: number
  readonly certificates: readonly LiveCertificate[]
}

/**
 * Ready means that the store takes writes, the gateway is not draining, and it has the keys that it
 * waits for.
 */
export function healthOf(parts: HealthParts): Health {
  const { admission, rules, prices, fleet, liveConfig, quarantines, certificates } = parts
  const { auditHindrance, draining } = admission
  const errors = rules.errors().map(formatProblem)
  return {
    ready: auditHindrance === null && !draining && fleet?.isReady !== false,
    detail: {
      store: auditHindrance ?? 'ok',
      rules: errors.length === 0 ? 'ok' : 'the last good rules are in force',
      rule_errors: errors,
      revision: rules.revision,
      ...(prices === null ? {} : pricesHealth(prices)),
      configuration: configHealth(liveConfig.state),
      ...(fleet === null ? {} : { ...fleet.health(), ...hiddenByHub(parts) }),
      ...certificatesHealth(certificates),
      draining,
      quarantines,
    },
  }
}

/** Own rules and prices that do not count, because the hub has some of the same names. */
const hiddenByHub = ({ rules, prices }: Pick<HealthParts, 'rules' | 'prices'>): JsonObject => ({
  hidden_rules: rules.hidden.map(({ name }) => name).slice(0, MAXIMUM_NAMES),
  hidden_prices: prices?.hidden ?? [],
})

function pricesHealth(prices: Pick<LivePrices, 'current' | 'problems'>): JsonObject {
  const errors = prices.problems().map(formatProblem)
  return {
    prices: errors.length === 0 ? 'ok' : 'the last good prices are in force',
    price_errors: errors,
    price_revision: prices.current().revision || null,
  }
}

interface StateParts {
  readonly config: Pick<Config, 'audit'>
  readonly clock: Clock
  readonly store: Pick<Store, 'ring' | 'counters' | 'log' | 'size' | 'journal'>
  readonly attestation: Pick<Attestation, 'state'>
  readonly rules: EffectiveRules
  readonly prices: LivePrices | null
  readonly fleet: HubLink | null
  readonly admission: Pick<AdmissionControl, 'auditable' | 'inFlight'>
  readonly inForce: Pick<InForce, 'served'>
  readonly liveConfig: HealthParts['liveConfig']
  readonly quarantines: number
  readonly certificates: LiveCertificates<string>
}

/**
 * Reads the values of the metrics page. Made before the parts, which are connected once they exist.
 */
export class StateReader {
  #parts: StateParts | null = null

  connect(parts: StateParts): void {
    this.#parts = parts
  }

  /** @throws Error before `connect` */
  read(): GatewayState {
    if (this.#parts === null) throw new Error('the parts of the gateway are not connected yet')
    const { config, clock, store, attestation, rules, prices, admission, quarantines } = this.#parts
    const { fleet, certificates, inForce, liveConfig } = this.#parts
    return {
      ...rulesState(rules, clock.now()),
      ...attestation.state(),
      activeKeys: store.ring.countActive(),
      tokenLimits: store.counters.size,
      budgets: budgetsOf(rules, store.counters, fleet?.limits ?? null),
      auditSequence: store.log.head.seq,
      auditAvailable: admission.auditable,
      ruleFilesInForce: rules.fileErrors.length === 0,
      priceFileInForce: prices === null || prices.problems().length === 0,
      auditQuarantines: quarantines,
      storeBytes: store.size().usedBytes,
      storeLimitBytes: config.audit.maxBytes,
      journal: store.journal(),
      callsInFlight: admission.inFlight,
      upstreamsOpen: inForce.served.pipeline.upstreams.open.length,
      configurationStale: liveConfig.state.changed,
      fleet: fleet?.state() ?? null,
      certificates: servedBy(certificates).map((one) => one.state()),
    }
  }
}

/** @param hub counts those of its rules; null without one */
const budgetsOf = (
  { current }: EffectiveRules,
  counters: Pick<Counters, 'highestUse'>,
  hub: Pick<FleetQuota, 'isOfHub' | 'highestUse'> | null,
) =>
  current.budgets.map((limit) => {
    const count = countOf(limit)
    const counter = hub?.isOfHub(count) ? hub : counters
    return {
      rule: limit.rule.name,
      usedUsd: toUsd(counter.highestUse(count, limit.windowMs)),
      allowedUsd: toUsd(limit.amount),
    }
  })

type RulesState = Pick<GatewayState, 'policyRevision' | 'rules' | 'overrides' | 'oldestOverrideSeconds'>

function rulesState(effective: EffectiveRules, nowMs: Milliseconds): RulesState {
  const rules = effective.list()
  const overrides = rules.filter((rule) => rule.override !== null)
  const oldestMs = Math.min(...overrides.map((rule) => rule.updatedAtMs), nowMs)
  return {
    policyRevision: effective.revision,
    rules: rules.map(({ source, enabled }) => ({ source: source.kind, enabled })),
    overrides: overrides.length,
    oldestOverrideSeconds: (nowMs - oldestMs) / 1000,
  }
}
