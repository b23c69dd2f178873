// One upstream call in flight, read piece by piece: undici's handler callbacks turned into a bounded queue.

import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import { Pieces } from '../core/chunks.ts'
import type { Milliseconds } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'

/** Bytes that may wait for a slow reader before the upstream's socket is paused. */
const PAUSE_ABOVE_BYTES = 64 * 1024

/** The rest of an answer that does not matter has this long to end: another call may be waiting for its connection. */
const DISCARD_MS: Milliseconds = 1000

/** What the pipeline sees of an answer. One reader at a time. */
export interface UpstreamResponse {
  readonly status: number
  /** Each once: what came in several lines is joined by commas (RFC 9110 §5.3). */
  readonly headers: IncomingHttpHeaders
  /** What the upstream was asked with, which no answer may repeat; null where that is no secret. */
  readonly credential: string | null
  /**
   * What has arrived since the last read, or the next piece; null at the end. Where the upstream cut its pieces is
   * not kept.
   * @throws GatewayError `upstream_unavailable` or `upstream_timeout` when the answer breaks off
   */
  read(): Promise<Buffer | null>
  /** Ends the call at once and closes its connection; harmless when it is over. */
  abort(): void
  /** The rest does not matter: lets it end by itself for a moment, so that the connection can serve another call. */
  discard(): void
}

/** Thrown inside an attempt; forward decides whether to try again or to turn it into a GatewayError. */
export class AttemptError extends Error {
  override readonly name = 'AttemptError'
  /** undici's or the system's error code. */
  readonly code: string

  constructor(cause: Error) {
    super(cause.message, { cause })
    this.code = (cause as NodeJS.ErrnoException).code ?? cause.name
  }
}

/** Why an attempt was given up that no connection was there for yet. */
class NeverSent extends Error {
  override readonly name = 'NeverSent'
}

/** Whether the upstream may have read the call behind an error. */
export const wasSent = ({ cause }: GatewayError): boolean =>
  !(cause instanceof AttemptError && cause.cause instanceof NeverSent)

const TIMEOUT_CODES = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])

/** The error a client sees for a failed upstream call; carries no address and no header. */
export function upstreamError(error: AttemptError): GatewayError {
  return TIMEOUT_CODES.has(error.code)
    ? new GatewayError('upstream_timeout', 'The upstream took too long to answer.', { cause: error })
    : new GatewayError('upstream_unavailable', 'The upstream could not be reached or broke off its answer.', {
        cause: error,
      })
}

/** The cause of an error for an answer whose status is not passed on. */
export class UnusableStatus extends Error {
  override readonly name = 'UnusableStatus'
  readonly status: number
  /** As `upstreamRequestId`. */
  readonly requestId: string | null

  constructor(status: number, headers: IncomingHttpHeaders) {
    super(`The upstream answered with status ${status}.`)
    this.status = status
    this.requestId = upstreamRequestId(headers)
  }
}

/** The answer behind an error; null when there was none. */
export const unusableAnswer = ({ cause }: GatewayError): UnusableStatus | null =>
  cause instanceof UnusableStatus ? cause : null

/** A request id without white space or control characters, short enough for a log line. */
const REQUEST_ID = /^[\w.:/-]{1,128}$/

/** The upstream's own id of a call, from `x-request-id`; null when it sent none that can be logged. */
export function upstreamRequestId({ 'x-request-id': id }: IncomingHttpHeaders): string | null {
  return typeof id === 'string' && REQUEST_ID.test(id) ? id : null
}

/** undici's code for a proxy that let nothing through; the status it answered with stands in the message alone. */
export const REFUSED_BY_PROXY = 'UND_ERR_ABORTED'

/** What the operator is told of a failed upstream call: the code of the system, of TLS or of undici, where there is one. */
export function upstreamCause({ cause, message }: GatewayError): string {
  if (!(cause instanceof AttemptError)) return message
  return cause.code === REFUSED_BY_PROXY ? cause.message : cause.code
}

/** undici gives a list where a header came twice; nobody who reads one expects that. */
function joined(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  for (const name of Object.keys(headers)) {
    const value = headers[name]
    if (Array.isArray(value)) headers[name] = value.join(', ')
  }
  return headers
}

/** One dispatch: resolves `started` with itself at the response's head, then serves `read`. */
export class PendingResponse implements Dispatcher.DispatchHandler, UpstreamResponse {
  status = 0
  headers: IncomingHttpHeaders = {}
  readonly credential: string | null
  readonly started: Promise<UpstreamResponse>
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
  #waiting: { resolve(piece: Buffer | null): void; reject(error: Error): void } | null = null

  constructor(credential: string | null) {
    this.credential = credential
    this.started = new Promise((resolve, reject) => {
      this.#resolveStarted = resolve
      this.#rejectStarted = reject
    })
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#aborted) controller.abort(new Error('aborted'))
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    // Informational responses (RFC 9110 §15.2) precede the real one.
    if (status < 200) return
    this.status = status
    this.headers = joined(headers)
    this.#resolveStarted(this)
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Buffer): void {
    if (this.#discarding) {
      this.#queuedBytes += piece.length
      if (this.#queuedBytes > PAUSE_ABOVE_BYTES) this.abort()
      return
    }
    const waiting = this.#waiting
    if (waiting !== null) {
      this.#waiting = null
      waiting.resolve(piece)
      return
    }
    this.#queue.add(piece)
    this.#queuedBytes += piece.length
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
    this.#failure = new AttemptError(error)
    this.#rejectStarted(this.#failure)
    this.#waiting?.reject(upstreamError(this.#failure))
    this.#waiting = null
  }

  read(): Promise<Buffer | null> {
    if (this.#queuedBytes > 0) {
      // All of it at once: a reader that lags catches up, however small the pieces are.
      const piece = this.#queue.take()
      const paused = this.#queuedBytes > PAUSE_ABOVE_BYTES
      this.#queuedBytes = 0
      // What the socket holds comes in, and may pause it again, before this returns.
      if (paused) this.#controller?.resume()
      return Promise.resolve(piece)
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
    // Whoever waits need not wait for a connection. `onRequestStart` ends it if one comes.
    else this.#rejectStarted(new AttemptError(new NeverSent('aborted')))
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
