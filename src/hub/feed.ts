// The open feed of one sidecar: writes its events, and ends when its token expires or when the
// sidecar reads nothing or acknowledges nothing.

import type { ServerResponse } from 'node:http'
import type { Clock, Milliseconds } from '../core/clock.ts'
import { CONTACT_MS, MAXIMUM_FEED_EVENT_BYTES, printEvent, SILENCE_MS } from '../fleet/protocol.ts'
import type { SidecarName, SidecarReport } from '../ledger/sidecar-ledger.ts'
import type { EventStream } from '../server/eventstream.ts'
import type { FeedGroup } from './fleet-state.ts'

/** A sidecar that acknowledged nothing for so long is cut off. */
const CONTACT_LOST_MS: Milliseconds = 3 * CONTACT_MS
/** Most bytes that wait for a sidecar: a snapshot, and what changes while it is read. */
const MAXIMUM_WAITING_BYTES = 2 * MAXIMUM_FEED_EVENT_BYTES

export interface FeedOptions {
  /** UUID of the feed. */
  readonly id: string
  readonly sidecar: SidecarName
  /** When its token expires, Unix milliseconds. */
  readonly expiresAtMs: Milliseconds
  readonly group: FeedGroup
  readonly response: ServerResponse
  readonly stream: EventStream
  readonly clock: Clock
  /** The revision that the sidecar has when it connects. */
  readonly rev: number
}

export class Feed {
  readonly id: string
  readonly sidecar: SidecarName
  readonly group: FeedGroup
  readonly #options: FeedOptions
  /** Bytes that the sidecar had taken when it last took any, and when that was. */
  #taken = 0
  #takenAtMs: Milliseconds
  #contactAtMs: Milliseconds
  /** Since when the sidecar lacks a change; null when it has all. */
  #behindSinceMs: Milliseconds | null = null
  /** What the sidecar said last. */
  reported: Pick<SidecarReport, 'nack' | 'conflicts'> = { nack: [], conflicts: [] }
  /** The newest revision that is durable at the sidecar. */
  ackedRev: number
  /** It did not answer in time, and is not waited for until it does. */
  isSilent = false

  constructor(options: FeedOptions) {
    this.#options = options
    this.id = options.id
    this.sidecar = options.sidecar
    this.group = options.group
    this.ackedRev = options.rev
    this.#takenAtMs = options.clock.monotonic()
    this.#contactAtMs = this.#takenAtMs
  }

  get isClosed(): boolean {
    return this.#options.response.destroyed || this.#options.response.writableEnded
  }

  write(text: string | Buffer): void {
    if (!this.isClosed) this.#options.stream.write(text)
  }

  /** Notes that a change was sent. */
  expectAnswer(nowMs: Milliseconds): void {
    this.#behindSinceMs ??= nowMs
  }

  /** Notes that the sidecar has answered. @param rev what is durable there @param newest of all */
  acknowledge(rev: number, newest: number, nowMs: Milliseconds): void {
    this.ackedRev = Math.max(this.ackedRev, rev)
    this.isSilent = false
    this.#contactAtMs = nowMs
    this.#behindSinceMs = this.ackedRev >= newest ? null : nowMs
  }

  /** Reports whether the sidecar has not acknowledged a change within a time. */
  isLate(nowMs: Milliseconds, limitMs: Milliseconds): boolean {
    return this.#behindSinceMs !== null && nowMs - this.#behindSinceMs > limitMs
  }

  /** Returns why the feed must end now; null if it may stay. Call it every second. */
  whyEnd(): string | null {
    const { clock, expiresAtMs, response } = this.#options
    const nowMs = clock.monotonic()
    const taken = response.socket?.bytesWritten ?? 0
    const waiting = response.writableLength
    if (taken !== this.#taken || waiting === 0) {
      this.#taken = taken
      this.#takenAtMs = nowMs
    }
    if (clock.now() >= expiresAtMs) return 'the token has expired'
    if (nowMs - this.#contactAtMs > CONTACT_LOST_MS) return 'nothing was acknowledged'
    if (nowMs - this.#takenAtMs > SILENCE_MS || waiting > MAXIMUM_WAITING_BYTES) return 'nothing was read'
    return null
  }

  /** Ends the feed; the sidecar is to connect again. */
  end(reason: string): void {
    if (this.isClosed) return
    this.#options.stream.end(printEvent({ event: 'bye', reason }, ''))
  }

  /** Cuts the feed off. */
  cut(): void {
    this.#options.response.destroy()
  }
}
