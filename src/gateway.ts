// The composition root: builds every part from a configuration, connects them, starts and stops them.

import { randomBytes } from 'node:crypto'
import type { RunGateway, RunningGateway } from './cli/signals.ts'
import { systemClock } from './core/clock.ts'
import { type Config, isAmong } from './core/config.ts'
import { within } from './core/deadline.ts'
import { uuidv7Source } from './core/ids.ts'
import { formatProblem, type Problem } from './core/problem.ts'
import { VERSION } from './core/version.ts'
import { Attestation } from './gateway/attestation.ts'
import { type DataFolder, takeDataFolder } from './gateway/datafolder.ts'
import { healthOf, stateOfRules } from './gateway/health.ts'
import { Journal } from './gateway/journal.ts'
import { createLogger, type GatewayLogger, TurnLines } from './gateway/logger.ts'
import { collectorOf, type IdleCollector } from './gateway/memory.ts'
import { openScanning, roomForBodies } from './gateway/memory-budget.ts'
import { findObstacles } from './gateway/preflight.ts'
import { sealInterrupted } from './gateway/recovery.ts'
import { tellRotations } from './gateway/rotation.ts'
import { managementRoutes } from './gateway/routes.ts'
import { openStorage } from './gateway/storage.ts'
import { createTrial, type Trial } from './gateway/trial.ts'
import { createMetrics, type GatewayState, type Metrics } from './metrics/registry.ts'
import { AdmissionControl } from './pipeline/admission.ts'
import type { Pipeline } from './pipeline/pipeline.ts'
import { EffectiveRules } from './rules/effective.ts'
import { loadRules, type RuleSnapshot } from './rules/load.ts'
import { RuleWatcher } from './rules/watch.ts'
import { describeListenError, formatAddress, isListenError } from './server/address.ts'
import { gatewayHandler } from './server/handler.ts'
import { type Listener, listen } from './server/listener.ts'
import { opsHandler } from './server/ops.ts'
import { Gatekeeper } from './server/session.ts'
import { StoreOpenError } from './store/lmdb.ts'
import type { Store } from './store/store.ts'
import { Upstream } from './upstream/forward.ts'

/** After a drain, what calls that were told to end have to be sealed; with the default drain below Kubernetes' 30 s. */
const SEAL_MS = 3000
/** What clients have to take their last bytes. */
const LAST_BYTES_MS = 1000

/**
 * Starts a gateway, or says everything that is in the way: mistakes in the configuration and the rules, busy ports,
 * a store that cannot be opened. Nothing listens unless everything is right.
 */
export const runGateway: RunGateway = async (reading) => {
  const { config, partial } = reading
  if (partial === null) return { problems: reading.problems }
  const snapshot = await loadRules(partial.rules.path)
  const problems = [...reading.problems, ...(await findObstacles(reading, partial))]
  if (!isAmong(problems, ['rules', 'path'])) problems.push(...snapshot.problems)
  if (config === null || problems.length > 0) return { problems }
  const lines = new TurnLines()
  const logger = createLogger(config.log.level, lines)
  tellRotations(config, logger)
  let folder: DataFolder | null = null
  let gateway: Gateway | null = null
  try {
    folder = await takeDataFolder(config, logger)
    gateway = new Gateway(config, snapshot, logger, folder)
    const refusals = gateway.fileRefusals()
    if (refusals.length === 0) return await gateway.start(lines)
    await gateway.abandon()
    return { problems: refusals.map(withRemedy) }
  } catch (error) {
    await (gateway === null ? folder?.release() : gateway.abandon())
    if (error instanceof StoreOpenError) {
      return { problems: [reading.problemAt(['data', 'path'], error.message)] }
    }
    // Somebody took the port since it was looked at.
    if (isListenError(error)) return { problems: [reading.problemAt(['listen'], describeListenError(error))] }
    throw error
  }
}

/** Without the last good rules to fall back on, starting would mean to run without any. */
const withRemedy = (problem: Problem): Problem => ({
  ...problem,
  message: `${problem.message}, rules made through the API included (rules.apiWrites: readonly leaves those out)`,
})

