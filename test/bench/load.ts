// Load generator for loopback. Uses plain sockets, so that it costs less than what it measures.

import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

export interface Target {
  readonly port: number
  readonly headers: Readonly<Record<string, string>>
  /** Certificate, PEM, that the target shows; absent for plain HTTP. */
  readonly certificate?: string
}

export interface Measured {
  readonly requests: number
  readonly errors: number
  readonly perSecond: number
  /** Milliseconds from a request to the end of its answer, ascending. */
  readonly latencies: readonly number[]
  /**
   * Milliseconds from a request to the first event of its stream, ascending; empty for whole
   * answers.
   */
  readonly firstEvents: readonly number[]
}

const END_OF_HEAD = Buffer.from('\r\n\r\n')
const END_OF_CHUNKS = Buffer.from('0\r\n\r\n')
const DATA = Buffer.from('data: ')
/** A connection that receives nothing for so long fails. */
const TIMEOUT_MS = 30_000

export const quantile = (ascending: readonly number[], share: number): number =>
  ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * share))] ?? Number.NaN

/** The body of all requests, or a function that returns the body of the next one. */
export type Body = string | (() => string)

/** The path of a load that names none. */
const CHAT_PATH = '/v1/chat/completions'

/** Encodes a request. */
export function requestBytes(target: Target, path: string, body: string): Buffer {
  const headers = { host: '127.0.0.1', 'content-type': 'application/json', ...target.headers }
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\n${head.join('')}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}

interface Outcome {
  readonly ok: boolean
  readonly endMs: number
  readonly firstEventMs: number | null
}

/** A keep-alive connection that sends one request at a time. */
class Connection {
  readonly #socket: Socket
  #received: Buffer[] = []
  #bytes = 0
  #firstEventMs: number | null = null
  #settle: ((outcome: Outcome) => void) | null = null

  constructor({ port, certificate }: Target) {
    this.#socket =
      certificate === undefined
        ? connect(port, '127.0.0.1')
        : connectTls({ port, host: '127.0.0.1', ca: certificate, checkServerIdentity: () => undefined })
    this.#socket.setNoDelay(true)
    this.#socket.setTimeout(TIMEOUT_MS, () => this.#socket.destroy())
    this.#socket.on('data', (piece) => this.#take(piece))
    this.#socket.on('error', () => {})
    this.#socket.on('close', () => this.#finish(false))
  }

  get closed(): boolean {
    return this.#socket.destroyed
  }

  send(request: Buffer): Promise<Outcome> {
    return new Promise((resolve) => {
      this.#settle = resolve
      if (this.closed) this.#finish(false)
      else this.#socket.write(request)
    })
  }

  close(): void {
    this.#socket.destroy()
  }

  #take(piece: Buffer): void {
    this.#received.push(piece)
    this.#bytes += piece.length
    if (this.#firstEventMs === null && piece.includes(DATA)) this.#firstEventMs = performance.now()
    if (isComplete(this.#received, this.#bytes)) {
      this.#finish(this.#received[0]?.toString('latin1', 9, 12) === '200')
    }
  }

  #finish(ok: boolean): void {
    const outcome = { ok, endMs: performance.now(), firstEventMs: this.#firstEventMs }
    this.#received = []
    this.#bytes = 0
    this.#firstEventMs = null
    const settle = this.#settle
    this.#settle = null
    settle?.(outcome)
  }
}

/** Connections to one target that stay open from one load to the next. */
export class KeptConnections {
  readonly #target: Target
  readonly #idle: Connection[] = []

  constructor(target: Target) {
    this.#target = target
  }

