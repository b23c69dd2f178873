// Requests that could be read in two ways: the checks Node's parser leaves to the application. Knows no routes.

import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { errorBody, GatewayError } from '../core/errors.ts'

const HOST = 'host'
const CODING = 'transfer-encoding'

/** What RFC 9112 forbids or leaves ambiguous and Node's parser lets through; null for a request that has nothing of it. */
export function findFault(request: IncomingMessage): GatewayError | null {
  const { rawHeaders, httpVersion } = request
  let hosts = 0
  let codings = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!
    if (name.length === HOST.length && name.toLowerCase() === HOST) hosts++
    else if (name.length === CODING.length && name.toLowerCase() === CODING) codings++
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

/** What Node's parser or its time limits object to. */
export function faultOf(error: NodeJS.ErrnoException): GatewayError {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new GatewayError('request_timeout', 'The request took too long to arrive.')
  }
  if (error.code === 'HPE_HEADER_OVERFLOW') return bad('The request head is larger than 16 KiB.')
  return bad('The request is not valid HTTP/1.1.')
}

/** Answers outside of Node's response, for requests that never became one, and closes. */
export function refuseSocket(socket: Socket, fault: GatewayError): void {
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
