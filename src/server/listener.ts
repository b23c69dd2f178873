// Sockets: where the gateway listens, limits on slow clients, and how listening ends.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Address } from '../core/config-values.ts'
import { isWithoutIpv6, twin } from './address.ts'
import { faultOf, findFault, refuseSocket } from './framing.ts'

// Importing it as a module looks at all it exports, fetch and WebSocket included, and so loads them: 50 ms of a start.
const { Server } = process.getBuiltinModule('node:http')

const SERVER_OPTIONS = {
  /** Time for the head of a request, milliseconds. */
  headersTimeout: 10_000,
  /** Time for a whole request, milliseconds. */
  requestTimeout: 60_000,
  /** How often the two above are enforced; Node's 30 s would let a slow client live three times as long. */
  connectionsCheckingInterval: 1000,
  /** Longer than most clients' own, so that they close first and never race us, milliseconds. */
  keepAliveTimeout: 65_000,
  maxHeaderSize: 16 * 1024,
  noDelay: true,
  /** Checked in framing.ts, with an answer that says so. */
  requireHostHeader: false,
} as const

const MAX_HEADERS = 100

export type Handler = (request: IncomingMessage, response: ServerResponse) => void

/** One bound address. */
export interface Listener {
  readonly address: Address
  /**
   * Takes no new connections. Open ones stay, so that what runs on them finishes and what comes on them is told why
   * it is refused; every answer from now on is its connection's last.
   */
  stopAccepting(): void
  /** Resolves once every answer under way has been written out, or its connection is gone. */
  written(): Promise<void>
  /** Ends every connection, whatever is going on there. */
  close(): void
}

/**
 * Listens on an address, and for 127.0.0.1 on the same port of [::1] as well, where the machine has it.
 * @throws the system's error, e.g. EADDRINUSE
 */
export async function listen(address: Address, handler: Handler): Promise<Listener[]> {
  const first = await open(address, handler)
  const second = twin(first.address)
  if (second === null) return [first]
  try {
    return [first, await open(second, handler)]
  } catch (error) {
    if (isWithoutIpv6(error)) return [first]
    // A port that was free only on IPv4 when the system chose it: clients that resolve localhost to ::1 still get an answer.
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE' && address.port === 0) return [first]
    first.close()
    throw error
  }
}

/**
 * Node takes a connection for idle once its answer was handed over, written out or not, and `close` ends idle
 * connections: a client that reads slowly would find its answer cut off. What is closed when is decided below.
 */
class KeepingServer extends Server {
  override closeIdleConnections(): void {}
}

function open(address: Address, handler: Handler): Promise<Listener> {
  const answers = new AnswersUnderWay()
  const take: Handler = (request, response) => {
    const fault = findFault(request)
    if (fault !== null) {
      // Behind another request, whose answer is not out: what was said now would be taken for that.
      if (response.socket === null) request.socket.destroy()
      else refuseSocket(request.socket, fault)
      return
    }
    answers.add(response)
    // Queued behind another answer: how long the client may take that one is not how long this one may be waited for.
    if (response.socket === null) response.once('socket', (socket: Socket) => socket.setTimeout(0))
    if (!server.listening) response.setHeader('connection', 'close')
    handler(request, response)
  }
  const server = new KeepingServer(SERVER_OPTIONS, take)
  server.on('checkContinue', (request, response) => {
    inviteBody(request, response, () => server.listening)
    take(request, response)
  })
  server.maxHeadersCount = MAX_HEADERS
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    // Behind a request that has all arrived, as above.
    if (answers.isOwed(socket)) socket.destroy()
    else refuseSocket(socket, faultOf(error))
  })
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host: address.host, port: address.port, ipv6Only: address.host === '::1' }, () => {
      server.off('error', reject)
      // From here on of connections that the system could not hand over. Whoever made them finds out; what runs goes on.
      server.on('error', () => {})
      const { port } = server.address() as AddressInfo
      resolve({
        address: { host: address.host, port },
        stopAccepting: () => void server.close(),
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
 * For a client that asks before it sends its body (RFC 9110 §10.1.1): it is told to once somebody reads, which nobody
 * does of a stranger's or of one that is too large. Not told to, it may send the body or not, so that nothing that
 * follows on the connection can be relied on.
 */
function inviteBody(request: IncomingMessage, response: ServerResponse, goesOn: () => boolean): void {
  response.setHeader('connection', 'close')
  request.once('resume', () => {
    if (response.headersSent) return
    if (goesOn()) response.removeHeader('connection')
    response.writeContinue()
  })
}

/** Requests whose answer has not left the process. */
class AnswersUnderWay {
  #count = 0
  #waiting: (() => void)[] = []
  /** The last of each connection. */
  readonly #owed = new WeakMap<Socket, ServerResponse>()
  /** One for all responses. */
  readonly #closed: (this: ServerResponse) => void

  constructor() {
    const close = (response: ServerResponse) => this.#close(response)
    this.#closed = function () {
      close(this)
    }
  }

  /** To be called once a response, which closes exactly once. */
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

  /** Whether a connection waits for an answer to a request that has all arrived: what is said now would be taken for it. */
  isOwed(socket: Socket): boolean {
    const last = this.#owed.get(socket)
    return last !== undefined && (last.req.complete || last.socket === null)
  }

  none(): Promise<void> {
    if (this.#count === 0) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push(resolve))
  }
}
