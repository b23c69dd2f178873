// Connects a sidecar to its hubs: one feed at a time, acknowledgements, the goodbye. What an event
// means is the session's.

import type { Clock, Milliseconds } from '../core/clock.ts'
import { within } from '../core/deadline.ts'
import type { FleetConfig } from '../core/fleet-config.ts'
import type { Timers } from '../core/timers.ts'
import { VERSION } from '../core/version.ts'
import type { PendingOrder } from '../keys/fleet-state.ts'
import { Acknowledger } from './acknowledger.ts'
import { Backoff } from './backoff.ts'
import type { Credential } from './credential.ts'
import { type FeedEnd, FeedSession } from './feed-session.ts'
import { HubRefusal, HubRequests, HubUnreachable, type PostOptions } from './hub-requests.ts'
import { LEASES_PATH, type LeaseRequest, MAXIMUM_LEASE_BYTES } from './lease-protocol.ts'
import { OrderRunner } from './order-runner.ts'
import {
  FEATURES,
  type FeedEvent,
  FLEET_HEADERS,
  FLEET_PATHS,
  type Nack,
  PROTOCOL,
  printPosition,
  type UnknownEvent,
} from './protocol.ts'
import type { SidecarMemory } from './sidecar-memory.ts'

/** Longest wait for the answer to an acknowledgement, or to a join token. */
const POST_MS: Milliseconds = 3000
/** Longest wait for a receipt, and its longest form. */
const RECEIPT_MS: Milliseconds = 2000
const MAXIMUM_RECEIPT_BYTES = 1024 * 1024
/** Longest wait for the answer to a goodbye, over all hubs. */
const LEAVE_MS: Milliseconds = 1000
/** Problems that are remembered as logged. */
const MAXIMUM_REPORTED = 50

export interface FleetClientParts {
  readonly config: Pick<FleetConfig, 'hubs' | 'ca' | 'joinToken' | 'maxStaleSeconds'>
  readonly credential: Credential
  readonly memory: SidecarMemory
  readonly clock: Clock
  readonly timers: Timers
  /** As OrderRunner takes it. */
  readonly erase: (order: PendingOrder) => Promise<unknown>
  /** Returns a number from 0, inclusive, to 1, exclusive. */
  readonly random: () => number
  readonly events: {
    /** A heartbeat of a hub was applied, for the first time on this feed. */
    connected(hub: string): void
    /** A feed ended, could not be opened, or is not all well. Once for each reason. */
    troubled(hub: string, problem: string): void
    /** A feed is opened after another one. */
    reconnecting(): void
  }
}

export class FleetClient {
  readonly #parts: FleetClientParts
  readonly #requests: HubRequests
  readonly #acknowledger: Acknowledger
  readonly #orders: OrderRunner
  readonly #backoff: Backoff
  /** Events that are not in force. */
  readonly #unknown: Nack[] = []
  readonly #stopping = new AbortController()
  #hub: number
  #session: FeedSession | null = null
  #running: Promise<void> | null = null
  #problem: string | null = 'no hub was reached yet'
  readonly #reported = new Set<string>()
  readonly #refused = new Set<string>()
  #needsSnapshot: boolean
  /** Ends the feed that is open. */
  #feed = new AbortController()
  #wake: () => void = () => {}

