// Opens connections to one upstream, direct or through a proxy, and replaces those that are old or
// may be dead.
// Imports single files of undici: its entry also loads fetch, WebSocket and caches, which cost
// 13 MiB of resident memory and 45 ms of each start. test/upstream checks these files.

import type { LookupFunction, Socket } from 'node:net'
import type { Dispatcher, Client as UndiciClient, Pool as UndiciPool } from 'undici'
import connect from 'undici/lib/api/api-connect.js'
import Client from 'undici/lib/dispatcher/client.js'
import Pool from 'undici/lib/dispatcher/pool.js'
import ProxyAgent from 'undici/lib/dispatcher/proxy-agent.js'
import type { Milliseconds } from '../core/clock.ts'
import type { UpstreamConfig } from '../core/upstream-config.ts'
import { certificatesOf } from './client-certificates.ts'
import { FramingGuard } from './framing-guard.ts'
import { PendingResponse } from './response.ts'

/**
 * Time to keep an idle connection if the upstream does not announce one. With TLS, where opening is
 * expensive, nearly as long as load balancers do. Without TLS the upstream is often a model server,
 * and these (uvicorn, Node, cpp-httplib) close after five seconds. A call sent at that moment fails
 * and may be repeated once only (RFC 9110 §9.2.2).
 */
const KEEP_ALIVE_MS: Readonly<Record<string, Milliseconds>> = { 'https:': 30_000, 'http:': 4000 }

/**
 * Age at which connections get no further call. Those that are opened then resolve the name of the
 * upstream again, so that steady traffic follows a name that moves. Calls under way finish.
 */
export const MAXIMUM_AGE_MS: Milliseconds = 20_000

/** For tests; the defaults are those of a gateway. */
export interface ConnectionOptions {
  readonly maxAgeMs?: Milliseconds
  /** Resolves the name of the upstream. */
  readonly lookup?: LookupFunction
}

/** The connections to one upstream, opened on demand. */
export class Connections {
  readonly #open: () => Dispatcher
  readonly #maxAgeMs: Milliseconds
  #current: Dispatcher
  #openedMs = performance.now()
  /** Replaced connections with calls under way: at most as many as there are calls. */
  readonly #retired = new Set<Dispatcher>()
  #isRetired = false

  /**
   * @param connections maximum number of sockets. Each stream occupies one, so use the maximum
   *   number of calls in flight. Sockets that were replaced and finish their calls do not count.
   */
  constructor(upstream: UpstreamConfig, connections: number, options: ConnectionOptions = {}) {
    this.#open = () => openConnections(upstream, connections, options)
    this.#maxAgeMs = options.maxAgeMs ?? MAXIMUM_AGE_MS
    this.#current = this.#open()
  }

  dispatch(request: Dispatcher.DispatchOptions, response: PendingResponse): void {
    // The pool's own limit (clientTtl) reads the clock for each connection at every call.
    if (performance.now() - this.#openedMs > this.#maxAgeMs) this.renew()
    this.#current.dispatch(request, response)
    if (this.#isRetired) this.renew()
  }

  /** Closes connections after their calls, from now on also those of calls that begin later. */
  retire(): void {
    this.#isRetired = true
    this.renew()
  }

  /** Whether no replaced connection has a call under way. */
  get isIdle(): boolean {
    return this.#retired.size === 0
  }

  /** Uses new connections from now on. Those before finish their calls and close. */
  renew(): void {
    const old = this.#current
    this.#current = this.#open()
    this.#openedMs = performance.now()
    this.#retired.add(old)
    const forget = () => this.#retired.delete(old)
    // A call dispatched in this turn may still have to ask the proxy for its tunnel.
    setImmediate(() => old.close().then(forget, forget))
  }

  /** Closes all connections and aborts calls in flight. */
  async close(): Promise<void> {
    await Promise.all([this.#current, ...this.#retired].map((dispatcher) => dispatcher.destroy()))
  }
}

type Connector = (options: object, callback: (error: Error | null, socket?: Socket) => void) => unknown

/**
 * A client of one connection at a time, which says whether it carried a request before, and bounds
 * the framing of its answers.
 */
class KeptClient extends Client {
  readonly #connection: { isUsed: boolean; readonly guard: FramingGuard }

  /** @param options as a pool makes them, with a function that connects */
  constructor(origin: string | URL, options: UndiciClient.Options) {
    const guard = new FramingGuard()
    const open = options.connect as unknown as Connector
    const connect: Connector = (target, callback) =>
      open(target, (error, socket) => {
        if (socket) guard.watch(socket)
        callback(error, socket)
      })
    super(origin, { ...options, connect: connect as never })
    this.#connection = { isUsed: false, guard }
    this.on('connect', () => {
      this.#connection.isUsed = false
    })
  }

  override dispatch(request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    if (handler instanceof PendingResponse) handler.connection = this.#connection
    return super.dispatch(request, handler)
  }
}

const newPool = (origin: string | URL, options: object): UndiciPool =>
  new Pool(origin, { ...options, factory: (url, settings) => new KeptClient(url, settings) })

function openConnections(
  { baseUrl, proxy, timeouts, tls }: UpstreamConfig,
  connections: number,
  { lookup }: ConnectionOptions,
): Dispatcher {
  const { connectMs, headersMs, idleMs } = timeouts
  const { origin, protocol } = new URL(baseUrl.replaceAll('{model}', 'model'))
  const certificates = certificatesOf(tls)
  const settings = {
    connections,
    pipelining: 1,
    // Otherwise undici prefers HTTP/2, where calls share a connection and errors differ.
    allowH2: false,
    keepAliveTimeout: KEEP_ALIVE_MS[protocol]!,
    headersTimeout: headersMs,
    bodyTimeout: idleMs,
  }
  if (proxy === null) {
    return newPool(origin, {
      ...settings,
      connect: { timeout: connectMs, ...certificates, ...(lookup && { lookup }) },
    })
  }
  return new ProxyAgent({
    ...settings,
    uri: proxy.current(),
    // A tunnel (RFC 9110 §9.3.6) also for http: requests and responses stay those without a proxy.
    proxyTunnel: true,
    connectTimeout: connectMs,
    factory: newPool,
    requestTls: certificates,
    // The package's entry would add this method.
    clientFactory: (origin, options) =>
      Object.assign(new Pool(origin, { ...options, headersTimeout: connectMs }), { connect }),
  })
}