class Gateway {
  readonly #config: Config
  readonly #logger: GatewayLogger
  readonly #folder: DataFolder
  readonly #store: Store
  readonly #attestation: Attestation
  readonly #rules: EffectiveRules
  readonly #watcher: RuleWatcher
  readonly #metrics: Metrics
  readonly #journal: Journal
  readonly #upstream: Upstream
  readonly #trial: Trial | null
  readonly #pipeline: Pipeline
  readonly #admission: AdmissionControl
  readonly #memory: IdleCollector | null
  readonly #failed = Promise.withResolvers<string>()
  readonly #hurry = Promise.withResolvers<void>()
  #listeners: Listener[] = []
  #ops: Listener[] = []
  #stopping: Promise<void> | null = null

  constructor(config: Config, snapshot: RuleSnapshot, logger: GatewayLogger, folder: DataFolder) {
    this.#config = config
    this.#logger = logger
    this.#folder = folder
    this.#store = openStorage(config, {
      logger,
      metrics: () => this.#metrics,
      signatures: () => this.#attestation.signatures,
      onAvailable: () => {
        this.#rules.storeAvailable()
        void this.#journal.catchUp(this.#rules)
      },
      onStalled: () => this.#failed.resolve('a write to the usage log has hung; the disk needs a look'),
    })
    this.#attestation = new Attestation({ config, folder, store: this.#store, clock: systemClock, logger })
    const isAuditable = () => this.#store.log.available && folder.intents.isWritable()
    this.#admission = new AdmissionControl(
      config.limits.concurrentRequests,
      roomForBodies(config),
      isAuditable,
    )
    this.#memory = collectorOf(this.#admission)
    this.#metrics = createMetrics(VERSION, () => this.#state())
    this.#journal = new Journal(this.#store, this.#metrics, logger)
    this.#rules = new EffectiveRules({
      state: this.#store.rules,
      clock: systemClock,
      apiWrites: config.rules.apiWrites,
      newId,
      onChange: async (change) => {
        await this.#journal.ruleChanged(change, () => this.#rules)
        // Files that were too much beside the rules of the API may have room now.
        if (this.fileRefusals().length > 0) void this.#watcher.reload()
      },
    })
    this.#rules.replaceFiles(snapshot)
    this.#countReload('ok')
    this.#watcher = new RuleWatcher({
      path: config.rules.path,
      initial: snapshot,
      onSnapshot: (loaded) => this.#replaceRules(loaded),
      onError: (error) => logger.error({ err: error }, 'new rules could not be put in force'),
    })
    this.#upstream = new Upstream(config.upstream, config.limits.concurrentRequests)
    const parts = { clock: systemClock, logger, metrics: this.#metrics, ...openScanning(config) }
    const { candidatePath: candidate } = config.rules
    const trial = { ...parts, live: () => this.#rules.current.revision }
    this.#trial = candidate === null ? null : createTrial(candidate, trial)
    this.#pipeline = {
      ...parts,
      shadow: this.#trial?.shadow ?? null,
      log: this.#store.log,
      intents: folder.intents,
      keys: this.#store.keys,
      counters: this.#store.counters,
      upstream: this.#upstream,
      bodyBytes: config.limits.bodyBytes,
      admission: this.#admission,
      rules: () => this.#rules.current,
      newId,
    }
  }

  /** Why the rule files are not in force: each is right by itself, but not beside the rules made through the API. */
  fileRefusals(): readonly Problem[] {
    return this.#rules.fileErrors
  }

  /** Instead of `start`, or where that failed: gives back what was taken. */
  async abandon(): Promise<void> {
    for (const listener of [...this.#listeners, ...this.#ops]) listener.close()
    this.#rules.close()
    await this.#upstream.close()
    await this.#store.close()
    await this.#folder.release()
  }

  /** Opens the sockets, last: whoever gets through is served. @param lines of the log @throws the system's error */
  async start(lines: TurnLines): Promise<RunningGateway> {
    const { listen: addresses, admin } = this.#config
    const gatekeeper = new Gatekeeper({ sessions: this.#store.sessions, clock: systemClock, ...admin })
    const routes = managementRoutes({
      gatekeeper,
      pipeline: this.#pipeline,
      store: this.#store,
      rules: this.#rules,
      trial: this.#trial,
      attestation: this.#attestation,
    })
    await this.#journal.boot(this.#attestation.identity)
    await sealInterrupted(this.#folder.intents, this.#store, this.#pipeline)
    await this.#journal.rulesLoaded(this.#rules)
    await this.#attestation.signatures.make()
    const { quarantines } = this.#folder
    const handler = gatewayHandler({ pipeline: this.#pipeline, gatekeeper, routes, clock: systemClock })
    this.#ops = await listen(
      addresses.ops,
      opsHandler({
        health: () => healthOf({ admission: this.#admission, rules: this.#rules, quarantines }),
        metrics: this.#metrics,
        onError: (error) =>
          this.#logger.error({ err: error }, 'a page of the ops listener could not be made'),
      }),
    )
    this.#listeners = await listen(addresses.gateway, handler)
    const gateway = this.#listeners.map(({ address }) => formatAddress(address))
    const ops = this.#ops.map(({ address }) => formatAddress(address))
    const { revision } = this.#rules
    lines.begin(() => this.#logger.info({ gateway, ops, version: VERSION, revision }, 'listening'))
    this.#attestation.start()
    this.#memory?.start()
    await Promise.all([this.#watcher.start(), this.#trial?.start()])
    return {
      address: gateway[0] ?? '',
      opsAddress: ops[0] ?? '',
      createKey: async (name) => (await this.#store.keys.create(name)).key,
      reloadRules: async () => {
        await Promise.all([this.#watcher.reload(), this.#trial?.reload()])
      },
      stop: () => {
        this.#stopping ??= this.#stop()
        return this.#stopping
      },
      hurry: () => this.#hurry.resolve(),
      failed: this.#failed.promise,
    }
  }

  /** New rule files: taken whole or not at all. */
  #replaceRules(snapshot: RuleSnapshot): void {
    const before = this.#rules.revision
    this.#rules.replaceFiles(snapshot)
    const problems = this.fileRefusals()
    this.#countReload(problems.length === 0 ? 'ok' : 'error')
    if (problems.length > 0) {
      const errors = problems.map(formatProblem)
      this.#logger.error({ errors }, 'the rule files have mistakes; the last good rules stay in force')
      return
    }
    this.#logger.info({ revision: this.#rules.revision, rules: this.#rules.list().length }, 'rules loaded')
    if (this.#rules.revision !== before) void this.#journal.rulesLoaded(this.#rules)
  }

  #countReload(result: 'ok' | 'error'): void {
    this.#metrics.ruleReloads.inc({ result })
    if (result === 'ok') this.#metrics.ruleReloadTime.set(systemClock.now() / 1000)
  }

  #state(): GatewayState {
    return {
      ...stateOfRules(this.#rules, systemClock.now()),
      ...this.#attestation.state(),
      activeKeys: this.#store.keys.countActive(),
      tokenLimits: this.#store.counters.size,
      auditSequence: this.#store.log.head.seq,
      auditAvailable: this.#admission.auditable,
      ruleFilesInForce: this.fileRefusals().length === 0,
      auditQuarantines: this.#folder.quarantines,
      storeBytes: this.#store.size().usedBytes,
      storeLimitBytes: this.#config.audit.maxBytes,
      callsInFlight: this.#admission.inFlight,
    }
  }

  async #stop(): Promise<void> {
    const { drainSeconds } = this.#config.limits
    this.#logger.info({ calls: this.#admission.inFlight, drainSeconds }, 'draining')
    const sealed = this.#admission.drain()
    for (const listener of this.#listeners) listener.stopAccepting()
    await Promise.all([this.#watcher.close(), this.#trial?.close()])
    this.#rules.close()
    this.#memory?.stop()
    const finished = Promise.race([this.#finished(sealed), this.#hurry.promise])
    if (!(await within(finished, drainSeconds * 1000)) || this.#admission.running > 0) {
      this.#logger.warn({ calls: this.#admission.inFlight }, 'not waiting any longer; ending what still runs')
      this.#admission.interruptAll()
      await within(sealed, SEAL_MS)
    }
    await this.#journal.stop()
    await this.#attestation.stop()
    await within(this.#finished(sealed), LAST_BYTES_MS)
    for (const listener of [...this.#listeners, ...this.#ops]) listener.close()
    await this.#upstream.close()
    const intact = this.#store.log.writable
    await this.#store.close()
    await this.#folder.release(intact)
    this.#logger.info({}, 'stopped')
  }

  /** Every call is sealed and every answer written out. */
  async #finished(sealed: Promise<void>): Promise<void> {
    await sealed
    await Promise.all(this.#listeners.map((listener) => listener.written()))
  }
}

const newId = uuidv7Source(() => systemClock.now(), randomBytes)
