// Builds the handlers of both listeners: what answers a request, and what it reports.

import { randomBytes } from 'node:crypto'
import type { Clock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import { RELOADABLE } from '../core/config-changes.ts'
import { CONFIG_SCHEMA } from '../core/config-schema.ts'
import type { Metrics } from '../metrics/registry.ts'
import type { AdmissionControl } from '../pipeline/call/admission.ts'
import { BasePath } from '../server/base-path.ts'
import { ConsoleFiles } from '../server/console-files.ts'
import { gatewayHandler } from '../server/handler.ts'
import type { Handler } from '../server/listener.ts'
import type { LiveTail } from '../server/live-tail.ts'
import { LOGIN_KEY_BYTES } from '../server/login-cookie.ts'
import { opsHandler } from '../server/ops.ts'
import { SignInJournal } from '../server/sign-in-journal.ts'
import type { Store } from '../store/store.ts'
import { AdminAccess } from './admin-access.ts'
import type { Attestation } from './attestation.ts'
import { configView } from './config-view.ts'
import { readConsoleFiles } from './console.ts'
import type { DataFolder } from './datafolder.ts'
import { healthOf, type StateReader } from './health.ts'
import type { HubLink } from './hub-link.ts'
import type { InForce, LiveGatewayConfig } from './in-force.ts'
import { type LiveCertificates, servedBy } from './live-certificate.ts'
import type { LivePrices } from './live-prices.ts'
import type { LiveRules } from './live-rules.ts'
import type { GatewayLogger } from './logger.ts'
import { managementRoutes } from './routes.ts'
import type { ShadowRules } from './shadow-rules.ts'
import { statusOf } from './status.ts'

interface HandlerSources {
  readonly clock: Clock
  readonly config: Config
  readonly logger: GatewayLogger
  readonly folder: DataFolder
  readonly metrics: Metrics
  readonly store: Store
  readonly attestation: Attestation
  readonly rules: LiveRules
  readonly prices: LivePrices | null
  readonly admission: AdmissionControl
  readonly fleet: HubLink | null
  readonly shadowRules: ShadowRules | null
  readonly liveTail: LiveTail
  readonly certificates: LiveCertificates<string>
  readonly inForce: InForce
  readonly liveConfig: LiveGatewayConfig
  readonly state: StateReader
  readonly admin: AdminAccess
}

export function buildAdminAccess({
  clock,
  config,
  store,
  logger,
  metrics,
}: Pick<HandlerSources, 'clock' | 'config' | 'store' | 'logger' | 'metrics'>): AdminAccess {
  const journal = new SignInJournal({ log: store.log, logger, metrics, clock })
  const loginKey = randomBytes(LOGIN_KEY_BYTES)
  return new AdminAccess(config.admin, { sessions: store.sessions, journal, clock, loginKey })
}

export function buildHandlers(parts: HandlerSources): { readonly gateway: Handler; readonly ops: Handler } {
  const { clock, config, logger, folder, metrics, store, attestation, admission, prices } = parts
  const { shadowRules, liveTail, state, fleet, admin, inForce, liveConfig } = parts
  const { effective: rules, editor } = parts.rules
  const { quarantines } = folder
  const certificates = servedBy(parts.certificates)
  const served = () => inForce.served
  const status = {
    startedAtMs: clock.now(),
    path: config.data.path,
    state: () => state.read(),
    store,
    hasCandidate: shadowRules !== null,
    ...{ admission, rules, prices, inForce, attestation, fleet },
  }
  const routes = managementRoutes({
    clock,
    admin,
    pipeline: () => inForce.served.pipeline,
    store,
    rules,
    editor,
    prices,
    shadowRules,
    attestation,
    liveTail,
    status: () => statusOf(status),
    config: () => {
      const { settings, state } = liveConfig
      return configView({ settings, state, schema: CONFIG_SCHEMA, reloadable: RELOADABLE })
    },
  })
  return {
    gateway: gatewayHandler({
      consoleFiles: new ConsoleFiles(readConsoleFiles()),
      basePath: new BasePath(config.console),
      served,
      gatekeeper: admin.gatekeeper,
      routes,
      clock,
    }),
    ops: opsHandler({
      health: () => healthOf({ admission, rules, prices, fleet, liveConfig, quarantines, certificates }),
      metrics,
      onError: (error) => logger.error({ err: error }, 'an answer of the ops listener failed'),
    }),
  }
}
