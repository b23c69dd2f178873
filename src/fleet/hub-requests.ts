// The requests of a sidecar to a hub over HTTP/1.1: the feed on its own connection, short posts on
// another one. Node's client, not undici's: one stream and small posts need no pool.

import type { IncomingMessage, Agent as PlainAgent } from 'node:http'
import { SseParser } from '../chat/sse.ts'
import type { Milliseconds } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import { visibleLine } from '../core/hidden-characters.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import type { Secret } from '../core/secret.ts'
import {
  type FeedEvent,
  MAXIMUM_FEED_EVENT_BYTES,
  readEvent,
  SILENCE_MS,
  type UnknownEvent,
} from './protocol.ts'

/** Loads the client for a URL: a gateway without a hub is to start without it. */
const clientFor = (url: string) =>
  url.startsWith('https:') ? process.getBuiltinModule('node:https') : process.getBuiltinModule('node:http')

/** Longest answer to a post, and longest part of an error that is read. */
const MAXIMUM_ANSWER_BYTES = 16_384
/** Bodies from this length on are sent once the hub has a turn for them. */
const INVITED_BYTES = 16 * 1024
/** Longest wait that a hub can ask for. */
const MAXIMUM_RETRY_SECONDS = 60
/** Longest message of a hub that is repeated. */
const MAXIMUM_MESSAGE_CHARACTERS = 300

/** Codes of errors before a connection: the hub has certainly not read the request. */
const NEVER_SENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'])

/** A request that got no answer. */
export class HubUnreachable extends Error {
  override readonly name = 'HubUnreachable'
  /** True when the hub has certainly not read the request. */
  readonly neverSent: boolean

  constructor(cause: unknown) {
    const { code, message } = cause as NodeJS.ErrnoException
    super(`the hub cannot be reached: ${code ?? message}`, { cause })
    this.neverSent = NEVER_SENT.has(code ?? '')
  }
}

/** An answer with another status than the expected one. */
export class HubRefusal extends Error {
  override readonly name = 'HubRefusal'
  readonly status: number
  /** Code of the hub's error; empty when the answer has none. */
  readonly code: string
  /** True when an administrator declared this sidecar gone. */
  readonly isGone: boolean
  /** True when the same request may be answered later. */
  readonly isPassing: boolean

  /** @param body of the answer, which holds the hub's own message */
  constructor(status: number, body: string) {
    super(`the hub refuses this gateway (${status})${messageIn(body)}`)
    this.status = status
    this.isPassing = status === 429 || status >= 500
    this.code = String(errorIn(body)['code'] ?? '')
    this.isGone = status === 403 && this.code === 'forbidden'
  }
}

function messageIn(body: string): string {
  const { message } = errorIn(body)
  return typeof message === 'string' ? `: ${visibleLine(message.slice(0, MAXIMUM_MESSAGE_CHARACTERS))}` : ''
}

/** The error of an answer; empty when it has none, as that of a proxy. */
function errorIn(body: string): JsonObject {
  try {
    const answer: unknown = JSON.parse(body)
    const error = isObject(answer) ? answer['error'] : undefined
    return isObject(error) ? error : {}
  } catch {
    return {}
  }
}

type Headers = Readonly<Record<string, string>>

/** What is posted. */
interface HubPost {
  readonly type: string
  readonly bytes: Buffer
}

interface HubAnswer {
  readonly status: number
  readonly text: string
  /** Least time to wait, as the hub asks; 0 when it does not. */
  readonly retryAfterMs: Milliseconds
}

/** How a feed is opened and read. */
export interface FeedReading {
  readonly url: string
  readonly headers: Headers
  readonly signal: AbortSignal
  /** Takes each event as it arrives. @returns whether to read more */
  onEvent(event: FeedEvent | UnknownEvent): boolean
}

/** What a post may differ in. */
export interface PostOptions {
  /** Ends the post. */
  readonly end?: AbortSignal
  /** Longest answer. */
  readonly maximumBytes?: number
}

export class HubRequests {
  readonly #ca: Secret | null
  readonly #connections: number
  #agent: PlainAgent | null = null
  /** The authorities of the agent. */
  #trusted: string | undefined

  /**
   * @param ca PEM; null for the authorities of the system
   * @param connections maximum at a time, besides a feed. By default a lease does not wait for an
   *   acknowledgement
   */
  constructor(ca: Secret | null, connections = 2) {
    this.#ca = ca
    this.#connections = connections
  }

