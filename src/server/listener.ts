// Listens on sockets: limits slow clients, and stops accepting without cutting off answers.

import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http'
import type { Server as HttpsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { SecureContextOptions, TLSSocket } from 'node:tls'
import type { TlsMaterial } from '../core/certificate.ts'
import type { Address } from '../core/config-values.ts'
import { allIpv4, isWithoutIpv6, twin } from './address.ts'
import { noteCertificate } from './client-certificate.ts'
import { ConnectionTurns } from './connection-turns.ts'
import { closeInStages, findFault, isAfterClose, parserFault, refuseSocket } from './framing.ts'

// An import would evaluate all exports, fetch and WebSocket included, which adds 50 ms to a start.
const { Server } = process.getBuiltinModule('node:http')

const SERVER_OPTIONS = {
  /** Time for the head of a request, in milliseconds. */
  headersTimeout: 10_000,
  /** Time for a whole request, milliseconds. */
  requestTimeout: 60_000,
  /**
   * Interval at which both limits are enforced. Node's 30 s would triple the time of a slow client.
   */
  connectionsCheckingInterval: 1000,
  /**
   * Longer than in most clients, in milliseconds, so that the client closes an idle connection
   * first.
   */
  keepAliveTimeout: 65_000,
  maxHeaderSize: 16 * 1024,
  noDelay: true,
  /** framing.ts checks it and answers with a message. */
  requireHostHeader: false,
} as const

const MAXIMUM_HEADERS = 100
/** Time for the handshake of TLS, milliseconds, as for the head of a request. */
const HANDSHAKE_MS = 10_000

export type Handler = (request: IncomingMessage, response: ServerResponse) => void

/** One bound address. */
export interface Listener {
  readonly address: Address
  /**
   * Accepts no new connections. Open ones stay: calls in flight finish, and later requests get an
   * error with the reason. Each further answer closes its connection.
   */
  stopAccepting(): void
  /**
   * Serves new connections with other material; open ones stay. With other authorities of clients
   * each open connection ends after its next answer, so that its client shows its certificate
   * again. For a listener with TLS.
   */
  renew(tls: TlsMaterial): void
  /** Resolves once every pending answer is written or its connection is closed. */
  written(): Promise<void>
  /** Closes every connection, also one with a pending answer. */
  close(): void
}

/**
 * Listens on an address; for 127.0.0.1 also on the same port of [::1], where the machine has it.
 * [::] means all addresses, also on a machine without IPv6.
 * @param tls null for HTTP without TLS
 * @throws the system's error (rejects), such as EADDRINUSE
 */
export async function listen(
  address: Address,
  handler: Handler,
  tls: TlsMaterial | null = null,
): Promise<Listener[]> {
  const first = await open(address, handler, tls).catch((error: unknown) => {
    const ipv4 = allIpv4(address)
    if (ipv4 === null || !isWithoutIpv6(error)) throw error
    return open(ipv4, handler, tls)
  })
  const second = twin(first.address)
  if (second === null) return [first]
  try {
    return [first, await open(second, handler, tls)]
  } catch (error) {
    if (isWithoutIpv6(error)) return [first]
    // The system chose a port that is free on IPv4 only; 127.0.0.1 is enough.
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE' && address.port === 0) return [first]
    first.close()
    throw error
  }
}

/**
 * Makes a server whose `close` leaves idle connections open. Node counts a connection as idle once
 * its answer is buffered, even if the client has not read it, so closing would cut off a slow
 * reader. Listener.close closes them.
 */
function keepingServer(tls: TlsMaterial | null, handler: Handler): HttpServer {
  const server = tls === null ? new Server(SERVER_OPTIONS, handler) : tlsServer(tls, handler)
  server.closeIdleConnections = () => {}
  return server
}

function tlsServer(tls: TlsMaterial, handler: Handler): HttpsServer {
  const https = process.getBuiltinModule('node:https')
  const options = {
    ...SERVER_OPTIONS,
    ...contextOf(tls),
    handshakeTimeout: HANDSHAKE_MS,
    requestCert: tls.clientCa !== null,
    // A client without a good certificate sends a key.
    rejectUnauthorized: false,
  }
  return new https.Server(options, handler)
}

const contextOf = ({ certificate, key, clientCa, minVersion }: TlsMaterial): SecureContextOptions => ({
  cert: certificate,
  key,
  minVersion: `TLSv${minVersion}`,
  ...(clientCa !== null && { ca: clientCa }),
})

/** Returns why material cannot be served, in the words of OpenSSL; null if it can. */
export function whyNotServed(tls: TlsMaterial): string | null {
  try {
    process.getBuiltinModule('node:tls').createSecureContext(contextOf(tls))
    return null
  } catch (error) {
    return `OpenSSL refuses it (${(error as Error).message})`
  }
}

function open(address: Address, handler: Handler, tls: TlsMaterial | null): Promise<Listener> {
  const answers = new PendingAnswers()
  let clientCa = tls?.clientCa ?? null
  const take: Handler = (request, response) => {
    const fault = findFault(request)
    if (fault !== null) {
      // An earlier answer is pending on this connection; the client would take an error for that
      // answer.
      if (response.socket === null) request.socket.destroy()
      else refuseSocket(request.socket, fault)
      return
    }
    answers.add(response)
    // The socket of a queued answer may still have the timeout of the answer before it.
    if (response.socket === null) response.once('socket', (socket: Socket) => socket.setTimeout(0))
    if (!server.listening) response.setHeader('connection', 'close')
    if (tls !== null) {
      // As a proxy in front would report it.
      request.headers['x-forwarded-proto'] = 'https'
      if (secured.get(request.socket) !== clientCa) response.setHeader('connection', 'close')
    }
    handler(request, response)
  }
  const turns = new ConnectionTurns(take)
  const server: HttpServer = keepingServer(tls, (request, response) => turns.add(request, response))
  server.on('checkContinue', (request, response) => {
    inviteBody(request, response, () => server.listening)
    turns.add(request, response)
  })
  server.maxHeadersCount = MAXIMUM_HEADERS
  /**
   * Connections whose handshake is complete, with the authorities that it was checked by; without
   * TLS none.
   */
  const secured = new WeakMap<Socket, string | null>()
  server.on('secureConnection', (socket: TLSSocket) => {
    secured.set(socket, clientCa)
    if (clientCa !== null) noteCertificate(socket)
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    // Before the end of the handshake nothing can be answered.
    if (tls !== null && !secured.has(socket)) socket.destroy()
    else if (isAfterClose(error)) closeInStages(socket)
    // An earlier request is complete and its answer pending, as above.
    else if (answers.isOwed(socket)) socket.destroy()
    else refuseSocket(socket, parserFault(error))
  })
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host: address.host, port: address.port, ipv6Only: address.host === '::1' }, () => {
      server.off('error', reject)
      // Later errors are connections that the system failed to accept. Their clients notice; the
      // others are not affected.
      server.on('error', () => {})
      const { port } = server.address() as AddressInfo
      resolve({
        address: { host: address.host, port },
        stopAccepting: () => void server.close(),
        renew(material) {
          ;(server as HttpsServer).setSecureContext(contextOf(material))
          clientCa = material.clientCa
        },
        written: () => answers.none(),
        close() {
          server.close()
          server.closeAllConnections()
        },
      })
    })
  })
}

