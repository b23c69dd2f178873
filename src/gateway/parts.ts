// Builds the parts of a gateway in dependency order: store, signatures, journal, rules, upstream,
// admission, pipeline, request handlers. Opens the store and no sockets.

import { randomBytes } from 'node:crypto'
import type { Clock } from '../core/clock.ts'
import type { Config, ConfigReading } from '../core/config.ts'
import { uuidv7Source } from '../core/ids.ts'
import { openKindsIn } from '../core/recogniser-config.ts'
import { systemTimers } from '../core/timers.ts'
import { VERSION } from '../core/version.ts'
import { loadInjectionModel } from '../detect/injection/score.ts'
import { kindSet } from '../detect/pii/kinds.ts'
import type { TokenKeys } from '../jwt/token-keys.ts'
import { createMetrics, type Metrics } from '../metrics/registry.ts'
import { UsageMinutes } from '../metrics/usage-minutes.ts'
import { GivenIds } from '../pipeline/answer/given-ids.ts'
import { ThoughtMemory } from '../pipeline/answer/thought-memory.ts'
import { AdmissionControl } from '../pipeline/call/admission.ts'
import { RunNames } from '../pipeline/call/run-names.ts'
import { ParallelCalls } from '../pipeline/limits/parallel-calls.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import { Identifiers } from '../pipeline/prompt/identifiers.ts'
import { ScanCache } from '../pipeline/prompt/scan-cache.ts'
import { EndUsers } from '../pipeline/record/end-users.ts'
import { FleetLimits } from '../policy/hub-rules.ts'
import { NO_PRICES } from '../prices/price-book.ts'
import type { PriceSnapshot } from '../prices/price-file.ts'
import type { EffectiveRule } from '../rules/effective.ts'
import type { RuleSnapshot } from '../rules/load.ts'
import type { Handler } from '../server/listener.ts'
import { LiveTail } from '../server/live-tail.ts'
import type { Store } from '../store/store.ts'
import { type UpstreamEvents, Upstreams } from '../upstream/upstreams.ts'
import { Attestation } from './attestation.ts'
import type { DataFolder } from './datafolder.ts'
import { buildAdminAccess, buildHandlers } from './handlers.ts'
import { StateReader } from './health.ts'
import { type HubLink, linkToHub } from './hub-link.ts'
import { followConfig, InForce, type LiveGatewayConfig, pipelineTerms } from './in-force.ts'
import { openIssuers } from './issuers.ts'
import { Journal } from './journal.ts'
import { type LiveCertificates, openCertificates } from './live-certificate.ts'
import { LivePrices } from './live-prices.ts'
import { LiveRules } from './live-rules.ts'
import type { GatewayLogger } from './logger.ts'
import { collectorOf, type IdleCollector } from './memory.ts'
import { bodyBudget, scanMemory } from './memory-budget.ts'
import { buildRecognisers } from './recognition.ts'
import { createShadowRules, type ShadowRules } from './shadow-rules.ts'
import { SignedReceipts } from './signed-receipts.ts'
import { openStorage } from './storage.ts'

/** Everything that a running gateway consists of, except its sockets. */
export interface GatewayParts {
  readonly clock: Clock
  readonly config: Config
  readonly logger: GatewayLogger
  readonly folder: DataFolder
  readonly metrics: Metrics
  readonly store: Store
  readonly attestation: Attestation
  readonly journal: Journal
  readonly rules: LiveRules
  /** Null without a price file and a hub. */
  readonly prices: LivePrices | null
  readonly admission: AdmissionControl
  readonly liveTail: LiveTail
  /** Null without a hub. */
  readonly fleet: HubLink | null
  readonly certificates: LiveCertificates<'gateway' | 'ops'>
  readonly memory: IdleCollector | null
  readonly shadowRules: ShadowRules | null
  /** As built; calls take the one in force. */
  readonly pipeline: Pipeline
  readonly inForce: InForce
  readonly liveConfig: LiveGatewayConfig
  readonly handlers: { readonly gateway: Handler; readonly ops: Handler }
  /** Resolves with the reason when the gateway cannot continue. */
  readonly failed: Promise<string>
}

