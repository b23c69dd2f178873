// Sends calls to one upstream, with retries.

import type { IncomingHttpHeaders } from 'node:http'
import { GatewayError } from '../core/errors.ts'
import type { UpstreamConfig } from '../core/upstream-config.ts'
import type { PermittedRequest } from '../policy/decide.ts'
import { decoded } from './decoded-response.ts'
import { retryHeaders, upstreamHeaders } from './headers.ts'
import { type ConnectionOptions, Connections } from './pool.ts'
import {
  type AttemptError,
  isEncoded,
  PendingResponse,
  UnusableAnswer,
  type UpstreamResponse,
  unusableStatus,
  upstreamError,
} from './response.ts'
import { isConnectFailure, isDeadConnection, isRetried, RetryBudget, retryDelayMs } from './retry.ts'
import { UpstreamAddress } from './upstream-address.ts'

/**
 * Shorter credentials are placeholders such as `none` and `ollama`, which also are common words.
 */
const MIN_CREDENTIAL_CHARACTERS = 8

/** The upstream refuses the request as it is. */
const REFUSED_STATUSES: ReadonlySet<number> = new Set([400, 422])

/** Reports that a call must end: the client left, or the gateway shuts down. */
export interface Cancellation {
  readonly cancelled: boolean
  /** Calls the listener once: on cancellation, or now if cancelled already. */
  onCancel(listener: () => void): void
}

/**
 * Models that are remembered for refusing the first request of a permit; all go when it is full.
 */
const MAXIMUM_REFUSING_MODELS = 256

/** The call that is forwarded, as far as forwarding knows it. */
export interface ForwardedCall {
  /** Number of requests sent to the upstream, retries included. Forwarding counts them. */
  attempts: number
}

/** The retries that a call has left. */
interface CallRetries {
  left: number
  /** Whether a request was sent again because its connection was dead; this happens once. */
  isRenewed: boolean
}

interface Attempt {
  readonly origin: string
  readonly method: PermittedRequest['method']
  readonly path: string
  readonly headers: string[]
  readonly body: Buffer | null
  /** See UpstreamResponse. */
  readonly credential: string | null
}

/** One upstream and its connections. Serves any number of concurrent calls. */
export class Upstream {
  readonly #connections: Connections
  readonly #address: UpstreamAddress
  readonly #config: UpstreamConfig
  readonly #attempts: number
  readonly #budget = new RetryBudget()
  /** Anthropic's list needs its version. */
  readonly #listDefaults: Readonly<Record<string, string>>
  readonly #refusingModels = new Set<string>()

  /** @param connections maximum number of sockets, see Connections */
  constructor(config: UpstreamConfig, connections: number, options?: ConnectionOptions) {
    this.#address = new UpstreamAddress(config)
    this.#config = config
    this.#listDefaults = config.apis.includes('openai') ? {} : { 'anthropic-version': '2023-06-01' }
    this.#attempts = config.retries.attempts
    this.#connections = new Connections(config, connections, options)
  }

