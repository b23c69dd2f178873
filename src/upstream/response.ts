// Turns undici's handler callbacks into a response that is read in chunks from a bounded queue.

import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import { Pieces } from '../core/chunks.ts'
import type { Milliseconds } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import { detect } from '../detect/pii/detect.ts'
import type { KindSet } from '../detect/pii/kinds.ts'
import type { FramedAnswer, FramingGuard } from './framing-guard.ts'

/** Queued bytes above which the upstream's socket is paused. */
const PAUSE_ABOVE_BYTES = 64 * 1024

/** Time that a discarded response has to end. Another call may wait for its connection. */
const DISCARD_MS: Milliseconds = 1000

/** The response as the pipeline reads it. Allows one reader at a time. */
export interface UpstreamResponse {
  readonly status: number
  /** One value per name; repeated fields are joined by commas (RFC 9110 §5.3). */
  readonly headers: IncomingHttpHeaders
  /** Credential of the call, which no answer may repeat; null if it is not a secret. */
  readonly credential: string | null
  /**
   * Returns all bytes since the last read, or waits for the next chunk; null at the end. Chunk
   * boundaries are not preserved.
   * @throws GatewayError `upstream_unavailable` or `upstream_timeout` if the response is incomplete
   */
  read(): Promise<Buffer | null>
  /** Ends the call and closes its connection. Has no effect after the end. */
  abort(): void
  /** Drops the rest. Waits a moment for the end, so that the connection can be reused. */
  discard(): void
}

/** Failure of one attempt. Upstream retries it or converts it to a GatewayError. */
export class AttemptError extends Error {
  override readonly name = 'AttemptError'
  /** Error code of undici or the system; otherwise the name of the error. */
  readonly code: string
  /** Whether the request went over a kept connection and no byte of an answer came. */
  readonly isUnanswered: boolean
  /** False when there was no connection to send the request over. */
  readonly wasSent: boolean

  constructor(cause: Error, { isUnanswered = false, wasSent = true } = {}) {
    super(cause.message, { cause })
    this.isUnanswered = isUnanswered
    this.wasSent = wasSent
    this.code = (cause as NodeJS.ErrnoException).code ?? cause.name
  }
}

/** Reports whether the upstream may have read the request. */
export const wasSent = ({ cause }: GatewayError): boolean => !(cause instanceof AttemptError) || cause.wasSent

const TIMEOUT_CODES = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])

/** Converts to the error that the client receives, without addresses or headers. */
export function upstreamError(error: AttemptError): GatewayError {
  return TIMEOUT_CODES.has(error.code)
    ? new GatewayError('upstream_timeout', 'The upstream took too long to answer.', { cause: error })
    : new GatewayError(
        'upstream_unavailable',
        'The upstream could not be reached or did not complete its answer.',
        {
          cause: error,
        },
      )
}

/** States the status of an answer that has no other use. */
export const unusableStatus = (status: number): string => `The upstream answered with status ${status}.`

/** The head of an answer. */
export type UpstreamHead = Pick<UpstreamResponse, 'status' | 'headers' | 'credential'>

/** The cause of an error for an answer that cannot be delivered. */
export class UnusableAnswer extends Error {
  override readonly name = 'UnusableAnswer'
  readonly head: UpstreamHead

  constructor(message: string, head: UpstreamHead) {
    super(message)
    this.head = head
  }
}

/** The head of the answer that caused an error; null when there was none. */
export const unusableAnswer = ({ cause }: GatewayError): UpstreamHead | null =>
  cause instanceof UnusableAnswer ? cause.head : null

/** Reports whether an answer has a content encoding. None is requested, and none can be scanned. */
export const isEncoded = ({ 'content-encoding': encoding }: IncomingHttpHeaders): boolean =>
  encoding !== undefined && encoding.toLowerCase() !== 'identity'

/** A request id without white space or control characters, short enough for a log line. */
const REQUEST_ID = /^[\w.:/-]{1,128}$/

/**
 * The upstream's id of a call, from `request-id` (Anthropic's) or `x-request-id`. It is sealed and
 * logged, so there is none when the header has another form, or repeats the credential or personal
 * data: null then.
 */
export function upstreamRequestId({ headers, credential }: UpstreamHead, kinds: KindSet): string | null {
  const id = headers['request-id'] ?? headers['x-request-id']
  if (typeof id !== 'string' || !REQUEST_ID.test(id)) return null
  if (credential !== null && id.includes(credential)) return null
  return detect(id, kinds).length === 0 ? id : null
}

/**
 * undici's code for a proxy that refused the tunnel. Only the message contains the proxy's status.
 */
export const REFUSED_BY_PROXY = 'UND_ERR_ABORTED'

/**
 * Returns the cause for the log: the code of the system, TLS or undici, or the message without one.
 */
