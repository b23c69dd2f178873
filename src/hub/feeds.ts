// All open feeds of this hub: opens them in an order that lets no change pass unseen, sends what
// changes and the heartbeats, and writes what sidecars acknowledge.

import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Clock, Milliseconds } from '../core/clock.ts'
import {
  type Acknowledgement,
  BEAT_MS,
  type FeedEvent,
  type FeedPosition,
  KEEP_ALIVE,
  printEvent,
} from '../fleet/protocol.ts'
import type { GatewayLogger } from '../gateway/logger.ts'
import type { FleetReading } from '../ledger/fleet-reading.ts'
import type { SidecarLedger, SidecarReport, SidecarTerms } from '../ledger/sidecar-ledger.ts'
import type { HubMetrics } from '../metrics/hub-metrics.ts'
import { EventStream } from '../server/eventstream.ts'
import { Feed } from './feed.ts'
import { FeedWrites } from './feed-writes.ts'
import type { FeedGroup, FleetState } from './fleet-state.ts'
import { Slots } from './slots.ts'
import type { SidecarIdentity } from './verified-token.ts'

/** Snapshots on the way at once: a thousand sidecars that start together do not fill the memory. */
const SNAPSHOTS_AT_ONCE = 32
/** Acknowledgements that arrive within this time are written together. */
const GATHER_MS: Milliseconds = 20
/** Time after a change from which a sidecar that has not acknowledged it is not waited for. */
export const ANSWER_MS: Milliseconds = 1000

interface FeedsParts {
  /** Id of this hub. */
  readonly hub: string
  readonly state: FleetState
  readonly sidecars: SidecarLedger
  /** Resolves once the state has everything that was in the database at the time of the call. */
  readonly catchUp: () => Promise<void>
  /** The key under which sidecars hash end users, base64. */
  readonly fleetKey: string
  readonly clock: Clock
  readonly logger: GatewayLogger
  readonly metrics: Pick<HubMetrics, 'feeds' | 'feedsAhead'>
}

/** What a sidecar that opens a feed states. */
export type FeedRequest = Omit<SidecarTerms, 'rev'> & { readonly position: FeedPosition | null }

export class Feeds {
  readonly #parts: FeedsParts
  readonly #feeds = new Map<string, Feed>()
  /** Ids of feeds that are about to open. */
  readonly #opening = new Set<string>()
  readonly #slots = new Slots(SNAPSHOTS_AT_ONCE)
  readonly #writes = new FeedWrites()
  /** What is to be written of each sidecar, by its id. */
  #reports = new Map<string, SidecarReport>()
  #writing: NodeJS.Timeout | null = null
  /** Time of the newest reading; null after the heartbeat that stated it. */
  #readAtMs: Milliseconds | null = null
  #lastReadAtMs: Milliseconds = 0
  #beats: NodeJS.Timeout | null = null
  /** Called after each acknowledgement. */
  onAck: () => void = () => {}

  constructor(parts: FeedsParts) {
    this.#parts = parts
  }

  get count(): number {
    return this.#feeds.size
  }

  /** The open feed of a sidecar; undefined without one here. */
  feed(id: string): Feed | undefined {
    return this.#feeds.get(id)
  }

  start(): void {
    this.#beats = setInterval(() => this.#beat(), BEAT_MS).unref()
  }

  /**
   * Opens the feed of a sidecar, in place of an earlier one.
   * @throws GatewayError (rejects) `fleet_unavailable`
   */
  async open(sidecar: SidecarIdentity, request: FeedRequest, response: ServerResponse): Promise<void> {
    const { hub, state, sidecars, catchUp } = this.#parts
    const { position } = request
    const release = await this.#slots.take()
    if (response.destroyed) return release()
    response.once('close', release)
    const isKnown = position !== null && position.epoch === state.epoch
    const rev = isKnown ? Math.min(position.rev, state.rev) : 0
    // First registered, then read: a change that is not in what the sidecar gets is confirmed only
    // with its acknowledgement.
    const id = randomUUID()
    this.#opening.add(id)
    try {
      await sidecars.register(sidecar, { ...request, rev }, { hub, feed: id })
      await catchUp()
    } finally {
      this.#opening.delete(id)
    }
    if (response.destroyed) return this.#written(sidecars.closed([id]))
    this.#begin(id, sidecar, request, response)
    // The place is held until the socket has taken everything before this line.
    if (!response.writableEnded) response.write(KEEP_ALIVE, release)
  }

