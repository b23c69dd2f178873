// A small hub over real sockets, which a test scripts: keys, revisions, a feed, acknowledgements.

import { randomBytes, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import { createApiKey, hashApiKey, keyPrefix } from '../../src/core/apikey.ts'
import { uuidv5 } from '../../src/core/ids.ts'
import type { JsonObject } from '../../src/core/json.ts'
import type { SentPolicy } from '../../src/fleet/policy-events.ts'
import { togglePolicy } from '../../src/fleet/policy-set.ts'
import {
  type Acknowledgement,
  type FeedEvent,
  FLEET_HEADERS,
  FLEET_PATHS,
  printEvent,
  readAck,
  readPosition,
} from '../../src/fleet/protocol.ts'
import { logPath, readShippedLine, type ShippedEntry } from '../../src/fleet/shipping.ts'
import { StateHash } from '../../src/fleet/state-hash.ts'
import type { EraseOrder, OrderSelection } from '../../src/keys/erase-order.ts'
import type { FleetKey } from '../../src/keys/fleet-key.ts'
import {
  type FleetOverride,
  type FleetPrices,
  type FleetRule,
  type FleetRules,
  fleetRulesOf,
  NO_FLEET_PRICES,
} from '../../src/policy/fleet-policy.ts'
import { until } from '../process/until.ts'

const BEAT_MS = 20
const LOGS_PATH = logPath('')
/** The key under which end users are hashed. */
export const FLEET_KEY = Buffer.alloc(32, 7)
export const SIDECAR_TOKEN = 'a-token-of-a-sidecar'

/** Makes a key as a hub sends it. */
export function fleetKey(id: string, rev: number, terms: JsonObject = {}): { row: FleetKey; key: string } {
  const key = createApiKey(randomBytes(32))
  const row = {
    id,
    sha256: hashApiKey(key),
    name: `key ${id}`,
    prefix: keyPrefix(key),
    line: id,
    replaces: null,
    terms,
    created_at: '2026-11-01T00:00:00.000Z',
    rev,
  }
  return { row, key }
}

/** Makes a keyword rule as a hub sends it, with its name as the pattern. */
export const fleetRule = (name: string, more: object = {}): FleetRule => ({
  id: uuidv5(name),
  declaration: {
    ...({ name, type: 'keyword_block', pattern: name, action: 'block', enabled: true } as const),
    ...more,
  },
  ...{ path: 'hub.yaml', line: 2, created_at: '2026-11-01T00:00:00.000Z' },
  updated_at: '2026-11-01T00:00:00.000Z',
})

export const stateHashOf = (keys: Iterable<FleetKey>, policy: SentPolicy | null = null): string => {
  const hash = new StateHash()
  if (policy !== null) togglePolicy(hash, policy)
  for (const key of keys) hash.toggle(key)
  return hash.toString()
}

interface Answer {
  readonly status: number
  readonly body?: string
  readonly headers?: Record<string, string>
}

/** What a test does with a request: breaks the connection, keeps it open, or answers; null as usual. */
type Scripted = Answer | 'lost' | 'silent' | null

/** An entry as a hub has it. */
interface ArrivedEntry extends ShippedEntry {
  readonly seq: number
}

/** The logs of sidecars, as a hub takes them; checks what a sender needs to hear. */
class ArrivedLogs {
  readonly entries: ArrivedEntry[] = []
  readonly notes: string[] = []
  /** Entries of each request. */
  readonly requests: number[] = []
  readonly authorizations: (string | undefined)[] = []
  duplicates = 0
  /** Answers before anything is stored. */
  before: (path: string) => Scripted = () => null
  /** Answers once it is stored. */
  after: () => Scripted = () => null
  /** What a note is returned with. */
  cosign: (note: string) => string = (note) => `${note}\u2014 sidegate-hub/log AAAAAAAA\n`

  get seqs(): number[] {
    return this.entries.map(({ seq }) => seq)
  }

  take(path: string, body: Buffer, authorization: string | undefined): Scripted {
    this.authorizations.push(authorization)
    const scripted = this.before(path)
    if (scripted !== null) return scripted
    if (path.endsWith('/checkpoint')) {
      this.notes.push(body.toString())
      return this.after() ?? { status: 200, body: this.cosign(body.toString()) }
    }
    return this.#takeEntries(body) ?? this.after() ?? this.#head()
  }

  #takeEntries(body: Buffer): Scripted {
    const lines = body.toString().trimEnd().split('\n')
    this.requests.push(lines.length)
    for (const line of lines) {
      const entry = readShippedLine(Buffer.from(line))
      const { seq } = JSON.parse(entry.bytes.toString()) as { seq: number }
      const stored = this.entries.find((one) => one.seq === seq)
      const newest = this.entries.at(-1)
      const want = newest === undefined ? (entry.before === null ? 0 : seq) : newest.seq + 1
      if (stored?.hash === entry.hash) this.duplicates++
      else if (stored !== undefined) return conflict({ code: 'fork', seq })
      else if (seq === want) this.entries.push({ ...entry, seq })
      else return conflict({ want })
    }
    return null
  }

  #head(): Answer {
    const { seq = -1, hash = '' } = this.entries.at(-1) ?? {}
    return { status: 200, body: JSON.stringify({ seq, hash }) }
  }
}

