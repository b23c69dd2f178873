// Reads request bodies up to a limit, with either framing (content-length or chunked), and decodes
// compressed ones.

import type { IncomingMessage } from 'node:http'
import { Pieces } from '../core/chunks.ts'
import { type Milliseconds, systemClock } from '../core/clock.ts'
import {
  CODINGS,
  type Coding,
  decode,
  NotDecodable,
  readCoding,
  TooCompressed,
} from '../core/content-coding.ts'
import { GatewayError } from '../core/errors.ts'
import { inSlices } from '../core/steps.ts'

/** Bytes and time for which the rest of an oversized body is read and dropped before the answer. */
const LINGER_BYTES = 64 * 1024 * 1024
const LINGER_MS: Milliseconds = 2000

/** Bodies from this length on are copied in slices. */
const LONG_BYTES = 256 * 1024

/** The key of the configuration that limits prompts. */
export const BODY_LIMIT = 'limits.bodyBytes'

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i

interface BodyOptions {
  /** Key of the configuration that sets the limit; named in the error. */
  readonly setBy?: string
  /** Called with a number of bytes before they are stored; an error it throws ends the reading. */
  readonly reserve?: (bytes: number) => void
}

/**
 * Reads the whole body of a JSON request, decoded.
 * @param limitBytes checked against `content-length` before reading, and by counting while reading
 * @throws GatewayError (rejects) `unsupported_media_type`, `body_too_large`, `invalid_body` for a
 * body that is not in its coding, or `bad_request` when the client disconnects
 */
export async function readJsonBody(
  request: IncomingMessage,
  limitBytes: number,
  options: BodyOptions = {},
): Promise<Buffer> {
  const { 'content-type': type, 'content-encoding': encoding } = request.headers
  if (type === undefined || !JSON_TYPE.test(type)) {
    throw new GatewayError('unsupported_media_type', 'Send the body with content-type: application/json.')
  }
  const coding = readCoding(encoding)
  if (coding === 'identity') return readBytes(request, limitBytes, options)
  if (coding !== null) return readDecoded(request, limitBytes, coding, options)
  throw new GatewayError(
    'unsupported_media_type',
    `Send the body without a content-encoding, or with one of ${CODINGS.join(', ')}.`,
    { headers: { 'accept-encoding': CODINGS.join(', ') } },
  )
}

async function readDecoded(
  request: IncomingMessage,
  limitBytes: number,
  coding: Coding,
  { setBy, reserve = () => {} }: BodyOptions,
): Promise<Buffer> {
  const tooLarge = () => tooLargeFor(limitBytes, setBy)
  if (Number(request.headers['content-length']) > limitBytes) {
    await discardRefused(request)
    throw tooLarge()
  }
  const pieces = new Pieces()
  try {
    // An iterator that destroys the request would end the connection before the answer.
    for await (const piece of decode(request.iterator({ destroyOnReturn: false }), coding)) {
      if (pieces.bytes + piece.length > limitBytes) throw tooLarge()
      reserve(piece.length)
      pieces.add(piece)
    }
    return await join(pieces)
  } catch (error) {
    pieces.take()
    if (request.destroyed && !request.complete) throw brokenOff()
    if (!request.readableEnded) await discard(request)
    if (error instanceof TooCompressed) throw tooLarge()
    if (error instanceof NotDecodable)
      throw new GatewayError('invalid_body', `The body is not valid ${coding} (content-encoding).`)
    throw error
  }
}

function tooLargeFor(limitBytes: number, setBy: string | undefined): GatewayError {
  const hint = setBy === undefined ? '' : ` (${setBy})`
  return new GatewayError('body_too_large', `The body is larger than ${limitBytes} bytes${hint}.`)
}

/** As `readJsonBody`, for a body of any type and coding, as received. */
export async function readBytes(
  request: IncomingMessage,
  limitBytes: number,
  { setBy, reserve = () => {} }: BodyOptions = {},
): Promise<Buffer> {
  const { 'content-length': length } = request.headers
  let bytes = 0
  const take = (more: number) => {
    bytes += more
    if (bytes > limitBytes) throw tooLargeFor(limitBytes, setBy)
    reserve(more)
  }
  if (length === undefined) return join(await collect(request, take))
  try {
    take(Number(length))
  } catch (error) {
    await discardRefused(request)
    throw error
  }
  // Node's parser ends the body at its content-length (RFC 9112 §6.3).
  return join(await collect(request, () => {}))
}

/** Long bodies that end in one turn are not copied in one. */
const join = (pieces: Pieces): Buffer | Promise<Buffer> =>
  pieces.bytes > LONG_BYTES ? inSlices(pieces.takeSteps(), systemClock) : pieces.take()

/**
 * Reads the body.
 * @param take called before each chunk is stored; an error it throws ends the reading
 */
function collect(request: IncomingMessage, take: (bytes: number) => void): Promise<Pieces> {
  const { promise, resolve, reject } = Promise.withResolvers<Pieces>()
  // Removing listeners costs more than keeping them. They must not hold the promise, which holds
  // the body.
  let waiting: { resolve(body: Pieces): void; reject(error: Error): void } | null = { resolve, reject }
  const chunks = new Pieces()
  const onData = (chunk: Buffer) => {
    try {
      take(chunk.length)
      chunks.add(chunk)
    } catch (error) {
      request.off('data', onData)
      chunks.take()
      const refused = waiting
      waiting = null
      void discard(request).then(() => refused?.reject(error as Error))
    }
  }
  request.on('data', onData)
  request.on('end', () => {
    waiting?.resolve(chunks)
    waiting = null
  })
  // Every request closes, and an error is expensive, so it is made only when the body is
  // incomplete.
  const onBreak = () => {
    waiting?.reject(brokenOff())
    waiting = null
  }
  request.on('close', onBreak)
  request.on('error', onBreak)
  return promise
}

/**
 * Drops an announced body that is too large. A client that sent `expect: 100-continue` has not sent
 * it yet.
 */
const discardRefused = (request: IncomingMessage): void | Promise<void> =>
  request.headers.expect === undefined ? discard(request) : undefined

/**
 * Reads and drops the rest of the body for a limited time. Closing a connection while its peer
 * writes resets it, and the peer would see the reset instead of the answer.
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
    const onData = (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > LINGER_BYTES) done()
    }
    request.on('data', onData).on('end', done).on('close', done)
    request.resume()
  })
}

const brokenOff = () => new GatewayError('bad_request', 'The connection closed before the body was complete.')