  constructor(parts: FleetClientParts) {
    const { config, memory, timers, random } = parts
    this.#parts = parts
    this.#requests = new HubRequests(config.ca)
    this.#backoff = new Backoff(random)
    this.#hub = Math.floor(random() * config.hubs.length)
    // The release that starts may know what the last one did not.
    this.#needsSnapshot = memory.state.hasUnknownEvents
    this.#acknowledger = new Acknowledger({
      memory,
      timers,
      unknown: this.#unknown,
      post: async (ack, end) => {
        await this.#post(this.hub, FLEET_PATHS.ack, ack, POST_MS, { end })
      },
      onRefusal: (problem) => this.#report(problem),
    })
    this.#orders = new OrderRunner({
      ...{ memory, timers, erase: parts.erase },
      onApplied: () => this.#acknowledger.request(),
      onError: (error) => this.#report(`an order of erasure waits: ${(error as Error).message}`),
    })
  }

  /** Origin of the hub that is connected, or tried next. */
  get hub(): string {
    return this.#parts.config.hubs[this.#hub]!
  }

  /** Whether a heartbeat was applied on the feed that is open. */
  get isConnected(): boolean {
    return this.#session?.isFresh === true
  }

  /** Why there is no connection, or what is wrong with it, for people; null if nothing is. */
  get problem(): string | null {
    return this.#problem
  }

  /** Events of the hub that are not in force here. */
  get refused(): readonly Nack[] {
    return [...this.#unknown, ...this.#parts.memory.refusals()]
  }

  /** Asks the connected hub for leases. @throws HubUnreachable, HubRefusal (rejects) */
  lease(request: LeaseRequest, timeoutMs: Milliseconds): Promise<string> {
    return this.#post(this.hub, LEASES_PATH, request, timeoutMs, { maximumBytes: MAXIMUM_LEASE_BYTES })
  }

  /**
   * Asks a hub for the receipt of a call of a key at another sidecar.
   * @throws HubUnreachable, HubRefusal (rejects)
   */
  receipt(id: string, keyLine: string): Promise<string> {
    const body = { id, key_line: keyLine }
    return this.#post(this.hub, FLEET_PATHS.receipt, body, RECEIPT_MS, {
      maximumBytes: MAXIMUM_RECEIPT_BYTES,
    })
  }

  /** Connects, now and whenever the connection is lost. */
  start(): void {
    this.#orders.wake()
    this.#running ??= this.#run()
  }

  /**
   * Ends the connection and says goodbye. A mark of it is durable before the goodbye leaves: from
   * then on no hub counts this sidecar, so the next process refuses their keys until a heartbeat is
   * applied. The mark is removed when no hub can have heard the goodbye.
   */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#feed.abort()
    this.#wake()
    this.#acknowledger.close()
    if (this.#running !== null) await within(this.#running, LEAVE_MS)
    await within(this.#orders.stop(), LEAVE_MS)
    const { memory } = this.#parts
    if (memory.state.sidecar !== null) {
      memory.update({ left: true })
      // Without the mark on disk the next process would trust keys that nobody counts.
      if ((await memory.save()) && !(await this.#leave())) memory.update({ left: false })
    }
    await memory.save()
    this.#requests.close()
  }

  /** @returns whether a hub may have heard it */
  async #leave(): Promise<boolean> {
    const { clock, config } = this.#parts
    const endMs = clock.monotonic() + LEAVE_MS
    for (let tries = 0; tries < config.hubs.length; tries++) {
      const leftMs = Math.ceil(endMs - clock.monotonic())
      if (leftMs <= 0) return false
      try {
        await this.#post(this.hub, FLEET_PATHS.leave, {}, leftMs)
        return true
      } catch (error) {
        if (!(error instanceof HubUnreachable && error.neverSent)) return true
        this.#nextHub()
      }
    }
    return false
  }

  async #run(): Promise<void> {
    const { events, memory } = this.#parts
    for (let isFirst = true; !this.#stopping.signal.aborted; isFirst = false) {
      if (!isFirst) events.reconnecting()
      const { keys, policy, freshness } = memory
      const [asksForAll, unknown] = [this.#needsSnapshot, this.#unknown]
      const session = new FeedSession({ keys, policy, freshness, orders: memory, asksForAll, unknown })
      const end = await this.#connect(session).catch((error: unknown): FeedEnd => {
        if (error instanceof HubRefusal && error.isGone) this.#forget()
        return { problem: (error as Error).message, needsSnapshot: this.#needsSnapshot }
      })
      this.#session = null
      this.#acknowledger.close()
      this.#requests.close()
      if (this.#stopping.signal.aborted) return
      this.#needsSnapshot = end.needsSnapshot
      if (end.problem !== null) this.#report(end.problem)
      // A feed that ends by itself, or that had to be opened anew, is followed by the next at once.
      const isAtOnce = session.isFresh && end.problem === null
      if (session.isFresh) this.#backoff.reset()
      if (!end.needsSnapshot || end.problem !== null) this.#nextHub()
      if (!isAtOnce) await this.#wait(this.#backoff.next())
    }
  }

  /** Reads a feed to its end. @throws HubUnreachable, HubRefusal (rejects) */
  async #connect(session: FeedSession): Promise<FeedEnd> {
    const { memory, config, clock, timers, credential } = this.#parts
    const { hub } = this
    await this.#keepSmallerLimit()
    const headers = await this.#headers(hub)
    const openedMs = clock.monotonic()
    this.#session = session
    this.#feed = new AbortController()
    if (this.#stopping.signal.aborted) this.#feed.abort()
    const renewal =
      credential.renewalMs === null ? null : timers.set(() => this.#feed.abort(), credential.renewalMs)
    let end: FeedEnd = { problem: null, needsSnapshot: false }
    const onEvent = (event: FeedEvent | UnknownEvent): boolean => {
      const times = { nowMs: clock.now(), receivedMs: clock.monotonic(), openedMs }
      const wasFresh = session.isFresh
      const outcome = session.take(event, times)
      if (event.event === 'hello' && outcome.end === null) memory.contacted(event, config.maxStaleSeconds)
      if (session.isCurrent && outcome.end === null) this.#acknowledger.open()
      if (event.event === 'unknown') memory.update({ hasUnknownEvents: true })
      if (event.event === 'snapshot' && outcome.end === null) memory.update({ hasUnknownEvents: false })
      if (session.isFresh && !wasFresh) this.#connected(hub)
      if (outcome.isNews) this.#reportRefused()
      if (outcome.isNews) this.#orders.wake()
      if (outcome.isNews || memory.isUnsaved) this.#acknowledger.request()
      if (outcome.end !== null) end = outcome.end
      return outcome.end === null
    }
    try {
      await this.#requests.feed({
        url: `${hub}${FLEET_PATHS.feed}`,
        headers: { ...headers, ...this.#description() },
        signal: this.#feed.signal,
        onEvent,
      })
    } catch (error) {
      // Aborted to renew the credential.
      if (!this.#feed.signal.aborted) throw error
    } finally {
      timers.clear(renewal)
    }
    return end
  }

  /** Changes do not wait for a sidecar that is declared gone, so that it may not decide by them. */
  #forget(): void {
    const { memory } = this.#parts
    memory.freshness.forget()
    memory.update({ left: true })
    void memory.save()
  }

  #connected(hub: string): void {
    const { memory, events } = this.#parts
    if (memory.state.left) memory.update({ left: false })
    this.#problem = null
    this.#reported.clear()
    events.connected(hub)
  }

  /** A hub counts with a smaller limit once it hears of it, so a restart must not forget it. */
  async #keepSmallerLimit(): Promise<void> {
    const { memory, config } = this.#parts
    const { toldMaxStaleSeconds } = memory.state
    if (toldMaxStaleSeconds === null || toldMaxStaleSeconds <= config.maxStaleSeconds) return
    memory.update({ toldMaxStaleSeconds: config.maxStaleSeconds })
    await memory.save()
  }

  #description(): Record<string, string> {
    const { memory, config } = this.#parts
    const { position } = memory.keys
    return {
      [FLEET_HEADERS.protocol]: String(PROTOCOL),
      [FLEET_HEADERS.features]: FEATURES.join(','),
      [FLEET_HEADERS.version]: VERSION,
      [FLEET_HEADERS.maxStale]: String(config.maxStaleSeconds),
      ...(position !== null && !this.#needsSnapshot && { [FLEET_HEADERS.resume]: printPosition(position) }),
    }
  }

  async #headers(hub: string): Promise<Record<string, string>> {
    const token = await this.#parts.credential.bearer((publicKey) => this.#join(hub, publicKey))
    return { authorization: `Bearer ${token}` }
  }

  /** Exchanges the join token. @returns the id, which is durable */
  async #join(hub: string, publicKey: string): Promise<string> {
    const { config, memory } = this.#parts
    const token = config.joinToken?.current() ?? ''
    const body = { token, public_key: publicKey }
    const answer: unknown = JSON.parse(
      await this.#requests.post(`${hub}${FLEET_PATHS.join}`, {}, body, POST_MS),
    )
    const id = (answer as { sidecar?: unknown } | null)?.sidecar
    if (typeof id !== 'string' || id === '') throw new Error('the hub answered a join token without an id')
    memory.update({ joined: id })
    await memory.save()
    return id
  }

  async #post(
    hub: string,
    path: string,
    body: object,
    timeoutMs: Milliseconds,
    options?: PostOptions,
  ): Promise<string> {
    return this.#requests.post(`${hub}${path}`, await this.#headers(hub), body, timeoutMs, options)
  }

  #nextHub(): void {
    this.#hub = (this.#hub + 1) % this.#parts.config.hubs.length
  }

  /** Logs each event that is not in force once. */
  #reportRefused(): void {
    for (const { reason } of this.refused) {
      if (this.#refused.has(reason)) continue
      if (this.#refused.size >= MAXIMUM_REPORTED) this.#refused.clear()
      this.#refused.add(reason)
      this.#parts.events.troubled(this.hub, `not in force here: ${reason}`)
    }
  }

  /** Logs a problem once until a heartbeat is applied. */
  #report(problem: string): void {
    this.#problem = problem
    if (this.#reported.has(problem)) return
    if (this.#reported.size >= MAXIMUM_REPORTED) this.#reported.clear()
    this.#reported.add(problem)
    this.#parts.events.troubled(this.hub, problem)
  }

  #wait(delayMs: Milliseconds): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#parts.timers.set(resolve, delayMs)
      this.#wake = () => {
        this.#parts.timers.clear(timer)
        resolve()
      }
    })
  }
}