export function upstreamCause({ cause, message }: GatewayError): string {
  if (!(cause instanceof AttemptError)) return message
  return cause.code === REFUSED_BY_PROXY ? cause.message : cause.code
}

/** Joins repeated fields, for which undici returns a list. */
function joinRepeated(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  for (const name of Object.keys(headers)) {
    const value = headers[name]
    if (Array.isArray(value)) headers[name] = value.join(', ')
  }
  return headers
}

/** Handler of one dispatch. Resolves `started` with itself when the headers arrive. */
export class PendingResponse implements Dispatcher.DispatchHandler, UpstreamResponse, FramedAnswer {
  status = 0
  headers: IncomingHttpHeaders = {}
  readonly credential: string | null
  readonly started: Promise<UpstreamResponse>
  /** The connection to come, which is marked as used when the request is sent. Set by the pool. */
  connection: { isUsed: boolean; readonly guard: FramingGuard } | null = null
  bodyBytes = 0
  /** Whether the request went over a connection that carried one before. */
  #isKept = false
  #isAnswered = false
  #resolveStarted!: (response: UpstreamResponse) => void
  #rejectStarted!: (error: AttemptError) => void
  #controller: Dispatcher.DispatchController | null = null
  readonly #queue = new Pieces()
  #queuedBytes = 0
  #ended = false
  #failure: AttemptError | null = null
  #aborted = false
  #discarding = false
  #discardTimer: NodeJS.Timeout | undefined
  #waiting: { resolve(chunk: Buffer | null): void; reject(error: Error): void } | null = null

  constructor(credential: string | null) {
    this.credential = credential
    this.started = new Promise((resolve, reject) => {
      this.#resolveStarted = resolve
      this.#rejectStarted = reject
    })
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.connection !== null) {
      this.#isKept = this.connection.isUsed
      this.connection.isUsed = true
      this.connection.guard.expect(this)
    }
    if (this.#aborted) controller.abort(new Error('aborted'))
  }

  /** Called at the first byte of an answer. */
  onResponseStarted(): void {
    this.#isAnswered = true
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    // Informational responses (RFC 9110 §15.2) precede the real one.
    if (status < 200) return
    this.status = status
    this.headers = joinRepeated(headers)
    this.#resolveStarted(this)
  }

  get hasHead(): boolean {
    return this.status > 0
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.bodyBytes += chunk.length
    if (this.#discarding) {
      this.#queuedBytes += chunk.length
      if (this.#queuedBytes > PAUSE_ABOVE_BYTES) this.abort()
      return
    }
    const waiting = this.#waiting
    if (waiting !== null) {
      this.#waiting = null
      waiting.resolve(chunk)
      return
    }
    this.#queue.add(chunk)
    this.#queuedBytes += chunk.length
    if (this.#queuedBytes > PAUSE_ABOVE_BYTES) controller.pause()
  }

  onResponseEnd(): void {
    this.#ended = true
    clearTimeout(this.#discardTimer)
    this.#waiting?.resolve(null)
    this.#waiting = null
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    clearTimeout(this.#discardTimer)
    this.#failure = new AttemptError(error, {
      isUnanswered: this.#isKept && !this.#isAnswered,
      wasSent: this.#controller !== null,
    })
    this.#rejectStarted(this.#failure)
    this.#waiting?.reject(upstreamError(this.#failure))
    this.#waiting = null
  }

  read(): Promise<Buffer | null> {
    if (this.#queuedBytes > 0) {
      // All at once, so that a slow reader catches up, however small the chunks are.
      const chunk = this.#queue.take()
      const paused = this.#queuedBytes > PAUSE_ABOVE_BYTES
      this.#queuedBytes = 0
      // Delivers the socket's buffered data before it returns, which may pause the socket again.
      if (paused) this.#controller?.resume()
      return Promise.resolve(chunk)
    }
    if (this.#failure !== null) return Promise.reject(upstreamError(this.#failure))
    if (this.#ended) return Promise.resolve(null)
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
    })
  }

  abort(): void {
    if (this.#aborted || this.#ended) return
    this.#aborted = true
    this.#forget()
    if (this.#controller !== null) this.#controller.abort(new Error('aborted'))
    // Rejects without waiting for a connection. `onRequestStart` aborts if one comes later.
    else this.#rejectStarted(new AttemptError(new Error('aborted'), { wasSent: false }))
  }

  discard(): void {
    this.#discarding = true
    this.#forget()
    this.#controller?.resume()
    if (this.#ended || this.#failure !== null) return
    this.#discardTimer = setTimeout(() => this.abort(), DISCARD_MS).unref()
  }

  #forget(): void {
    this.#queue.take()
    this.#queuedBytes = 0
  }
}