/** The watched files as read before the start, without problems. */
interface WatchedFiles {
  readonly rules: RuleSnapshot
  /** Null without prices. */
  readonly prices: PriceSnapshot | null
}

/**
 * Builds each part from those before it. Two parts report to later ones, which are connected once
 * they exist: the metrics page reads the state, and the store signs and retries.
 * @param reading has the configuration
 */
export function buildParts(
  config: Config,
  reading: ConfigReading,
  files: WatchedFiles,
  { clock, logger, folder }: Pick<GatewayParts, 'clock' | 'logger' | 'folder'>,
): GatewayParts {
  const state = new StateReader()
  const metrics = createMetrics(VERSION, () => state.read(), config.metrics.keyNames, config.fleet !== null)
  const failed = Promise.withResolvers<string>()
  const storage = openStorage(config, {
    clock,
    userKey: folder.userKey,
    logger,
    metrics,
    onStalled: () => failed.resolve('a write to the usage log hangs; check the disk'),
  })
  const { store } = storage
  const fleet = linkToHub(config, { clock, store, logger, metrics })
  const attestation = new Attestation({ config, folder, store, clock, logger, fleet })
  const journal = new Journal(store, metrics, logger)
  const rules = buildRules(files.rules, { clock, config, store, fleet, journal, metrics, logger })
  const liveTail = new LiveTail({ calls: store.tail, clock, timers: systemTimers })
  storage.connect({
    signatures: attestation.signatures,
    liveTail,
    fleet,
    onAvailable: () => rules.storeAvailable(),
  })
  const prices = buildPrices(config, files.prices, { clock, fleet, metrics, logger })
  const upstreams = new Upstreams(
    config.upstreams,
    config.limits.concurrentRequests,
    clock,
    countedBy(metrics),
  )
  const admission = buildAdmission(config, store, folder)
  const tokens = openIssuers(config, { clock, logger, metrics })
  const memory = collectorOf(admission)
  const certificates = openCertificates(
    { gateway: config.listen.tls, ops: config.listen.opsTls },
    { clock, timers: systemTimers, logger },
  )
  const parts = {
    clock,
    config,
    logger,
    folder,
    metrics,
    store,
    attestation,
    journal,
    rules,
    prices,
    admission,
    liveTail,
    fleet,
    certificates,
  }
  const served = buildServed(parts, { reading, upstreams, tokens, state })
  return { ...parts, ...served, memory, failed: failed.promise }
}

/** Parts that a reload replaces. */
interface UsedByCalls {
  readonly upstreams: Upstreams
  /** Null when no key is a token of an issuer. */
  readonly tokens: TokenKeys | null
}

type ServedParts = PipelineParts & Pick<GatewayParts, 'liveTail' | 'certificates'>

/** Builds what requests are served by, and what a reload replaces of it. */
function buildServed(
  parts: ServedParts,
  sources: UsedByCalls & { readonly reading: ConfigReading; readonly state: StateReader },
): Pick<GatewayParts, 'pipeline' | 'shadowRules' | 'inForce' | 'liveConfig' | 'handlers'> {
  const { store, rules, folder, logger } = parts
  const { reading, tokens, state } = sources
  const { pipeline, shadowRules } = buildPipeline(parts, sources)
  const admin = buildAdminAccess(parts)
  const inForce = new InForce({ ...parts, pipeline, tokens, admin, ring: store.ring })
  const liveConfig = followConfig(reading, inForce, logger)
  const { quarantines } = folder
  state.connect({
    ...parts,
    ...{ rules: rules.effective, inForce, liveConfig, quarantines },
  })
  const handlers = buildHandlers({ ...parts, shadowRules, state, admin, inForce, liveConfig })
  return { pipeline, shadowRules, inForce, liveConfig, handlers }
}

function buildRules(
  snapshot: RuleSnapshot,
  {
    store,
    fleet,
    ...parts
  }: Pick<GatewayParts, 'clock' | 'config' | 'store' | 'fleet' | 'journal' | 'metrics' | 'logger'>,
): LiveRules {
  const storage = store.rules
  const rules = new LiveRules({ ...parts, snapshot, storage, hub: fleet, newId: newIds(parts.clock) })
  const { effective } = rules
  const isOfHub = ({ source }: EffectiveRule): boolean => source.kind === 'hub'
  fleet?.limits.connect(new FleetLimits(() => effective.parsed, isOfHub))
  return rules
}