export const conflict = (body: object): Answer => ({ status: 409, body: JSON.stringify(body) })

export class TestHub {
  readonly #server = createServer((request, response) => void this.#serve(request, response))
  readonly #feeds = new Set<ServerResponse>()
  readonly #changes: (FeedEvent & { readonly rev: number })[] = []
  readonly #timer: NodeJS.Timeout
  readonly keys = new Map<string, FleetKey>()
  readonly revoked: string[] = []
  /** Open orders of erasure. */
  readonly orders: EraseOrder[] = []
  policy: SentPolicy = { rules: fleetRulesOf([]), overrides: [], prices: NO_FLEET_PRICES }
  /** Headers of each feed that was asked for. */
  readonly feedRequests: IncomingMessage['headers'][] = []
  readonly acks: Acknowledgement[] = []
  readonly joins: JsonObject[] = []
  readonly logs = new ArrivedLogs()
  leaves = 0
  epoch: string = randomUUID()
  rev = 0
  /** Added to the time of heartbeats. */
  clockMs = 0
  isBeating = true
  /** Answers nothing, as a stopped process does. */
  isFrozen = false
  /** Answer to every request in place of the usual one. */
  refusal: Answer | null = null
  /** State hash of heartbeats in place of the right one. */
  wrongHash: string | null = null
  url = ''

  constructor() {
    this.#timer = setInterval(() => this.beat(), BEAT_MS)
  }

