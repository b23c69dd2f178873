// Asks a URL for the public keys of an issuer. Node's client, not undici's, which is the one for
// upstreams: small answers from time to time need no pool.

import type { IncomingMessage } from 'node:http'
import type { Milliseconds } from '../core/clock.ts'
import { MAXIMUM_KEY_SET_BYTES } from '../core/json-web-keys.ts'
import { reasonOf } from '../core/text-file.ts'

/** For the whole answer. */
const TIMEOUT_MS: Milliseconds = 5000

/** Loads the client for a URL: a gateway without such keys is to start without it. */
const clientFor = (url: string) =>
  url.startsWith('https:') ? process.getBuiltinModule('node:https') : process.getBuiltinModule('node:http')

/**
 * Resolves with the text of an answer. Follows no redirect, which could lead anywhere.
 * @throws Error (rejects) with what is wrong, without any text of the answer
 */
export async function requestKeySet(url: string, end: AbortSignal, timeoutMs = TIMEOUT_MS): Promise<string> {
  const limit = AbortSignal.timeout(timeoutMs)
  const signal = AbortSignal.any([limit, end])
  try {
    const response = await send(url, signal)
    try {
      if (response.statusCode !== 200) throw new Error(`the URL answers ${response.statusCode}, not 200`)
      return await readText(response)
    } finally {
      response.destroy()
    }
  } catch (error) {
    if (limit.aborted) throw new Error(`the URL does not answer within ${timeoutMs} ms`)
    throw new Error(reasonOf(error))
  }
}

const HEADERS = { accept: 'application/jwk-set+json, application/json', 'accept-encoding': 'identity' }

function send(url: string, signal: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = clientFor(url).request(url, { agent: false, headers: HEADERS, signal }, resolve)
    request.on('error', reject)
    request.end()
  })
}

async function readText(response: AsyncIterable<Buffer>): Promise<string> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of response) {
    bytes += piece.length
    if (bytes > MAXIMUM_KEY_SET_BYTES)
      throw new Error(`the answer is larger than ${MAXIMUM_KEY_SET_BYTES} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}
