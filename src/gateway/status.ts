// Reports the state of the gateway to administrators: one object with what an overview shows.
// Holds nothing secret.

import type { Milliseconds } from '../core/clock.ts'
import type { JsonObject } from '../core/json.ts'
import { formatProblem } from '../core/problem.ts'
import { isoTime } from '../core/time.ts'
import { VERSION } from '../core/version.ts'
import type { GatewayState } from '../metrics/registry.ts'
import type { AdmissionControl } from '../pipeline/call/admission.ts'
import type { EffectiveRules } from '../rules/effective.ts'
import { freeBytesOf } from '../store/files/disk-space.ts'
import { CLOCK_DOUBT } from '../store/log/clock-doubt.ts'
import type { Store } from '../store/store.ts'
import type { Attestation } from './attestation.ts'
import type { HubLink } from './hub-link.ts'
import type { InForce } from './in-force.ts'
import type { LivePrices } from './live-prices.ts'

interface StatusParts {
  readonly startedAtMs: Milliseconds
  /** The data folder. */
  readonly path: string
  /** The values of the metrics page. */
  readonly state: () => GatewayState
  readonly admission: Pick<AdmissionControl, 'draining'>
  /** Null without a hub. */
  readonly fleet: Pick<HubLink, 'isReady' | 'status'> | null
  readonly store: Pick<Store, 'log' | 'isClockDoubted'>
  readonly rules: Pick<EffectiveRules, 'list' | 'errors' | 'loadedAtMs'>
  /** Whether candidate rules are compared with those in force. */
  readonly hasCandidate: boolean
  /** Null without prices. */
  readonly prices: Pick<LivePrices, 'current'> | null
  readonly inForce: Pick<InForce, 'served'>
  readonly attestation: Pick<Attestation, 'signatures' | 'check'>
}

export function statusOf(parts: StatusParts): JsonObject {
  const { admission, prices, attestation, fleet } = parts
  const { upstreams } = parts.inForce.served.pipeline
  const state = parts.state()
  const { draining } = admission
  const open = new Set(upstreams.open)
  return {
    version: VERSION,
    started_at: isoTime(parts.startedAtMs),
    ready: state.auditAvailable && !draining && fleet?.isReady !== false,
    draining,
    store: storeOf(parts.path, state),
    rules: { ...rulesOf(parts.rules, state), candidate: parts.hasCandidate },
    prices:
      prices === null
        ? null
        : { revision: prices.current().revision || null, in_force: state.priceFileInForce },
    upstreams: upstreams.names.map((name) => ({ name, open: open.has(name) })),
    audit: auditOf(parts.store, attestation, state),
    calls_in_flight: state.callsInFlight,
    fleet: fleet?.status() ?? null,
  }
}

const storeOf = (path: string, state: GatewayState): JsonObject => ({
  available: state.auditAvailable,
  used_bytes: state.storeBytes,
  limit_bytes: state.storeLimitBytes,
  free_bytes: freeBytesOf(path),
  journal_lag_frames: state.journal?.lagFrames ?? 0,
  journal_lag_seconds: (state.journal?.lagMs ?? 0) / 1000,
  quarantines: state.auditQuarantines,
})

const rulesOf = (rules: StatusParts['rules'], state: GatewayState): JsonObject => ({
  revision: state.policyRevision,
  total: state.rules.length,
  enabled: state.rules.filter(({ enabled }) => enabled).length,
  overrides: state.overrides,
  in_force: state.ruleFilesInForce,
  errors: rules.errors().map(formatProblem),
  loaded_at: isoTime(rules.loadedAtMs),
})

function auditOf(
  { log, isClockDoubted }: StatusParts['store'],
  { signatures, check }: StatusParts['attestation'],
  { verified }: GatewayState,
): JsonObject {
  const { newest } = signatures
  const { seq, hash } = log.head
  return {
    seq,
    hash,
    checkpoint: newest === null ? null : { size: newest.size, created_at: newest.time },
    verification: {
      running: check.status.running,
      ok: verified?.ok ?? null,
      finished_at: verified ? isoTime(verified.timeSeconds * 1000) : null,
    },
    retention: { waits: isClockDoubted, reason: isClockDoubted ? CLOCK_DOUBT : null },
  }
}
