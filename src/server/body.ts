// Reading a request body within a bound, whatever its framing says.

import type { IncomingMessage } from 'node:http'
import { Pieces } from '../core/chunks.ts'
import type { Milliseconds } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'

/** How much and how long of an oversized body is read on and thrown away before it is answered. */
const LINGER_BYTES = 64 * 1024 * 1024
const LINGER_MS: Milliseconds = 2000

/** The key of the configuration that limits prompts. */
export const BODY_LIMIT = 'limits.bodyBytes'

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i

/** How a body is kept that is no larger than it may be. */
interface Keeping {
  /** The key of the configuration that raises the limit, for whoever is refused. */
  readonly setBy?: string
  /** Is told of bytes before they are kept; what it throws ends the reading. */
  readonly keep?: (bytes: number) => void
}

/**
 * The whole body of a JSON request.
 * @param limitBytes more is refused, by `content-length` before reading and by counting while reading
 * @throws GatewayError `unsupported_media_type`, `body_too_large` or `bad_request` when the client breaks off
 */
export async function readJsonBody(
  request: IncomingMessage,
  limitBytes: number,
  { setBy, keep = () => {} }: Keeping = {},
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
  let bytes = 0
  const take = (more: number) => {
    bytes += more
    if (bytes > limitBytes) {
      const hint = setBy === undefined ? '' : ` (${setBy})`
      throw new GatewayError('body_too_large', `The body is larger than ${limitBytes} bytes${hint}.`)
    }
    keep(more)
  }
  if (length === undefined) return collect(request, take)
  try {
    take(Number(length))
  } catch (error) {
    await turnAway(request)
    throw error
  }
  // No more comes than was announced (RFC 9112 §6.3).
  return collect(request, () => {})
}

/** The body. @param take is told of each piece before it is kept; what it throws ends the reading */
function collect(request: IncomingMessage, take: (bytes: number) => void): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  // Listeners stay, which is cheaper than taking them away; what they hold must not, and the promise holds the body.
  let waiting: { resolve(body: Buffer): void; reject(error: Error): void } | null = { resolve, reject }
  const pieces = new Pieces()
  const onData = (piece: Buffer) => {
    try {
      take(piece.length)
      pieces.add(piece)
    } catch (error) {
      request.off('data', onData)
      pieces.take()
      const refused = waiting
      waiting = null
      void discard(request).then(() => refused?.reject(error as Error))
    }
  }
  request.on('data', onData)
  request.on('end', () => {
    waiting?.resolve(pieces.take())
    waiting = null
  })
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
const turnAway = (request: IncomingMessage): void | Promise<void> =>
  request.headers.expect === undefined ? discard(request) : undefined

/**
 * Reads on without keeping anything, for a moment: a connection closed while its peer still writes is reset, and
 * the peer would see the reset instead of our answer.
 */
function discard(request: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    let bytes = 0
    const timer = setTimeout(() => done(), LINGER_MS)
    const done = () => {
      clearTimeout(timer)
      request.off('data', onData).off('end', done).off('close', done)
      resolve()
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
