// Decodes the answers of upstreams that compress although no coding is requested.

import { type Coding, decode, NotDecodable, readCoding, TooCompressed } from '../core/content-coding.ts'
import { GatewayError } from '../core/errors.ts'
import type { UpstreamResponse } from './response.ts'

/** Returns a response whose body is decoded; the same one without a coding that is known. */
export function decoded(response: UpstreamResponse): UpstreamResponse {
  const { 'content-encoding': field, 'content-length': _, ...headers } = response.headers
  const coding = readCoding(field)
  if (coding === null || coding === 'identity') return response
  const pieces = decode(read(response), coding)
  return {
    status: response.status,
    headers,
    credential: response.credential,
    read: () => next(pieces, coding),
    abort: () => response.abort(),
    discard: () => response.discard(),
  }
}

async function* read(response: UpstreamResponse): AsyncGenerator<Buffer> {
  for (let piece = await response.read(); piece !== null; piece = await response.read()) yield piece
}

async function next(pieces: AsyncGenerator<Buffer>, coding: Coding): Promise<Buffer | null> {
  try {
    const { value, done } = await pieces.next()
    return done === true ? null : value
  } catch (error) {
    if (!(error instanceof NotDecodable || error instanceof TooCompressed)) throw error
    throw new GatewayError('upstream_unavailable', `The upstream's answer is not valid ${coding}.`)
  }
}
