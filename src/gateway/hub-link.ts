// The gateway as a sidecar of a fleet: its connection to the hubs, and what it reports of it. Made
// only with `fleet` in the configuration.

import { GATEWAY_ACTOR } from '../core/actor.ts'
import type { Clock, Milliseconds } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import { GatewayError } from '../core/errors.ts'
import type { FleetConfig } from '../core/fleet-config.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import type { CallKey } from '../core/key-terms.ts'
import { isoTimeOrNull } from '../core/time.ts'
import { systemTimers } from '../core/timers.ts'
import { AnswerLookup, MAXIMUM_ASKS } from '../fleet/answer-lookup.ts'
import { FleetClient } from '../fleet/client.ts'
import { type Credential, fileCredential, joinedCredential } from '../fleet/credential.ts'
import { COVER_SOURCES } from '../fleet/hub-limit.ts'
import { HubRefusal, HubRequests } from '../fleet/hub-requests.ts'
import { LeaseClient, REQUESTS_OF_A_PROCESS } from '../fleet/lease-client.ts'
import type { PolicySet } from '../fleet/policy-set.ts'
import { SidecarMemory } from '../fleet/sidecar-memory.ts'
import { MAXIMUM_STORED_BYTES } from '../fleet/stored-protocol.ts'
import type { OrderSelection } from '../keys/erase-order.ts'
import type { GatewayState, Metrics } from '../metrics/registry.ts'
import { FleetQuota } from '../pipeline/limits/fleet-quota.ts'
import { ParallelCalls } from '../pipeline/limits/parallel-calls.ts'
import { ownSidecarKey } from '../store/files/signingkey.ts'
import type { StoredCheckpoint } from '../store/log/checkpoints.ts'
import type { EraseSelection } from '../store/log/erase.ts'
import type { Store } from '../store/store.ts'
import { LogShipment } from './log-shipment.ts'
import type { GatewayLogger } from './logger.ts'

interface LinkParts {
  readonly clock: Clock
  readonly config: FleetConfig
  /** The data folder. */
  readonly path: string
  readonly store: Pick<Store, 'fleet' | 'keys' | 'ring' | 'shipping' | 'log' | 'counters'>
  readonly logger: GatewayLogger
  readonly metrics: Pick<
    Metrics,
    'fleetReconnects' | 'fleetShipped' | 'fleetContentKept' | 'fleetLeaseRequests' | 'fleetLimits'
  >
  readonly limits: Pick<Config['limits'], 'onHubLoss' | 'waitMs'>
}

export class HubLink {
  readonly #config: FleetConfig
  readonly #store: LinkParts['store']
  readonly #logger: GatewayLogger
  readonly #memory: SidecarMemory
  readonly #client: FleetClient
  readonly #shipment: LogShipment
  /** Stores a checkpoint that a hub has cosigned. */
  onCosigned: (checkpoint: StoredCheckpoint) => Promise<void> = async () => {}
  readonly #leases: LeaseClient
  /** Whether the numbers of requests for leases are kept from the next process. */
  #isNumbered = false
  readonly limits: FleetQuota
  /** Finds stored answers that other sidecars made. */
  readonly answers: AnswerLookup
  /** A connection of their own, so that leases do not wait for them. */
  readonly #questions: HubRequests
  /** The places of the gateway's own limits. */
  readonly parallel = new ParallelCalls()