  async listen(port = 0): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(port, '127.0.0.1', resolve))
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Ends all connections and listens no more. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.cut()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  /** Breaks the feeds that are open. */
  cut(): void {
    this.#server.closeAllConnections()
    this.#feeds.clear()
  }

  send(event: FeedEvent): void {
    for (const feed of this.#feeds) feed.write(printEvent(event, this.epoch))
  }

  raw(text: string): void {
    for (const feed of this.#feeds) feed.write(text)
  }

  beat(): void {
    if (this.isBeating && !this.isFrozen) this.send(this.#beatNow())
  }

  /** Creates a key. @returns the key itself and its id */
  create(terms: JsonObject = {}): { id: string; key: string } {
    const { row, key } = fleetKey(randomUUID(), ++this.rev, terms)
    this.#put(row)
    return { id: row.id, key }
  }

  change(id: string, terms: JsonObject): void {
    this.#put({ ...this.keys.get(id)!, terms, rev: ++this.rev })
  }

  revoke(id: string): void {
    this.keys.delete(id)
    this.revoked.push(id)
    const body = { revoked_at: new Date().toISOString() }
    this.#append({ event: 'key', rev: ++this.rev, id, op: 'del', body })
  }

  /** Orders an erasure. */
  order(selection: OrderSelection): EraseOrder {
    const order = { rev: ++this.rev, id: randomUUID(), selection }
    this.orders.push(order)
    this.#append({ event: 'erase', ...order })
    return order
  }

  /** Has other rules. */
  sendRules(rules: FleetRules): void {
    this.policy = { ...this.policy, rules }
    this.#append({ event: 'rules', rev: ++this.rev, ...rules })
  }

  /** Has other prices. */
  sendPrices(prices: FleetPrices): void {
    this.policy = { ...this.policy, prices }
    this.#append({ event: 'prices', rev: ++this.rev, ...prices })
  }

  /** Overrides a rule. */
  sendOverride(fields: Omit<FleetOverride, 'rev'>): void {
    const body = { ...fields, rev: ++this.rev }
    const others = this.policy.overrides.filter(({ rule_id }) => rule_id !== body.rule_id)
    this.policy = { ...this.policy, overrides: [...others, body] }
    this.#append({ event: 'override', rev: body.rev, id: body.rule_id, op: 'put', body })
  }

  /** Resolves when a sidecar has acknowledged the newest revision, or another one. */
  acked(rev = this.rev, isWanted: (ack: Acknowledgement) => boolean = () => true): Promise<void> {
    return until(`an acknowledgement of ${rev}`, () =>
      this.acks.some((ack) => ack.rev >= rev && isWanted(ack)),
    )
  }

  #put(row: FleetKey): void {
    this.keys.set(row.id, row)
    this.#append({ event: 'key', rev: row.rev, id: row.id, op: 'put', body: row })
  }

  #append(event: FeedEvent & { readonly rev: number }): void {
    this.#changes.push(event)
    if (!this.isFrozen) this.send(event)
  }

  #beatNow(): FeedEvent {
    const state_hash = this.wrongHash ?? stateHashOf(this.keys.values(), this.policy)
    return { event: 'beat', t: Date.now() + this.clockMs, rev: this.rev, state_hash }
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = []
    for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece)
    if (this.isFrozen) return
    const path = request.url ?? ''
    const bytes = Buffer.concat(pieces)
    const body = bytes.toString()
    if (path === FLEET_PATHS.feed) this.feedRequests.push(request.headers)
    if (this.refusal !== null) {
      response.writeHead(this.refusal.status).end(this.refusal.body)
      return
    }
    if (path === FLEET_PATHS.feed) return this.#open(request, response)
    if (path.startsWith(LOGS_PATH)) {
      const answer = this.logs.take(path, bytes, request.headers.authorization)
      if (answer === 'lost') response.destroy()
      else if (answer !== null && answer !== 'silent')
        response.writeHead(answer.status, answer.headers).end(answer.body)
      return
    }
    if (path === FLEET_PATHS.join) {
      this.joins.push({ ...JSON.parse(body), authorization: request.headers.authorization ?? null })
      response.writeHead(200).end(JSON.stringify({ sidecar: 'joined-1' }))
      return
    }
    if (path === FLEET_PATHS.leave) this.leaves++
    if (path === FLEET_PATHS.ack) {
      const ack = readAck(JSON.parse(body))
      if (typeof ack === 'string') throw new Error(ack)
      this.acks.push(ack)
    }
    response.writeHead(204).end()
  }

  #open(request: IncomingMessage, response: ServerResponse): void {
    const { epoch, rev } = this
    const position = readPosition(String(request.headers[FLEET_HEADERS.resume] ?? ''))
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const write = (event: FeedEvent) => response.write(printEvent(event, epoch))
    const fleet_key = FLEET_KEY.toString('base64')
    write({ event: 'hello', epoch, rev, sidecar: 'sidecar-1', name: 'shop/web-1', fleet_key })
    if (position?.epoch === epoch)
      for (const change of this.#changes) {
        if (change.rev > position.rev) write(change)
      }
    else {
      const { revoked, orders, policy } = this
      write({ event: 'snapshot', rev, keys: [...this.keys.values()], revoked, orders, policy })
    }
    write(this.#beatNow())
    this.#feeds.add(response)
    response.once('close', () => this.#feeds.delete(response))
  }
}

/** Starts a hub until the end of the test. */
export async function startHub(t: Pick<Test, 'teardown'>): Promise<TestHub> {
  const hub = new TestHub()
  await hub.listen()
  t.teardown(() => hub.close())
  return hub
}