  /**
   * Sends the first of some requests, and the next one when the upstream refuses a request
   * (400, 422). Resolves with the head of the answer for any status; 3xx and
   * content encodings become errors. All requests of a call share its retries. A model for which
   * only a later request succeeds is remembered: its next calls begin with their last request.
   * @throws GatewayError `upstream_unavailable` (502) or `upstream_timeout` (504)
   */
  async forward(
    requests: readonly PermittedRequest[],
    client: IncomingHttpHeaders,
    cancellation: Cancellation,
    call: ForwardedCall,
  ): Promise<UpstreamResponse> {
    const retries = this.#retries()
    const last = requests.length - 1
    for (let number = this.#refusingModels.has(requests[0]!.model) ? last : 0; ; number++) {
      const request = requests[number]!
      const { method, body } = request
      const attempt = { method, ...this.#target(request, client), body }
      const response = await this.#send(attempt, cancellation, call, retries)
      if (number > 0 && response.status < 400) this.#remember(request.model)
      if (number === last || !REFUSED_STATUSES.has(response.status)) return response
      response.discard()
    }
  }

  #remember(model: string): void {
    if (this.#refusingModels.size >= MAXIMUM_REFUSING_MODELS) this.#refusingModels.clear()
    this.#refusingModels.add(model)
  }

  /** Requests the upstream's list of models. Sends only the allowed headers of the client. */
  models(
    client: IncomingHttpHeaders,
    cancellation: Cancellation,
    call: ForwardedCall,
  ): Promise<UpstreamResponse> {
    const attempt = {
      method: 'GET',
      ...this.#target({ target: '/models', model: '', defaults: this.#listDefaults }, client),
      body: null,
    } as const
    return this.#send(attempt, cancellation, call, this.#retries())
  }

  /** Reads the credential once per call, because it may change before the response arrives. */
  #target(
    { target, model, defaults }: Pick<PermittedRequest, 'target' | 'model' | 'defaults'>,
    client: IncomingHttpHeaders,
  ): Omit<Attempt, 'method' | 'body'> {
    const credential = this.#config.apiKey?.current() ?? null
    const isSecret = credential !== null && credential.length >= MIN_CREDENTIAL_CHARACTERS
    return {
      origin: this.#address.origin,
      path: this.#address.path(target, model),
      headers: upstreamHeaders(client, this.#config, credential, defaults),
      credential: isSecret ? credential : null,
    }
  }

  /** Closes connections as soon as their calls have ended. Calls may still begin. */
  retire(): void {
    this.#connections.retire()
  }

  /** Whether no call keeps a connection that was replaced. */
  get isIdle(): boolean {
    return this.#connections.isIdle
  }

  /** Closes all connections and aborts calls in flight. */
  close(): Promise<void> {
    return this.#connections.close()
  }

  /** The retries of one call. */
  #retries(): CallRetries {
    this.#budget.earn()
    return { left: this.#attempts, isRenewed: false }
  }

  async #send(
    attempt: Attempt,
    cancellation: Cancellation,
    call: ForwardedCall,
    retries: CallRetries,
  ): Promise<UpstreamResponse> {
    for (let number = 1; ; number++, retries.left--) {
      const mayRetry = retries.left > 0 && !cancellation.cancelled
      let delayMs: number | null
      try {
        const response = await this.#once(attempt, cancellation, call)
        delayMs =
          mayRetry && isRetried(response.status, response.headers)
            ? retryDelayMs(number, response.headers, Math.random())
            : null
        if (delayMs === null || !this.#budget.spend()) return accept(response)
        response.abort()
      } catch (error) {
        if (error instanceof GatewayError) throw error
        const failure = error as AttemptError
        const isDead = mayRetry && !retries.isRenewed && isDeadConnection(failure)
        delayMs = mayRetry && isConnectFailure(failure.code) ? retryDelayMs(number, {}, Math.random()) : null
        if (!(isDead || delayMs !== null) || !this.#budget.spend()) throw upstreamError(failure)
        if (isDead) {
          retries.isRenewed = true
          // Other kept connections may be dead too.
          this.#connections.renew()
        }
      }
      if (delayMs !== null) await pause(delayMs, cancellation)
    }
  }

  #once(attempt: Attempt, cancellation: Cancellation, call: ForwardedCall): Promise<UpstreamResponse> {
    const pending = new PendingResponse(attempt.credential)
    cancellation.onCancel(() => pending.abort())
    // A cancelled call opens no connection.
    if (!cancellation.cancelled) {
      call.attempts++
      this.#connections.dispatch(attempt, pending)
    }
    return pending.started
  }
}

/**
 * Returns a response that may be delivered.
 * @throws GatewayError `upstream_unavailable` for any other, after aborting it
 */
function accept(received: UpstreamResponse): UpstreamResponse {
  const response = decoded(received)
  const { status, headers } = response
  // The encoded body of a failure is not read.
  if (status >= 500) return response
  const isRedirect = status >= 300 && status < 400
  if (!isRedirect && !isEncoded(headers)) return response
  response.abort()
  const message = isRedirect
    ? unusableStatus(status)
    : 'The upstream used a content encoding that was not requested and is not known.'
  const cause = new UnusableAnswer(message, response)
  throw new GatewayError('upstream_unavailable', message, { cause, headers: retryHeaders(response) })
}

/** Resolves after the delay, or on cancellation. */
function pause(delayMs: number, cancellation: Cancellation): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, delayMs)
    cancellation.onCancel(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}