  #begin(
    id: string,
    sidecar: SidecarIdentity,
    { position, features }: FeedRequest,
    response: ServerResponse,
  ): void {
    const { state, clock, fleetKey } = this.#parts
    const { epoch, rev } = state
    this.#feeds.get(sidecar.id)?.cut()
    const group = state.group(sidecar.namespace, features)
    const isKnown = position !== null && position.epoch === epoch
    const feed = new Feed({
      ...{ id, sidecar, group, response, clock, expiresAtMs: sidecar.expiresAtMs },
      stream: new EventStream(response, {}),
      rev: isKnown ? Math.min(position.rev, rev) : 0,
    })
    this.#feeds.set(sidecar.id, feed)
    this.#parts.metrics.feeds.set(this.count)
    response.once('close', () => this.#closed(feed))
    const { id: self, name } = sidecar
    const hello: FeedEvent = { event: 'hello', epoch, rev, sidecar: self, name, fleet_key: fleetKey }
    const isAhead = isKnown && position.rev > rev
    const missed = isKnown ? state.missed(group, position.rev) : null
    const events = isAhead ? [] : [...(missed ?? [group.snapshot(rev, state.orders)]), this.#beatOf(group)]
    feed.write(this.#print([hello, ...events]))
    if (!isAhead) return
    this.#parts.metrics.feedsAhead.inc()
    feed.end('the database of the hubs is older than this sidecar')
  }

  /** Sends what changed. */
  take(reading: FleetReading): void {
    const { state } = this.#parts
    this.#readAtMs = reading.atMs
    this.#lastReadAtMs = reading.atMs
    if (state.isOther(reading)) {
      state.load(reading)
      this.endAll('the history of changes is another one')
      return
    }
    this.#compare(reading)
    const before = state.rev
    const events = state.apply(reading)
    if (state.rev === before) return
    const nowMs = this.#parts.clock.monotonic()
    const texts = new Map<FeedGroup, Buffer>()
    for (const [group, sent] of events)
      texts.set(group, Buffer.from(this.#print([...sent, this.#beatOf(group)])))
    for (const feed of this.#feeds.values()) {
      this.#writes.write(feed, texts.get(feed.group)!)
      feed.expectAnswer(nowMs)
    }
  }

  /**
   * Ends feeds that no sidecar is registered with: it has another one, at this hub or another, or
   * was declared gone. Changes would not wait for it, so that no heartbeat may reach it either.
   * Releases sidecars that are registered with feeds that are not open.
   */
  #compare({ feeds }: FleetReading): void {
    const open = new Set(this.#opening)
    for (const feed of this.#feeds.values()) {
      open.add(feed.id)
      if (feeds.has(feed.id)) continue
      const { logger } = this.#parts
      logger.warn({ sidecar: feed.sidecar.name }, 'a feed was ended: its sidecar has another one, or none')
      this.#feeds.delete(feed.sidecar.id)
      feed.end('this feed is not registered')
    }
    this.#parts.metrics.feeds.set(this.count)
    const lost = [...feeds].filter((id) => !open.has(id))
    if (lost.length > 0) void this.#written(this.#parts.sidecars.closed(lost))
  }

  /** Takes what a sidecar with an open feed here acknowledges. */
  acknowledge(id: string, ack: Acknowledgement): void {
    const { state, clock } = this.#parts
    const feed = this.#feeds.get(id)
    // A revision of another history says nothing.
    if (feed === undefined || ack.rev > state.rev || (ack.epoch ?? state.epoch) !== state.epoch) return
    feed.acknowledge(ack.durable ? ack.rev : 0, state.rev, clock.monotonic())
    if (!ack.durable) feed.isSilent = true
    const kept = ack.durable ? [] : [{ rev: ack.rev, reason: 'in force, but the disk takes no writes' }]
    this.#report(feed, { nack: [...ack.nack, ...kept].map((one) => ({ ...one })), conflicts: ack.conflicts })
    this.onAck()
  }

  /** Ends the feed of a sidecar that leaves, or that is gone. */
  async leave(id: string, write: () => Promise<void>): Promise<void> {
    await write()
    this.#feeds.get(id)?.end('goodbye')
    this.onAck()
  }

  endAll(reason: string): void {
    for (const feed of this.#feeds.values()) feed.end(reason)
  }

  /** Writes what is not written yet, and ends all feeds. */
  async stop(): Promise<void> {
    if (this.#beats !== null) clearInterval(this.#beats)
    const { sidecars } = this.#parts
    await this.#written(this.#write())
    const ids = [...this.#feeds.values()].map(({ id }) => id)
    this.endAll('the hub stops')
    await this.#written(sidecars.closed(ids))
  }

  #beat(): void {
    const isFresh = this.#readAtMs !== null
    this.#readAtMs = null
    const nowMs = this.#parts.clock.monotonic()
    const texts = new Map<FeedGroup, Buffer>()
    for (const feed of this.#feeds.values()) {
      const reason = feed.whyEnd()
      if (reason !== null) {
        this.#parts.logger.info({ sidecar: feed.sidecar.name, reason }, 'a feed was closed')
        feed.end(reason)
        feed.cut()
        continue
      }
      if (feed.isLate(nowMs, ANSWER_MS) && !feed.isSilent) {
        feed.isSilent = true
        this.#report(feed, {})
      }
      let text = texts.get(feed.group)
      if (text === undefined) {
        text = Buffer.from(isFresh ? this.#print([this.#beatOf(feed.group)]) : KEEP_ALIVE)
        texts.set(feed.group, text)
      }
      this.#writes.write(feed, text)
    }
  }

  #beatOf(group: FeedGroup): FeedEvent {
    return { event: 'beat', t: this.#lastReadAtMs, rev: this.#parts.state.rev, state_hash: group.stateHash }
  }

  #print(events: readonly FeedEvent[]): string {
    return events.map((event) => printEvent(event, this.#parts.state.epoch)).join('')
  }

  #closed(feed: Feed): void {
    const { id } = feed.sidecar
    if (this.#feeds.get(id) !== feed) return
    const { sidecars, state, metrics } = this.#parts
    this.#feeds.delete(id)
    metrics.feeds.set(this.count)
    if (![...this.#feeds.values()].some(({ group }) => group === feed.group)) state.drop(feed.group)
    void this.#written(this.#write().then(() => sidecars.closed([feed.id])))
    this.onAck()
  }

  #report(feed: Feed, more: Partial<Pick<SidecarReport, 'nack' | 'conflicts'>>): void {
    const { id } = feed.sidecar
    feed.reported = { ...feed.reported, ...more }
    this.#reports.set(id, {
      id,
      feed: feed.id,
      rev: feed.ackedRev,
      isSilent: feed.isSilent,
      ...feed.reported,
    })
    this.#writing ??= setTimeout(() => void this.#written(this.#write()), GATHER_MS).unref()
  }

  async #write(): Promise<void> {
    if (this.#writing !== null) clearTimeout(this.#writing)
    this.#writing = null
    const reports = [...this.#reports.values()]
    this.#reports = new Map()
    await this.#parts.sidecars.report(reports, this.#parts.hub)
  }

  /** What is not written claims less than is true; the next acknowledgement writes it again. */
  async #written(writing: Promise<unknown>): Promise<void> {
    await writing.catch((error) =>
      this.#parts.logger.warn({ err: error }, 'what sidecars report could not be stored'),
    )
  }
}