function buildPrices(
  { prices }: Config,
  snapshot: PriceSnapshot | null,
  { fleet, ...parts }: Pick<GatewayParts, 'clock' | 'fleet' | 'metrics' | 'logger'>,
): LivePrices | null {
  const own = prices === null || snapshot === null ? null : { ...prices, snapshot }
  if (own === null && fleet === null) return null
  return new LivePrices({ own, hub: fleet?.policy ?? null, ...parts })
}

/** Counts the calls of each upstream. */
const countedBy = ({ upstreamCalls }: Metrics): UpstreamEvents => ({
  asked: (upstream, result) => upstreamCalls.inc({ upstream, result }),
  passedOver: (upstream) => upstreamCalls.inc({ upstream, result: 'passed_over' }),
})

const buildAdmission = ({ limits }: Config, { log }: Store, { intents }: DataFolder): AdmissionControl =>
  new AdmissionControl(
    limits.concurrentRequests,
    bodyBudget(limits.bodyBytes),
    () => log.writability.state ?? (intents.isWritable() ? null : 'calls cannot be recorded'),
  )

type PipelineParts = Pick<
  GatewayParts,
  | 'clock'
  | 'config'
  | 'logger'
  | 'folder'
  | 'metrics'
  | 'store'
  | 'attestation'
  | 'rules'
  | 'prices'
  | 'admission'
  | 'fleet'
>

function buildPipeline(
  parts: PipelineParts,
  { upstreams, tokens }: UsedByCalls,
): Pick<GatewayParts, 'pipeline' | 'shadowRules'> {
  const { clock, config, logger, folder, metrics, store, admission } = parts
  const { rules, prices, attestation } = parts
  const { signatures } = attestation
  const shared = {
    clock,
    logger,
    metrics,
    minutes: new UsageMinutes(clock.now()),
    injection: loadInjectionModel(),
    kinds: kindSet(config.pii.kinds),
    binaryParts: config.pii.binaryParts,
    placeholderStyle: config.pii.placeholders,
    pseudonyms: {
      key: () => folder.pseudonymKey.current(),
      inEmbeddings: config.pii.embeddings === 'pseudonym',
    },
    scanCache: new ScanCache(),
    searches: scanMemory(),
  }
  const { candidatePath } = config.rules
  const live = (): string => rules.effective.current.revision
  const shadowRules =
    candidatePath === null
      ? null
      : createShadowRules(candidatePath, { ...shared, live, openKinds: openKindsIn(config) })
  const pipeline: Pipeline = {
    ...shared,
    shadow: shadowRules?.shadow ?? null,
    capture: config.audit.capture,
    endUsers: new EndUsers(
      config.audit.user,
      config.audit.userFields,
      () => parts.fleet?.userKey ?? folder.userKey,
    ),
    identifiers: new Identifiers(folder.signingKey),
    runs: new RunNames(config.runs, folder.signingKey, () => parts.fleet?.userKey ?? folder.userKey),
    log: store.log,
    intents: folder.intents,
    keys: store.ring,
    tokens,
    counters: parts.fleet?.limits.counters ?? store.counters,
    parallel: parts.fleet?.parallel ?? new ParallelCalls(),
    fleetLimits: parts.fleet?.limits ?? null,
    stored: store.stored,
    sharedAnswers: parts.fleet?.answers ?? null,
    receipts: new SignedReceipts({
      ...{ sealed: store.sealed, checkpoints: store.checkpoints, signatures },
      hub: parts.fleet,
    }),
    upstreams,
    bodyBytes: config.limits.bodyBytes,
    ...pipelineTerms(config),
    recognisers: buildRecognisers(config, metrics, clock),
    thoughts: new ThoughtMemory(),
    givenIds: new GivenIds(),
    admission,
    rules: () => rules.current(),
    prices: () => prices?.current() ?? NO_PRICES,
    unknownPrice: () => prices?.unknownPrice() ?? 'block',
    newId: newIds(clock),
  }
  return { pipeline, shadowRules }
}

const newIds = (clock: Clock): (() => string) => uuidv7Source(() => clock.now(), randomBytes)