/**
 * Answers `expect: 100-continue` (RFC 9110 §10.1.1) when the body is first read, which an
 * unauthorised or too large request never reaches. Without that answer the client may send the body
 * or not, so the connection is closed.
 * @param isOpen whether the connection may serve another request
 */
function inviteBody(request: IncomingMessage, response: ServerResponse, isOpen: () => boolean): void {
  response.setHeader('connection', 'close')
  request.once('resume', () => {
    if (response.headersSent) return
    if (isOpen()) response.removeHeader('connection')
    response.writeContinue()
  })
}

/** Counts the responses that are not closed yet. */
class PendingAnswers {
  #count = 0
  #waiting: (() => void)[] = []
  /** Newest pending response of each connection. */
  readonly #owed = new WeakMap<Socket, ServerResponse>()
  /** One listener for all responses. */
  readonly #closed: (this: ServerResponse) => void

  constructor() {
    const close = (response: ServerResponse) => this.#close(response)
    this.#closed = function () {
      close(this)
    }
  }

  /** To be called once for each response; a response closes exactly once. */
  add(response: ServerResponse): void {
    this.#count++
    this.#owed.set(response.req.socket, response)
    response.on('close', this.#closed)
  }

  #close(response: ServerResponse): void {
    const { socket } = response.req
    if (this.#owed.get(socket) === response) this.#owed.delete(socket)
    this.#count--
    if (this.#count === 0) for (const resolve of this.#waiting.splice(0)) resolve()
  }

  /**
   * Whether the connection waits for the answer to a complete request. Other bytes would be taken
   * for that answer.
   */
  isOwed(socket: Socket): boolean {
    const last = this.#owed.get(socket)
    return last !== undefined && (last.req.complete || last.socket === null)
  }

  none(): Promise<void> {
    if (this.#count === 0) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push(resolve))
  }
}