  /** Puts the keys that are stored into force. Opens no connection. */
  constructor(parts: LinkParts) {
    const { clock, config, path, store, logger, metrics } = parts
    this.#config = config
    this.#store = store
    this.#logger = logger
    this.#memory = new SidecarMemory(store.fleet, clock, config.maxStaleSeconds)
    store.ring.hubKeys = this.#memory
    const credential = credentialOf(config, path, clock, this.#memory)
    this.#client = new FleetClient({
      config,
      credential,
      memory: this.#memory,
      clock,
      timers: systemTimers,
      // Who ordered it is in the log of the hubs.
      erase: ({ rev, selection }) => store.log.erase(selectionOf(selection), GATEWAY_ACTOR, rev ?? undefined),
      random: Math.random,
      events: {
        connected: (hub) => {
          logger.info({ hub }, 'connected to the hub; its keys are in force')
          this.#leases.connected()
        },
        troubled: (hub, problem) => logger.warn({ hub, problem }, 'the connection to the hub has a problem'),
        reconnecting: () => metrics.fleetReconnects.inc(),
      },
    })
    this.#shipment = new LogShipment({
      ca: config.ca,
      store,
      hub: () => this.#client.hub,
      authorize: () => authorizationOf(credential, this.#memory),
      clock,
      logger,
      metrics,
      onCosigned: (checkpoint) => this.onCosigned(checkpoint),
    })
    this.#questions = new HubRequests(config.ca, MAXIMUM_ASKS)
    this.answers = this.#openAnswers(credential, clock)
    this.#leases = this.#openLeases(parts)
    // No query sees the increase of a new series.
    for (const source of COVER_SOURCES) metrics.fleetLimits.inc({ source }, 0)
    this.limits = new FleetQuota({
      leases: this.#leases,
      isHubKey: (id) => this.#memory.keys.has(id),
      counters: store.counters,
      parallel: this.parallel,
      clock,
      covered: (source) => metrics.fleetLimits.inc({ source }),
    })
  }

  #openAnswers(credential: Credential, clock: Clock): AnswerLookup {
    const options = { maximumBytes: MAXIMUM_STORED_BYTES }
    const headers = async () => (await authorizationOf(credential, this.#memory)) ?? {}
    return new AnswerLookup({
      ...{ clock, timers: systemTimers },
      isConnected: () => this.#client.isConnected,
      isHubKey: (id) => this.#memory.keys.has(id),
      get: async (path, timeoutMs) =>
        this.#questions.get(this.#client.hub + path, await headers(), timeoutMs, options),
      post: async (path, body, timeoutMs) =>
        this.#questions.post(this.#client.hub + path, await headers(), body, timeoutMs),
    })
  }

  #openLeases({ clock, limits, metrics, logger }: LinkParts): LeaseClient {
    const firstRequest = Math.max(Math.floor(clock.now()), this.#memory.state.nextLeaseRequest)
    this.#memory.update({ nextLeaseRequest: firstRequest + REQUESTS_OF_A_PROCESS })
    return new LeaseClient({
      ...{ ...limits, clock, timers: systemTimers, firstRequest },
      post: async (request, timeoutMs) => {
        await this.#numbered()
        return this.#client.lease(request, timeoutMs)
      },
      isConnected: () => this.#client.isConnected,
      asked: (result) => metrics.fleetLeaseRequests.inc({ result }),
      alone: (isAlone) => logger.warn({ alone: isAlone }, isAlone ? ALONE : NOT_ALONE),
    })
  }

  /**
   * Resolves once the next process will not use the numbers of this one.
   * @throws Error (rejects) while the disk takes no writes
   */
  async #numbered(): Promise<void> {
    if (this.#isNumbered) return
    this.#isNumbered = await this.#memory.save()
    if (!this.#isNumbered) throw new Error('the number of the first request cannot be written')
  }

  /** The key under which end users are hashed, the same for all sidecars; null before a contact. */
  get userKey(): Buffer | null {
    return this.#memory.fleetKey
  }

  /** URL of a hub, for people. */
  get url(): string {
    return this.#config.hubs[0] ?? ''
  }

  /** Rules and prices of the hub. */
  get policy(): PolicySet {
    return this.#memory.policy
  }

  /** The time by the clock of the hubs, also while they are away. */
  now(): Milliseconds {
    return this.#memory.freshness.hubNowMs
  }

  /** Whether there are keys of a hub, or the gateway is to serve without. */
  get isReady(): boolean {
    return this.#config.startWithoutHub !== 'wait' || this.#memory.keys.position !== null
  }

  start(): void {
    const own = this.#store.keys.countOwn()
    const message =
      'this gateway made keys before it had a hub; they work, and can be revoked only without `fleet`'
    if (own > 0) this.#logger.warn({ keys: own }, message)
    // Before the first call needs it.
    this.#numbered().catch(() => {})
    this.#client.start()
    this.#shipment.start()
  }

  /** Entries have become durable. */
  sealed(): void {
    this.#shipment.sealed()
  }

  /** A checkpoint was signed and stored. */
  signed(checkpoint: StoredCheckpoint): void {
    this.#shipment.signed(checkpoint)
  }

  /** Works like `ReceiptSource.elsewhere`; a hub knows the calls of its own keys. */
  async receipt(id: string, key: Pick<CallKey, 'id' | 'line'>): Promise<JsonObject | null> {
    if (!this.#memory.keys.has(key.id)) return null
    try {
      const receipt: unknown = JSON.parse(await this.#client.receipt(id, key.line))
      return isObject(receipt) ? receipt : null
    } catch (error) {
      if (error instanceof HubRefusal && error.status === 404) return null
      const code = error instanceof HubRefusal ? error.code : ''
      if (code === 'conflict') throw new GatewayError('conflict', NEVER_COVERED, { cause: error })
      const [failure, message] =
        code === 'audit_unavailable'
          ? (['audit_unavailable', NOT_COVERED] as const)
          : (['fleet_unavailable', NO_RECEIPT] as const)
      const headers = { 'retry-after': RETRY_AFTER_SECONDS }
      throw new GatewayError(failure, message, { headers, cause: error })
    }
  }

  /** Says goodbye and ends the connection. The store must be open. */
  async stop(): Promise<void> {
    await this.#leases.stop()
    await this.#client.stop()
    this.#questions.close()
  }

  /**
   * Sends the rest of the log, until a hub has it or the time is over. May follow the goodbye,
   * which is about keys. The store must be open.
   * @param hurry ends it at once when it resolves
   */
  finish(limitMs: Milliseconds, hurry: Promise<void>): Promise<void> {
    return this.#shipment.finish(limitMs, hurry)
  }

  /** What /readyz shows: `ok`, or what is wrong. */
  health(): JsonObject {
    const { freshness, keys } = this.#memory
    const reasons = [
      keys.position === null ? 'no keys of a hub are known yet' : null,
      keys.position !== null && freshness.isStale ? this.#whyStale() : null,
      this.#client.problem,
      this.#leases.isAlone ? ALONE : null,
      this.#whyRefused(),
      ...this.#shipment.problems(),
    ].filter((reason) => reason !== null)
    return { fleet: reasons.length === 0 ? 'ok' : [...new Set(reasons)].join('; ') }
  }

  #whyRefused(): string | null {
    const { refused } = this.#client
    return refused.length === 0
      ? null
      : `changes of the hub that are not in force here: ${refused.length}; ${refused[0]!.reason}`
  }

  #whyStale(): string {
    return this.#memory.state.left
      ? 'this gateway said goodbye, so the keys of the hub are refused until it has connected again'
      : 'no hub was heard for fleet.maxStaleSeconds, so its keys are refused'
  }

  status(): JsonObject {
    const { freshness, keys } = this.#memory
    const { position } = keys
    return {
      hub: this.#client.hub,
      connected: this.#client.isConnected,
      epoch: position?.epoch ?? null,
      rev: position?.rev ?? null,
      last_heartbeat_at: isoTimeOrNull(freshness.freshAtMs),
      stale_in_seconds: freshness.remainingMs / 1000,
      keys: keys.size,
      problem: this.#client.problem,
      log: this.#shipment.status(),
    }
  }

  /** The values of the metrics page. */
  state(): NonNullable<GatewayState['fleet']> {
    const { freshness, keys } = this.#memory
    return {
      connected: this.#client.isConnected,
      ageSeconds: freshness.ageMs / 1000,
      maxAgeSeconds: freshness.limitMs / 1000,
      keys: keys.size,
      ...this.#shipment.state(),
      refusedChanges: this.#client.refused.length,
      isCountedAlone: this.#leases.isAlone,
    }
  }
}

/** Time after which a receipt is asked for again. */
const RETRY_AFTER_SECONDS = '5'
const NOT_COVERED =
  'The call, or a checkpoint that covers it, has not reached a hub yet; try again in a few seconds.'
const NEVER_COVERED =
  'No receipt of this call can be made: the log of the gateway that sealed it ended before a checkpoint was signed over it. The hubs have its entry, which an auditor finds by this id.'
const NO_RECEIPT =
  'This gateway has no call with this id, and no hub answers whether another one has; try again.'

const ALONE =
  'no hub answers, so each gateway counts the limits of the fleet alone and together they allow a multiple (limits.onHubLoss: local)'
const NOT_ALONE = 'the hub answers; its limits hold over the fleet again'

/** Returns null without `fleet` in the configuration. */
export const linkToHub = (
  { fleet, data, limits }: Config,
  parts: Pick<LinkParts, 'clock' | 'store' | 'logger' | 'metrics'>,
): HubLink | null =>
  fleet === null ? null : new HubLink({ config: fleet, path: data.path, limits, ...parts })

function credentialOf(
  { token }: FleetConfig,
  path: string,
  clock: Clock,
  memory: Pick<SidecarMemory, 'state'>,
): Credential {
  if (token !== null) return fileCredential(token)
  const id = () => memory.state.joined
  return joinedCredential({ id, clock, privateKey: ownSidecarKey(path) })
}

/** Returns null before a hub knows this sidecar: a join token is exchanged once, by the feed. */
async function authorizationOf(
  credential: Credential,
  { state }: Pick<SidecarMemory, 'state'>,
): Promise<Record<string, string> | null> {
  if (state.sidecar === null) return null
  const token = await credential.bearer(() => Promise.reject(new Error('this gateway has not joined')))
  return { authorization: `Bearer ${token}` }
}

/** Returns what an order selects in the log of this gateway. */
function selectionOf(selection: OrderSelection): EraseSelection {
  if ('request_id' in selection) return { requestId: selection.request_id }
  if ('key_id' in selection) return { keyId: selection.key_id }
  if ('user' in selection) return { userHash: Buffer.from(selection.user, 'hex') }
  return { beforeMs: Date.parse(selection.before) }
}