  /** Returns an open connection, a new one when none is idle. */
  take(): Connection {
    let connection = this.#idle.pop()
    while (connection?.closed === true) connection = this.#idle.pop()
    return connection ?? new Connection(this.#target)
  }

  give(connection: Connection): void {
    this.#idle.push(connection)
  }

  close(): void {
    for (const connection of this.#idle.splice(0)) connection.close()
  }
}

/** Looks only at the first and the last pieces: an answer of megabytes has many. */
function isComplete(pieces: readonly Buffer[], bytes: number): boolean {
  const first = pieces[0] ?? Buffer.alloc(0)
  const end = first.indexOf(END_OF_HEAD)
  if (end < 0) return false
  const length = /content-length: (\d+)/i.exec(first.toString('latin1', 0, end))?.[1]
  if (length !== undefined) return bytes >= end + END_OF_HEAD.length + Number(length)
  const last = pieces.at(-1) ?? first
  const tail = last.length >= END_OF_CHUNKS.length ? last : Buffer.concat(pieces.slice(-2))
  return tail.subarray(-END_OF_CHUNKS.length).equals(END_OF_CHUNKS)
}

class Tally {
  readonly #startMs = performance.now()
  readonly #latencies: number[] = []
  readonly #firstEvents: number[] = []
  #errors = 0

  /** @param sinceMs when the request was sent, or was due */
  add({ ok, endMs, firstEventMs }: Outcome, sinceMs: number): void {
    if (!ok) this.#errors++
    this.#latencies.push(endMs - sinceMs)
    if (firstEventMs !== null) this.#firstEvents.push(firstEventMs - sinceMs)
  }

  result(): Measured {
    const requests = this.#latencies.length
    const ascending = (values: number[]) => values.sort((a, b) => a - b)
    return {
      requests,
      errors: this.#errors,
      perSecond: requests / ((performance.now() - this.#startMs) / 1000),
      latencies: ascending(this.#latencies),
      firstEvents: ascending(this.#firstEvents),
    }
  }
}

function requestsOf(target: Target, path: string, body: Body): () => Buffer {
  if (typeof body !== 'string') return () => requestBytes(target, path, body())
  const request = requestBytes(target, path, body)
  return () => request
}

/** When `saturate` stops: after a time, or after a number of calls over all connections. */
export type Until = { readonly durationMs: number } | { readonly calls: number }

/**
 * Sends as much as the target takes: each connection sends its next request when an answer is
 * complete.
 * @param load.kept connections to use, which stay open; new ones without it
 */
export async function saturate(
  target: Target,
  load: {
    readonly path?: string
    readonly body: Body
    readonly connections: number
    readonly kept?: KeptConnections
  } & Until,
): Promise<Measured> {
  const next = requestsOf(target, load.path ?? CHAT_PATH, load.body)
  const tally = new Tally()
  const endMs = 'durationMs' in load ? performance.now() + load.durationMs : Number.POSITIVE_INFINITY
  let left = 'calls' in load ? load.calls : Number.POSITIVE_INFINITY
  const kept = load.kept ?? new KeptConnections(target)
  const drive = async () => {
    let connection = kept.take()
    while (left-- > 0 && performance.now() < endMs) {
      if (connection.closed) connection = kept.take()
      const request = next()
      const sentMs = performance.now()
      tally.add(await connection.send(request), sentMs)
    }
    kept.give(connection)
  }
  await Promise.all(Array.from({ length: load.connections }, drive))
  if (load.kept === undefined) kept.close()
  return tally.result()
}

/**
 * Sends at a fixed rate, whether or not the target keeps up. A request's time counts from the
 * moment it was due, so that a stall counts for each request it delayed (no coordinated omission).
 */
export async function atRate(
  target: Target,
  { body, perSecond, durationMs }: { body: string; perSecond: number; durationMs: number },
): Promise<Measured> {
  const request = requestBytes(target, CHAT_PATH, body)
  const tally = new Tally()
  const idle: Connection[] = []
  const pending: Promise<void>[] = []
  const startMs = performance.now()
  const total = Math.floor((perSecond * durationMs) / 1000)
  const one = async (dueMs: number) => {
    let connection = idle.pop()
    if (connection === undefined || connection.closed) connection = new Connection(target)
    tally.add(await connection.send(request), dueMs)
    idle.push(connection)
  }
  await new Promise<void>((resolve) => {
    let sent = 0
    const tick = () => {
      const due = Math.min(total, 1 + Math.floor(((performance.now() - startMs) * perSecond) / 1000))
      for (; sent < due; sent++) pending.push(one(startMs + (sent * 1000) / perSecond))
      // A timer fires up to a millisecond late; setImmediate keeps the load even.
      if (sent < total) setImmediate(tick)
      else resolve()
    }
    tick()
  })
  await Promise.all(pending)
  for (const connection of idle) connection.close()
  return tally.result()
}
