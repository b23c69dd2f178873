// Sends an answer whose body is made while it is sent, at the speed of the client.

import type { ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Milliseconds } from '../core/clock.ts'
import type { ApiAnswer } from './api.ts'
import { OWN_HEADERS, STALL_MS, watchDelivery } from './respond.ts'

/** Type of an answer that ends only with the gateway or the session, and that a client resumes. */
const EVENTS_TYPE = 'text/event-stream'
/** Time for a client to read the rest of such an answer. */
const EVENTS_END_MS: Milliseconds = 500

/**
 * Sends the answer; resolves when it is sent or the client is gone. Asks for one chunk in a turn of
 * the event loop, and for none once the client is gone. When the chunks fail, the connection
 * closes before the end of the answer, so the client knows that it is not complete.
 * @throws the error of the chunks (rejects)
 */
export async function respondChunks(
  response: ServerResponse,
  status: number,
  headers: NonNullable<ApiAnswer['headers']>,
  { type, chunks }: NonNullable<ApiAnswer['stream']>,
  stallMs = STALL_MS,
): Promise<void> {
  if (response.headersSent || response.destroyed) return
  response.writeHead(status, { ...OWN_HEADERS, 'content-type': type, ...headers })
  response.flushHeaders()
  const orGone = endedByClose(response)
  const iterator = chunks[Symbol.asyncIterator]()
  try {
    while (!response.destroyed) {
      const next = await orGone(iterator.next())
      if (next === null || next.done === true) break
      if (next.value !== '' && !response.write(next.value)) await room(response, orGone, stallMs)
      await nextTurn()
    }
  } catch (error) {
    response.destroy()
    throw error
  } finally {
    // Chunks may be waiting for a next one, so nothing waits for this.
    iterator.return?.().catch(() => {})
  }
  if (response.destroyed) return
  response.end()
  watchDelivery(response, type === EVENTS_TYPE ? EVENTS_END_MS : stallMs)
}

type OrGone = <Value>(promise: Promise<Value>) => Promise<Value | null>

/** Returns a function that settles as a promise, or with null when the response closes first. */
function endedByClose(response: ServerResponse): OrGone {
  // One listener for all waits, because a stream may have millions.
  let leave = (): void => {}
  response.once('close', () => leave())
  return (promise) =>
    new Promise((resolve, reject) => {
      leave = () => resolve(null)
      promise.then(resolve, reject)
      if (response.destroyed) leave()
    })
}

/** Resolves when the socket takes more, or is gone. The socket closes after `stallMs` without. */
async function room(response: ServerResponse, orGone: OrGone, stallMs: number): Promise<void> {
  response.setTimeout(stallMs)
  await orGone(new Promise<void>((resolve) => response.once('drain', () => resolve())))
  response.setTimeout(0)
}
