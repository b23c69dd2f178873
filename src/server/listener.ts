// Sockets: limits on slow and odd clients, and the checks Node's parser leaves to the application.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Address } from '../core/config.ts'
import { errorBody, GatewayError } from '../core/errors.ts'

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
  /** Checked below, with an answer that says so. */
  requireHostHeader: false,
} as const

const MAX_HEADERS = 100

export type Handler = (request: IncomingMessage, response: ServerResponse) => void

/** One bound address. */
export interface Listener {
  readonly server: Server
  readonly address: Address
}

/**
 * Listens on an address, and for 127.0.0.1 on the same port of [::1] as well, where the machine has it.
 * @throws the system's error, e.g. EADDRINUSE
 */
export async function listen(address: Address, handler: Handler): Promise<Listener[]> {
  const first = await open(address, handler)
  if (address.host !== '127.0.0.1') return [first]
  try {
    return [first, await open({ host: '::1', port: first.address.port }, handler)]
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT' || code === 'EINVAL') return [first]
    // A port that was free only on IPv4 when the system chose it: clients that resolve localhost to ::1 still get an answer.
    if (code === 'EADDRINUSE' && address.port === 0) return [first]
    first.server.close()
    throw error
  }
}

function open(address: Address, handler: Handler): Promise<Listener> {
  const server = createServer(SERVER_OPTIONS, (request, response) => {
    const fault = findFault(request)
    if (fault === null) handler(request, response)
    else refuseSocket(request.socket, fault)
  })
  server.maxHeadersCount = MAX_HEADERS
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) =>
    refuseSocket(socket, faultOf(error)),
  )
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host: address.host, port: address.port, ipv6Only: address.host === '::1' }, () => {
      server.off('error', reject)
      const { port } = server.address() as AddressInfo
      resolve({ server, address: { host: address.host, port } })
    })
  })
}

/** What RFC 9112 forbids or leaves ambiguous and Node's parser lets through. */
function findFault(request: IncomingMessage): GatewayError | null {
  const { rawHeaders, httpVersion } = request
  let hosts = 0
  let codings = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase()
    if (name === 'host') hosts++
    if (name === 'transfer-encoding') codings++
  }
  // RFC 9112 §3.2: exactly one Host; HTTP/0.9 has no headers at all.
  if (hosts > 1) return bad('The request has more than one Host header.')
  if (hosts === 0 && httpVersion === '1.1') return bad('The request has no Host header.')
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return bad('Use HTTP/1.1.')
  // RFC 9112 §6.1: chunked is the only coding we understand, and HTTP/1.0 has none.
  const coding = request.headers['transfer-encoding']
  if (
    coding !== undefined &&
    (httpVersion === '1.0' || codings > 1 || coding.trim().toLowerCase() !== 'chunked')
  ) {
    return bad('The request has a transfer-encoding other than chunked.')
  }
  // RFC 9112 §3.2.2: absolute-form is for proxies that are asked to fetch something; we are not one.
  if (request.url?.startsWith('/') !== true) return bad('The request target must be a path.')
  return null
}

const bad = (message: string) => new GatewayError('bad_request', message)

function faultOf(error: NodeJS.ErrnoException): GatewayError {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new GatewayError('request_timeout', 'The request took too long to arrive.')
  }
  if (error.code === 'HPE_HEADER_OVERFLOW') return bad('The request head is larger than 16 KiB.')
  return bad('The request is not valid HTTP/1.1.')
}

/** Answers outside of Node's response, for requests that never became one, and closes. */
function refuseSocket(socket: Socket, fault: GatewayError): void {
  if (!socket.writable || socket.bytesWritten > 0) {
    socket.destroy()
    return
  }
  const body = errorBody(fault)
  socket.end(
    `HTTP/1.1 ${fault.status} ${fault.status === 408 ? 'Request Timeout' : 'Bad Request'}\r\n` +
      `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  )
  // Whatever else it sends is not read.
  socket.destroySoon()
}

/** Why the address cannot be listened on, in words, or null when it can. */
export async function isPortTaken(address: Address): Promise<string | null> {
  const server = createServer()
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen({ host: address.host, port: address.port }, resolve)
    })
    return null
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    return code === 'EADDRINUSE' ? 'the port is in use; stop what holds it or choose another' : code
  } finally {
    server.close()
  }
}
