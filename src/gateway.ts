// The composition root: builds every part from a configuration, connects them, starts and stops them.

import { randomBytes } from 'node:crypto'
import type { RunningGateway } from './cli/lifetime.ts'
import { systemClock } from './core/clock.ts'
import type { Address, Config, ConfigReading } from './core/config.ts'
import { uuidv7 } from './core/ids.ts'
import type { Problem } from './core/problem.ts'
import { VERSION } from './core/version.ts'
import { loadInjectionModel } from './detect/injection/score.ts'
import { kindSet } from './detect/pii/kinds.ts'
import { createLogger, type GatewayLogger } from './logger.ts'
import { createMetrics, type Metrics } from './metrics/registry.ts'
import { Admission } from './pipeline/admission.ts'
import { evaluate } from './pipeline/evaluate.ts'
import type { Pipeline } from './pipeline/handle.ts'
import { EffectiveRules } from './rules/effective.ts'
import { loadRules, type RuleSnapshot } from './rules/load.ts'
import { RuleWatcher } from './rules/watch.ts'
import { gatewayHandler } from './server/handler.ts'
import { isPortTaken, type Listener, listen } from './server/listener.ts'
import { opsHandler } from './server/ops.ts'
import { keyRoutes } from './server/routes/keys.ts'
import { openApiRoutes } from './server/routes/openapi.ts'
import { ruleRoutes } from './server/routes/rules.ts'
import { sessionRoutes } from './server/routes/session.ts'
import { usageRoutes } from './server/routes/usage.ts'
import { Gatekeeper } from './server/session.ts'
import { StoreOpenError } from './store/lmdb.ts'
import { openStore, type Store } from './store/store.ts'
import { Upstream } from './upstream/forward.ts'

/** Random bytes of a UUIDv7. */
const ID_BYTES = 16

/** After this a call that was told to end is left behind, milliseconds. */
const INTERRUPT_MS = 5000

/**
 * Starts a gateway, or says everything that is in the way: mistakes in the configuration and the rules, busy ports,
 * a store that cannot be opened. Nothing listens unless everything is right.
 */
export async function runGateway(
  reading: ConfigReading,
): Promise<RunningGateway | { readonly problems: readonly Problem[] }> {
  const { config } = reading
  const problems = [...reading.problems]
  if (config === null) return { problems }
  const snapshot = await loadRules(config.rules.path)
  problems.push(...snapshot.problems, ...(await busyPorts(reading, config)))
  if (problems.length > 0) return { problems }
  try {
    return await new Gateway(config, snapshot).start()
  } catch (error) {
    if (!(error instanceof StoreOpenError)) throw error
    return { problems: [reading.problemAt(['data', 'path'], error.message)] }
  }
}

async function busyPorts(reading: ConfigReading, config: Config): Promise<Problem[]> {
  const problems: Problem[] = []
  for (const name of ['gateway', 'ops'] as const) {
    const { host, port } = config.listen[name]
    const reason = await isPortTaken(config.listen[name])
    if (reason !== null)
      problems.push(reading.problemAt(['listen', name], `cannot listen on ${host}:${port}: ${reason}`))
  }
  return problems
}

const formatAddress = ({ host, port }: Address): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`

class Gateway {
  readonly #config: Config
  readonly #logger: GatewayLogger
  readonly #store: Store
  readonly #rules: EffectiveRules
  readonly #watcher: RuleWatcher
  readonly #metrics: Metrics
  readonly #upstream: Upstream
  readonly #pipeline: Pipeline
  readonly #admission: Admission
  readonly #failed = Promise.withResolvers<string>()
  #listeners: Listener[] = []
  #ops: Listener[] = []
  #stopping: Promise<void> | null = null

  constructor(config: Config, snapshot: RuleSnapshot) {
    const clock = systemClock
    const logger = createLogger(config.log.level)
    this.#config = config
    this.#logger = logger
    this.#store = openStore({
      path: config.data.path,
      clock,
      random: randomBytes,
      maxBytes: config.audit.maxBytes,
      fileKeys: config.keys,
      onUnavailable: (cause) =>
        logger.error({ err: cause }, 'the usage log cannot be written; calls are refused'),
      onAvailable: () => logger.info({}, 'the usage log can be written again'),
      onStalled: () => this.#failed.resolve('a write to the usage log has hung; the disk needs a look'),
      onHousekeepingError: (error) => logger.warn({ err: error }, 'housekeeping of the store failed'),
    })
    this.#admission = new Admission(config.limits.concurrentRequests, () => this.#store.log.available)
    this.#metrics = createMetrics(VERSION, () => this.#state())
    this.#rules = new EffectiveRules({
      state: this.#store.rules,
      clock,
      apiWrites: config.rules.apiWrites,
      newId,
      onChange: (change) => this.#seal(change),
    })
    this.#rules.replaceFiles(snapshot)
    this.#watcher = new RuleWatcher({
      path: config.rules.path,
      initial: snapshot,
      onSnapshot: (loaded) => this.#replaceRules(loaded),
    })
    this.#upstream = new Upstream(config.upstream, config.limits.concurrentRequests)
    this.#pipeline = {
      clock,
      logger,
      metrics: this.#metrics,
      log: this.#store.log,
      keys: this.#store.keys,
      counters: this.#store.counters,
      upstream: this.#upstream,
      injection: loadInjectionModel(),
      kinds: kindSet(config.pii.kinds),
      binaryParts: config.pii.binaryParts,
      bodyBytes: config.limits.bodyBytes,
      admission: this.#admission,
      rules: () => this.#rules.current,
      newId,
    }
  }
}

const newId = (): string => uuidv7(systemClock.now(), randomBytes(ID_BYTES))