  /**
   * Reads a feed until it ends, nothing arrives for SILENCE_MS, or `onEvent` has enough.
   * @throws HubUnreachable, HubRefusal, or an Error for a feed that cannot be read (rejects)
   */
  async feed({ url, headers, signal, onEvent }: FeedReading): Promise<void> {
    const ca = this.#ca?.current()
    const accept = { accept: 'text/event-stream', 'accept-encoding': 'identity' }
    const options = { agent: false, headers: { ...headers, ...accept }, signal, timeout: SILENCE_MS }
    const response = await send(url, { ...options, ...(ca !== undefined && { ca }) }, null)
    const { statusCode = 0 } = response
    if (statusCode !== 200) throw new HubRefusal(statusCode, await readBody(response))
    const parser = new SseParser(MAXIMUM_FEED_EVENT_BYTES)
    try {
      for await (const piece of response) {
        for (const one of parser.push(piece as Buffer)) {
          const event = readEvent(one)
          if (event !== null && !onEvent(event)) return
        }
      }
    } catch (error) {
      if (error instanceof GatewayError)
        throw new Error(`the hub sent an event of more than ${MAXIMUM_FEED_EVENT_BYTES} bytes`)
      throw new HubUnreachable(error)
    } finally {
      response.destroy()
    }
  }

  /**
   * Posts JSON, on a connection that is kept.
   * @returns the body of the answer
   * @throws HubUnreachable, HubRefusal (rejects)
   */
  async post(
    url: string,
    headers: Headers,
    body: object,
    timeoutMs: Milliseconds,
    options: PostOptions = {},
  ): Promise<string> {
    const json = { type: 'application/json', bytes: Buffer.from(JSON.stringify(body)) }
    const { status, text } = await this.exchange(url, headers, json, timeoutMs, options)
    if (status < 200 || status > 299) throw new HubRefusal(status, text)
    return text
  }

  /**
   * Asks for JSON, on the same connection. Returns and throws as `post`.
   */
  async get(
    url: string,
    headers: Headers,
    timeoutMs: Milliseconds,
    options: PostOptions = {},
  ): Promise<string> {
    const { status, text } = await this.exchange(url, headers, null, timeoutMs, options)
    if (status !== 200) throw new HubRefusal(status, text)
    return text
  }

  /**
   * Posts a body, on the same connection.
   * @param body null to ask by GET
   * @returns the answer, of any status
   * @throws HubUnreachable (rejects)
   */
  async exchange(
    url: string,
    headers: Headers,
    body: HubPost | null,
    timeoutMs: Milliseconds,
    { end, maximumBytes = MAXIMUM_ANSWER_BYTES }: PostOptions = {},
  ): Promise<HubAnswer> {
    const limit = AbortSignal.timeout(timeoutMs)
    const signal = end === undefined ? limit : AbortSignal.any([limit, end])
    const options = {
      method: body === null ? 'GET' : 'POST',
      agent: this.#agentFor(url),
      headers: { ...headers, ...(body !== null && describe(body)) },
      signal,
    }
    const response = await send(url, options, body?.bytes ?? null)
    const text = await readBody(response, maximumBytes)
    const seconds = Number(response.headers['retry-after'] ?? 0)
    const retryAfterMs = seconds > 0 && seconds <= MAXIMUM_RETRY_SECONDS ? seconds * 1000 : 0
    return { status: response.statusCode ?? 0, text, retryAfterMs }
  }

  /** Closes the connection for posts. */
  close(): void {
    this.#agent?.destroy()
    this.#agent = null
  }

  #agentFor(url: string): PlainAgent {
    const ca = this.#ca?.current()
    const { Agent } = clientFor(url)
    if (this.#agent !== null && (ca !== this.#trusted || this.#agent.constructor !== Agent)) this.close()
    this.#trusted = ca
    const kept = { keepAlive: true, maxSockets: this.#connections, maxFreeSockets: 1 }
    this.#agent ??= new Agent({ ...kept, ...(ca !== undefined && { ca }) })
    return this.#agent
  }
}

/** The headers of a body. */
const describe = ({ type, bytes }: HubPost): Headers => ({
  'content-type': type,
  'content-length': String(bytes.length),
  // A hub that many sidecars come back to would hold the start of each body (RFC 9110 §10.1.1).
  ...(bytes.length >= INVITED_BYTES && { expect: '100-continue' }),
})

/** Resolves with the head of the answer. @throws HubUnreachable (rejects) */
function send(url: string, options: object, body: Buffer | null): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = clientFor(url).request(url, options, resolve)
    request.on('timeout', () => request.destroy(new Error(`no byte within ${SILENCE_MS} ms`)))
    request.on('error', (error) => reject(new HubUnreachable(error)))
    if (body === null || body.length < INVITED_BYTES) request.end(body ?? undefined)
    else {
      request.once('continue', () => request.end(body))
      // A hub that refuses it without its body closes the connection.
      request.once('response', (response) =>
        response.once('end', () => request.writableEnded || request.destroy()),
      )
      request.flushHeaders()
    }
  })
}

/** @throws HubUnreachable (rejects) when the answer breaks off or is too long */
async function readBody(response: IncomingMessage, maximumBytes = MAXIMUM_ANSWER_BYTES): Promise<string> {
  const pieces: Buffer[] = []
  let bytes = 0
  try {
    for await (const piece of response as AsyncIterable<Buffer>) {
      bytes += piece.length
      if (bytes > maximumBytes) throw new Error('the answer is too long')
      pieces.push(piece)
    }
  } catch (error) {
    throw new HubUnreachable(error)
  }
  return Buffer.concat(pieces).toString('utf8')
}
