// Reading a request body within a bound, whatever its framing says.

import type { IncomingMessage } from 'node:http'
import type { Milliseconds } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'

/** How much and how long of an oversized body is read on and thrown away before it is answered. */
const LINGER_BYTES = 64 * 1024 * 1024
const LINGER_MS: Milliseconds = 2000

/** The key of the configuration that limits prompts. */
export const BODY_LIMIT = 'limits.bodyBytes'

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i

/**
 * The whole body of a JSON request.
 * @param limitBytes more is refused, by `content-length` before reading and by counting while reading
 * @param setBy the key of the configuration that raises the limit, for whoever is refused
 * @throws GatewayError `unsupported_media_type`, `body_too_large` or `bad_request` when the client breaks off
 */
export async function readJsonBody(
  request: IncomingMessage,
  limitBytes: number,
  setBy?: string,
): Promise<Buffer> {
  const { 'content-type': type, 'content-encoding': encoding, 'content-length': length } = request.headers
  if (type === undefined || !JSON_TYPE.test(type)) {
    throw new GatewayError(
      'unsupported_media_type',
      'The body must be sent as content-type: application/json.',
    )
  }
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new GatewayError('unsupported_media_type', 'The body must be sent without a content-encoding.')
  }
  const announced = length === undefined ? 0 : Number(length)
  const body = announced > limitBytes ? await turnAway(request) : await collect(request, limitBytes)
  if (body === null) {
    const hint = setBy === undefined ? '' : ` (${setBy})`
    throw new GatewayError('body_too_large', `The body is larger than ${limitBytes} bytes${hint}.`)
  }
  return body
}

/** The body, or null when it is too large. */
function collect(request: IncomingMessage, limitBytes: number): Promise<Buffer | null> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer | null>()
  // Listeners stay, which is cheaper than taking them away; what they hold must not, and the promise holds the body.
  let waiting: { resolve(body: Buffer | Promise<null>): void; reject(error: Error): void } | null = {
    resolve,
    reject,
  }
  let pieces: Buffer[] = []
  let bytes = 0
  const settle = (body: Buffer | Promise<null>) => {
    waiting?.resolve(body)
    waiting = null
    pieces = []
  }
  const onData = (piece: Buffer) => {
    bytes += piece.length
    if (bytes <= limitBytes) {
      pieces.push(piece)
      return
    }
    request.off('data', onData)
    settle(discard(request))
  }
  request.on('data', onData)
  request.on('end', () => settle(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)))
  // Every request closes in the end, and an error is dear to make.
  const onBreak = () => {
    waiting?.reject(brokenOff())
    waiting = null
  }
  request.on('close', onBreak)
  request.on('error', onBreak)
  return promise
}

/** A body that is not even begun; a client that asks first (`expect: 100-continue`) has sent nothing of it. */
const turnAway = (request: IncomingMessage): null | Promise<null> =>
  request.headers.expect === undefined ? discard(request) : null

/**
 * Reads on without keeping anything, for a moment: a connection closed while its peer still writes is reset, and
 * the peer would see the reset instead of our answer.
 */
function discard(request: IncomingMessage): Promise<null> {
  return new Promise((resolve) => {
    let bytes = 0
    const timer = setTimeout(() => done(), LINGER_MS)
    const done = () => {
      clearTimeout(timer)
      request.off('data', onData).off('end', done).off('close', done)
      resolve(null)
    }
    const onData = (piece: Buffer) => {
      bytes += piece.length
      if (bytes > LINGER_BYTES) done()
    }
    request.on('data', onData).on('end', done).on('close', done)
    request.resume()
  })
}

const brokenOff = () => new GatewayError('bad_request', 'The request broke off before its body was complete.')
