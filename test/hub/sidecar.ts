// A sidecar that a test drives: opens the feed of a hub, keeps what it gets, and acknowledges it.

import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import type { Test } from 'tap'
import { SseParser } from '../../src/chat/sse.ts'
import { PolicySet } from '../../src/fleet/policy-set.ts'
import {
  type Acknowledgement,
  FEATURES,
  type FeedEvent,
  FLEET_HEADERS,
  FLEET_PATHS,
  type Hello,
  MAXIMUM_FEED_EVENT_BYTES,
  printPosition,
  readEvent,
  type UnknownEvent,
} from '../../src/fleet/protocol.ts'
import { StateHash } from '../../src/fleet/state-hash.ts'
import type { FleetKey } from '../../src/keys/fleet-key.ts'
import { fetchInTime, until } from '../process/until.ts'

interface SidecarOptions {
  readonly url: string
  readonly token: string
  readonly features?: readonly string[]
  readonly maxStaleSeconds?: number
}

export class TestSidecar {
  readonly #options: SidecarOptions
  readonly keys = new Map<string, FleetKey>()
  readonly policy = new PolicySet()
  /** Names of the rules that it has; overridden ones with a mark. */
  rules: string[] = []
  /** The text of the prices that it has. */
  prices = ''
  readonly events: (FeedEvent | UnknownEvent)[] = []
  /** False: reads, applies, and says nothing. */
  acknowledges = true
  durable = true
  rev = 0
  hello: Hello | null = null
  status = 0
  isEnded = false
  #request: ClientRequest | null = null
  #response: IncomingMessage | null = null

  constructor(t: Pick<Test, 'teardown'>, options: SidecarOptions) {
    this.#options = options
    t.teardown(() => this.kill())
    this.policy.connect({
      rules: ({ rules }, overrides) => {
        const off = new Set(overrides.map(({ rule_id }) => rule_id))
        this.rules = rules.map(({ id, declaration }) => `${declaration.name}${off.has(id) ? '!' : ''}`)
        return null
      },
      prices: ({ prices }) => {
        this.prices = prices
        return null
      },
    })
  }

  /** Opens the feed; resolves when it answers. @param url of another hub */
  async connect(url = this.#options.url): Promise<this> {
    const { features = FEATURES, maxStaleSeconds = 60, token } = this.#options
    this.isEnded = false
    const { epoch } = this.hello ?? {}
    this.hello = null
    const headers: Record<string, string> = {
      authorization: `Bearer ${token}`,
      [FLEET_HEADERS.protocol]: '1',
      [FLEET_HEADERS.features]: features.join(','),
      [FLEET_HEADERS.version]: '0.1.0',
      [FLEET_HEADERS.maxStale]: String(maxStaleSeconds),
      ...(epoch !== undefined && { [FLEET_HEADERS.resume]: printPosition({ epoch, rev: this.rev }) }),
    }
    this.#hub = url
    const parser = new SseParser(MAXIMUM_FEED_EVENT_BYTES)
    const sent = request(url + FLEET_PATHS.feed, { headers, agent: false }, (response) => {
      this.#response = response
      this.status = response.statusCode ?? 0
      response.on('data', (bytes: Buffer) => {
        for (const one of parser.push(bytes)) this.#take(readEvent(one))
      })
      response.on('close', () => {
        if (this.#response === response) this.isEnded = true
      })
      response.on('error', () => {})
    })
    sent.on('error', () => {
      this.isEnded = true
    })
    sent.end()
    this.#request = sent
    await until('the feed answers', async () => this.status !== 0 || this.isEnded)
    if (this.status === 200) await until('the feed begins', async () => this.hello !== null || this.isEnded)
    return this
  }

  #hub = ''

  get hash(): string {
    const hash = new StateHash()
    for (const key of this.keys.values()) hash.toggle(key)
    return hash.with(this.policy.stateHash).toString()
  }

  /** Reads no more, and the connection stays. */
  freeze(): void {
    this.#response?.pause()
    this.acknowledges = false
  }

  /** Cuts the connection. */
  kill(): void {
    this.#request?.destroy()
  }

  /** Sends an acknowledgement. @returns the status */
  async acknowledge(more: Partial<Acknowledgement> = {}): Promise<number> {
    return this.post(FLEET_PATHS.ack, { rev: this.rev, durable: this.durable, ...more })
  }

  leave(): Promise<number> {
    return this.post(FLEET_PATHS.leave, {})
  }

  async post(path: string, body: unknown): Promise<number> {
    return (await this.exchange(path, body)).status
  }

  /** Posts JSON. @returns the status and the text of the answer */
  async exchange(path: string, body: unknown): Promise<{ status: number; text: string }> {
    const response = await fetchInTime(this.#hub + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.#options.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return { status: response.status, text: await response.text() }
  }

  #take(event: FeedEvent | UnknownEvent | null): void {
    if (event === null) return
    this.events.push(event)
    if (event.event === 'hello') this.hello = event
    const before = this.rev
    if (event.event === 'snapshot') {
      this.keys.clear()
      for (const key of event.keys) this.keys.set(key.id, key)
      this.policy.replace(event.policy, event.rev)
      this.rev = event.rev
    } else if (event.event === 'key') {
      if (event.op === 'put') this.keys.set(event.id, event.body)
      else this.keys.delete(event.id)
      this.rev = event.rev
    } else if (event.event === 'rules' || event.event === 'prices' || event.event === 'override') {
      this.policy.change(event)
      this.rev = event.rev
    } else if (event.event === 'erase') this.rev = event.rev
    else if (event.event === 'beat') this.rev = Math.max(this.rev, event.rev)
    if ((this.rev !== before || event.event === 'snapshot') && this.acknowledges)
      this.acknowledge().catch(() => {})
  }
}
