// Refuses requests that two servers could read differently: checks that Node's parser leaves to the
// application. Knows no routes.

import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Milliseconds } from '../core/clock.ts'
import { errorBody, GatewayError } from '../core/errors.ts'

const HOST = 'host'
const CODING = 'transfer-encoding'

/**
 * Returns what RFC 9112 forbids or leaves ambiguous in a request that Node's parser accepted; null
 * for a valid one.
 */
export function findFault(request: IncomingMessage): GatewayError | null {
  const { rawHeaders, httpVersion } = request
  let hosts = 0
  let codings = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!
    if (name.length === HOST.length && name.toLowerCase() === HOST) hosts++
    else if (name.length === CODING.length && name.toLowerCase() === CODING) codings++
  }
  // RFC 9112 §3.2: exactly one Host in HTTP/1.1.
  if (hosts > 1) return bad('The request has more than one Host header.')
  if (hosts === 0 && httpVersion === '1.1') return bad('The request has no Host header.')
  if (httpVersion !== '1.1' && httpVersion !== '1.0')
    return bad('The HTTP version is not supported; use HTTP/1.1.')
  // RFC 9112 §6.1: only chunked is supported, and HTTP/1.0 has no transfer codings.
  const coding = request.headers['transfer-encoding']
  if (
    coding !== undefined &&
    (httpVersion === '1.0' || codings > 1 || coding.trim().toLowerCase() !== 'chunked')
  ) {
    return bad('The request has a transfer-encoding other than chunked.')
  }
  // RFC 9112 §3.2.2: absolute-form addresses a forward proxy, which this is not.
  if (request.url?.startsWith('/') !== true)
    return bad('The request target must be a path that begins with a slash.')
  return null
}

const bad = (message: string) => new GatewayError('bad_request', message)

/** How long bytes are still read and dropped after the last answer of a connection. */
const LINGER_MS: Milliseconds = 1000

/** Whether bytes follow a request after which the client wants the connection closed. */
export const isAfterClose = (error: NodeJS.ErrnoException): boolean => error.code === 'HPE_CLOSED_CONNECTION'

/**
 * Keeps bytes after the last request from destroying the answer to it. Node drops them. The
 * connection closes in stages (RFC 9112 §9.6): closing it with unread bytes would reset it, and the
 * client might lose the answer. To be called for each piece of such bytes.
 */
export function closeInStages(socket: Socket): void {
  socket.destroySoon = () => {
    socket.end()
    setTimeout(() => socket.destroy(), LINGER_MS).unref()
  }
  // Node's own destroySoon ran first: an error is answered before the bytes after it are parsed.
  if (socket.listenerCount('finish', socket.destroy) > 0) {
    socket.off('finish', socket.destroy)
    socket.destroySoon()
  }
}

/** Translates an error of Node's parser or of its time limits. */
export function parserFault(error: NodeJS.ErrnoException): GatewayError {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new GatewayError('request_timeout', 'The request took too long to arrive.')
  }
  if (error.code === 'HPE_HEADER_OVERFLOW') return bad('The request head is larger than 16 KiB.')
  return bad('The request is not valid HTTP/1.1.')
}

/** Writes an error to a socket that has no response object, and closes it. */
export function refuseSocket(socket: Socket, fault: GatewayError): void {
  if (!socket.writable || socket.bytesWritten > 0) {
    socket.destroy()
    return
  }
  const body = errorBody(fault)
  socket.end(
    `HTTP/1.1 ${fault.status} ${fault.status === 408 ? 'Request Timeout' : 'Bad Request'}\r\n` +
      `content-type: application/json\r\nx-content-type-options: nosniff\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  )
  // Further data from the client is not read.
  socket.destroySoon()
}
