// Composition root of a hub: builds it from its configuration, starts it and stops it.

import { randomBytes, randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { originOf } from '../audit/checkpoint.ts'
import { readSigner, type Signer, whyNotSigner } from '../audit/note.ts'
import { systemClock } from '../core/clock.ts'
import { isAmong } from '../core/config-document.ts'
import { within } from '../core/deadline.ts'
import { GatewayError, messageWithCause } from '../core/errors.ts'
import type { HubConfig, HubConfigReading } from '../core/hub-config.ts'
import { uuidv7Source } from '../core/ids.ts'
import type { Problem } from '../core/problem.ts'
import { splitTarget } from '../core/request-path.ts'
import { isoTime } from '../core/time.ts'
import { systemTimers } from '../core/timers.ts'
import { VERSION } from '../core/version.ts'
import { readConsoleFiles } from '../gateway/console.ts'
import {
  certificatesHealth,
  type LiveCertificate,
  listenWith,
  openCertificates,
  servedBy,
  whyNotStart,
} from '../gateway/live-certificate.ts'
import { configHealth } from '../gateway/live-config.ts'
import { createLogger, type GatewayLogger, type LogOutput, TurnLines } from '../gateway/logger.ts'
import { AnswerOwners } from '../ledger/answer-owners.ts'
import { Database } from '../ledger/database.ts'
import { Erasures } from '../ledger/erasures.ts'
import { FleetWitness } from '../ledger/fleet-witness.ts'
import { HubLog } from '../ledger/hub-log.ts'
import { JoinTokens } from '../ledger/join-tokens.ts'
import { KeyLedger } from '../ledger/key-ledger.ts'
import { LedgerCheckpoints } from '../ledger/ledger-checkpoints.ts'
import { LimitLedger } from '../ledger/limit-ledger.ts'
import { LogStates } from '../ledger/log-states.ts'
import { assertMigrated } from '../ledger/migrate.ts'
import { Outage } from '../ledger/outage.ts'
import { PolicyLedger } from '../ledger/policy-ledger.ts'
import { sharedSecret } from '../ledger/secrets.ts'
import { SessionLedger } from '../ledger/session-ledger.ts'
import { SidecarLedger } from '../ledger/sidecar-ledger.ts'
import { UsageUpkeep } from '../ledger/usage-upkeep.ts'
import { createHubMetrics, type HubMetrics } from '../metrics/hub-metrics.ts'
import { FleetLimits } from '../policy/hub-rules.ts'
import { whyNoPrices } from '../prices/price-file.ts'
import { whyNoRules } from '../rules/files.ts'
import { clientAddress, formatAddress, whyNotListen } from '../server/address.ts'
import type { ApiRoute } from '../server/api.ts'
import { BasePath } from '../server/base-path.ts'
import { ConsoleFiles } from '../server/console-files.ts'
import { type Handler, type Listener, listen } from '../server/listener.ts'
import { answerRoute, failRequest, type ManagementParts } from '../server/management.ts'
import { opsHandler } from '../server/ops.ts'
import { notAllowed, Router } from '../server/router.ts'
import { DatabaseClock } from './database-clock.ts'
import { Fleet } from './fleet.ts'
import { fleetHandler } from './fleet-handler.ts'
import { FleetLogs } from './fleet-logs.ts'
import { adminAccess, followConfig, type LiveHubConfig } from './hub-admin.ts'
import { HubCheckpoints } from './hub-checkpoints.ts'
import { HubErasures } from './hub-erasures.ts'
import { HubPolicy } from './hub-policy.ts'
import { hubRoutes } from './hub-routes.ts'
import { LeaseDesk } from './lease-desk.ts'
import { LogReading } from './log-reading.ts'
import { SidecarIdentities } from './sidecar-identities.ts'
import { storedHandler } from './stored-handler.ts'
import { Upkeep } from './upkeep.ts'

/** Time for answers under way when the hub stops. */
const LAST_ANSWERS_MS = 5000
/** Bytes of the key under which end users are hashed. */
const FLEET_KEY_BYTES = 32

/** A hub that serves. */
export interface RunningHub {
  /** `host:port`. */
  readonly address: string
  readonly opsAddress: string
  /** Reads the configuration again, and puts in force what can be. */
  reload(): Promise<void>
  /** Lets answers under way end, signs the last checkpoint and closes everything. */
  stop(): Promise<void>
}

/**
 * Starts a hub, or reports every problem at once: errors in the configuration, busy ports, an
 * unusable key, a database that cannot be reached or has other tables.
 * @param output of the log, standard output by default
 */
export async function runHub(
  reading: HubConfigReading,
  output?: LogOutput,
): Promise<RunningHub | { readonly problems: readonly Problem[] }> {
  const { config } = reading
  const problems = [...reading.problems]
  if (config !== null) problems.push(...(await findObstaclesOf(config, reading)))
  const url = config?.database.url ?? null
  if (config === null || url === null || problems.length > 0) return { problems }
  const lines = new TurnLines(output)
  const logger = createLogger(config.log.level, lines)
  const outage = new Outage(systemClock)
  const database = new Database({
    outage,
    url: url.current(),
    connections: config.database.connections,
    onError: (error) => logger.warn({ err: error }, 'a connection to the database was lost'),
  })
  try {
    await assertMigrated(database)
    return await start(config, reading, database, { outage, logger, lines })
  } catch (error) {
    await database.close()
    if (!(error instanceof GatewayError)) throw error
    return { problems: [reading.problemAt(['database', 'url'], messageWithCause(error))] }
  }
}

/** Returns why a hub cannot start, at the keys of its configuration. */
async function findObstaclesOf(config: HubConfig, reading: HubConfigReading): Promise<Problem[]> {
  const problems: Problem[] = []
  const add = (path: readonly string[], reason: string | null) => {
    if (reason !== null && !isAmong(reading.problems, path)) problems.push(reading.problemAt(path, reason))
  }
  add(['listen', 'hub'], await whyNotListen(config.listen.hub))
  add(['listen', 'ops'], await whyNotListen(config.listen.ops))
  add(['listen', 'tls'], whyNotStart(config.listen.tls))
  const { rules, prices } = config
  if (rules !== null) add(['rules', 'path'], whyNoRules(rules.path))
  if (prices !== null) add(['prices', 'path'], whyNoPrices(prices.path))
  const { signingKey } = config.audit
  if (signingKey !== null) add(['audit', 'signingKey'], whyNotSigner(signingKey.current()))
  return problems
}

interface StartParts {
  readonly outage: Outage
  readonly logger: GatewayLogger
  readonly lines: TurnLines
}

async function start(
  config: HubConfig,
  reading: HubConfigReading,
  database: Database,
  { outage, logger, lines }: StartParts,
): Promise<RunningHub> {
  const certificates = openCertificates(
    { hub: config.listen.tls },
    { clock: systemClock, timers: systemTimers, logger },
  )
  const served = servedBy(certificates)
  const metrics = createHubMetrics(VERSION, {
    certificates: () => served.map((one) => one.state()),
    isConfigStale: () => liveConfig.state.changed,
    areRuleFilesInForce: () => policy.areRuleFilesInForce,
    isPriceFileInForce: () => policy.isPriceFileInForce,
  })
  const ledgers = ledgersOf(database)
  const { log, keys, sessions, joinTokens, sidecars, states, owners } = ledgers
  const signer = readSigner(originOf(await log.open()), config.audit.signingKey!.current())
  const checkpoints = new HubCheckpoints({
    checkpoints: new LedgerCheckpoints(database),
    witness: new FleetWitness(log),
    ...{ signer, clock: systemClock, logger, metrics },
  })
  const admin = await adminAccess({ config, database, log, sessions, logger, metrics })
  const liveConfig = followConfig(reading, admin, logger)
  const fleetKey = await sharedSecret(database, 'fleet_key', randomBytes(FLEET_KEY_BYTES))
  const { fleet, policy } = await startFleet(config, {
    ...{ database, log, keys, sidecars, logger, metrics, fleetKey },
  })
  const erasures = new HubErasures(ledgers.erasures, fleetKey)
  const logReading = new LogReading(config, outage, logger)
  const routes = hubRoutes({
    ...{ ...ledgers, admin, checkpoints, erasures, fleet, policy, logReading, fleetKey },
  })
  const manages = { gatekeeper: admin.gatekeeper, logger, metrics, newId, readPrompt: noPrompt }
  const ops = await listen(
    config.listen.ops,
    opsOf({ database, outage, certificates: served, liveConfig, policy, metrics, logger }),
  )
  const limits = new LimitLedger({ ...config.limits, database, clock: systemClock })
  const { answers, logs } = await answerSidecars(config, {
    ...manages,
    ...{ metrics, logger, fleet, sidecars, joinTokens, states, signer, policy, limits, logReading, owners },
    outage,
  })
  const handler = hubHandler({ ...manages, console: config.console }, routes, answers)
  const listeners = await listenWith(config.listen.hub, handler, certificates.hub)
  const upkeep = new Upkeep({ ...config.audit, ...ledgers, database, limits, logger })
  upkeep.start()
  const [address, opsAddress] = [addressOf(listeners), addressOf(ops)]
  lines.begin(() => logger.info({ hub: address, ops: opsAddress, version: VERSION }, 'listening'))
  checkpoints.start()
  await Promise.all([liveConfig.start(), policy.start()])
  return {
    address,
    opsAddress,
    async reload() {
      await Promise.all([liveConfig.reload(), policy.reload()])
    },
    async stop() {
      await Promise.all([liveConfig.close(), policy.close()])
      certificates.hub?.close()
      for (const listener of listeners) listener.stopAccepting()
      logReading.tail.close()
      await Promise.all([fleet.stop(), upkeep.stop()])
      const written = Promise.all(listeners.map((one) => one.written())).then(() => {})
      await within(written, LAST_ANSWERS_MS)
      await checkpoints.stop()
      for (const listener of [...listeners, ...ops]) listener.close()
      await Promise.all([logs.stop(), logReading.close()])
      await database.close()
      logger.info({}, 'stopped')
    },
  }
}

/** What reads and writes the tables. */
function ledgersOf(database: Database) {
  const shared = { database, clock: systemClock, random: randomBytes }
  const log = new HubLog(shared)
  return {
    log,
    keys: new KeyLedger({ ...shared, log }),
    sessions: new SessionLedger({ ...shared, log }),
    joinTokens: new JoinTokens({ ...shared, log }),
    sidecars: new SidecarLedger({ database, log }),
    states: new LogStates(database),
    erasures: new Erasures({ ...shared, log }),
    sums: new UsageUpkeep(database, systemClock),
    owners: new AnswerOwners(database),
  }
}

/** The address of the first of some listeners. */
const addressOf = ([first]: readonly Pick<Listener, 'address'>[]): string => formatAddress(first!.address)

/** Starts the part that serves sidecars. @throws GatewayError (rejects) `fleet_unavailable` */
async function startFleet(
  config: HubConfig,
  {
    fleetKey,
    log,
    ...parts
  }: Pick<ConstructorParameters<typeof Fleet>[0], 'database' | 'keys' | 'sidecars' | 'logger' | 'metrics'> & {
    readonly log: HubLog
    readonly fleetKey: Buffer
  },
): Promise<{ readonly fleet: Fleet; readonly policy: HubPolicy }> {
  const clock = new DatabaseClock(systemClock)
  const policy = new HubPolicy({
    ...{ ...parts, config, clock, timers: systemTimers, newId },
    ledger: new PolicyLedger({ log, clock }),
    catchUp: () => fleet.catchUp(),
  })
  const shared = { hub: randomUUID(), fleetKey: fleetKey.toString('base64'), clock: systemClock }
  const fleet = new Fleet({
    ...{ ...parts, ...shared },
    onReading(reading) {
      clock.take(reading.atMs)
      if (reading.policy !== undefined) policy.take(reading.policy)
    },
    onRecovered: () => policy.available(),
  })
  await fleet.start()
  return { fleet, policy }
}

interface SidecarParts extends Pick<ManagementParts, 'newId'> {
  readonly logger: GatewayLogger
  readonly metrics: HubMetrics
  readonly fleet: Fleet
  readonly sidecars: SidecarLedger
  readonly joinTokens: JoinTokens
  readonly states: LogStates
  readonly signer: Signer
  readonly policy: HubPolicy
  readonly limits: LimitLedger
  readonly logReading: LogReading
  readonly owners: AnswerOwners
  readonly outage: Outage
}

/** Makes what answers sidecars, and begins to look for logs that have ended. */
async function answerSidecars(
  { join, database, audit }: HubConfig,
  { fleet, sidecars, joinTokens, states, signer, policy, limits, logReading, owners, ...parts }: SidecarParts,
): Promise<{ readonly answers: readonly ReturnType<typeof fleetHandler>[]; readonly logs: FleetLogs }> {
  const { metrics } = parts
  const identities = new SidecarIdentities({ join, sidecars: joinTokens, clock: systemClock, metrics })
  const verify = (authorization: string | undefined) => identities.verify(authorization)
  const { feeds, uses } = fleet
  const url = database.url!.current()
  const kept = { keptUser: audit.user, clock: systemClock }
  const logs = new FleetLogs({ ...parts, ...kept, url, verify, states, signer, tail: logReading.tail })
  await logs.start()
  const leases = leasesOf(limits, policy, fleet, parts)
  const answer = fleetHandler({
    ...{ ...parts, verify, feeds, sidecars, uses, leases, limits },
    receipts: logReading.receipts,
  })
  const isGivenLine = (line: string, namespace: string) => fleet.state.isGivenLine(line, namespace)
  const stored = storedHandler({ ...parts, verify, owners, isGivenLine })
  return { answers: [answer, logs.handler, stored], logs }
}

const leasesOf = (
  ledger: LimitLedger,
  { effective }: HubPolicy,
  { state }: Fleet,
  { metrics, logger }: Pick<SidecarParts, 'metrics' | 'logger'>,
): LeaseDesk =>
  new LeaseDesk({
    ...{ ledger, timers: systemTimers, monotonic: () => systemClock.monotonic() },
    rules: new FleetLimits(() => effective.parsed),
    maxParallelOf: (line, namespace) => state.maxParallelOf(line, namespace),
    answered: (result) => metrics.leaseRequests.inc({ result }),
    refused: (reason) => metrics.leaseRefusals.inc({ reason }),
    log: (refusal) => logger.warn(refusal, 'a part of a request for limits was refused'),
  })

/** Methods by which sidecars ask. */
const SIDECAR_METHODS = ['GET', 'POST']
const NOTHING_HERE =
  'There is nothing at this path of a hub, which takes no calls of apps. GET /openapi.json lists its API. A sidecar sends its log by POST to /fleet/v1/logs/{id}, a UUID in lowercase.'

/** Serves sidecars, the management API and the console. */
function hubHandler(
  parts: ManagementParts & Pick<HubConfig, 'console'>,
  routes: readonly ApiRoute[],
  fleetAnswers: readonly ReturnType<typeof fleetHandler>[],
): Handler {
  const router = new Router<ApiRoute>(routes, () => NOTHING_HERE)
  const consoleFiles = new ConsoleFiles(readConsoleFiles())
  const basePath = new BasePath(parts.console)
  return (request: IncomingMessage, response: ServerResponse) => {
    const { path: asked, search } = splitTarget(request.url ?? '/')
    const base = basePath.of(request.headers, clientAddress(request.socket.remoteAddress))
    const path = basePath.below(base, asked)
    try {
      const method = request.method ?? 'GET'
      for (const answerOf of fleetAnswers) {
        const answer = answerOf(method, path)
        if (answer === null) continue
        void answer(request, response)
        return
      }
      const allowed = SIDECAR_METHODS.filter((one) => fleetAnswers.some((of) => of(one, path) !== null))
      if (allowed.length > 0) throw notAllowed(allowed)
      if (consoleFiles.takes(request, path)) {
        parts.gatekeeper.checkOrigin(method, request.headers)
        consoleFiles.answer(request, response, path, base)
        return
      }
      const { route, params } = router.find(method, path)
      void answerRoute(parts, route, request, response, { params, search, base })
    } catch (error) {
      failRequest(parts, response, error)
    }
  }
}

/** No route of a hub takes a prompt. */
const noPrompt = (): Promise<Buffer> => Promise.reject(new Error('a hub takes no prompts'))

interface OpsSources {
  readonly database: Database
  readonly outage: Outage
  readonly certificates: readonly LiveCertificate[]
  readonly liveConfig: Pick<LiveHubConfig, 'state'>
  readonly policy: Pick<HubPolicy, 'health'>
  readonly metrics: HubMetrics
  readonly logger: GatewayLogger
}

function opsOf({ database, outage, certificates, liveConfig, policy, metrics, logger }: OpsSources): Handler {
  return opsHandler({
    health: async () => {
      const reason = await database.rows('select 1').then(
        () => 'ok',
        () => {
          const { sinceMs } = outage
          return `the database cannot be reached${sinceMs === null ? '' : ` since ${isoTime(sinceMs)}`}`
        },
      )
      const configuration = configHealth(liveConfig.state)
      const detail = {
        ...{ database: reason, configuration },
        ...policy.health(),
        ...certificatesHealth(certificates),
      }
      return { ready: reason === 'ok', detail }
    },
    metrics,
    onError: (error) => logger.error({ err: error }, 'an answer of the ops listener failed'),
  })
}

const newId = uuidv7Source(() => systemClock.now(), randomBytes)
