// The caller of a request, as the pipeline needs it. The server implements it around a socket.

import type { IncomingHttpHeaders } from 'node:http'
import type { Milliseconds } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Cancellation } from '../../upstream/forward.ts'

/** A certificate that the client has shown and an authority of the configuration vouches for. */
export interface ClientCertificate {
  /** As `clientName` writes them. */
  readonly names: readonly string[]
  /** A connection may outlive it. */
  readonly expiresAtMs: Milliseconds
}

export interface Client extends Cancellation {
  readonly headers: IncomingHttpHeaders
  /** The certificate of the connection; null without a verified one. */
  readonly certificate: ClientCertificate | null
  /** Monotonic time at which the head of the request was complete. */
  readonly arrivedMs: Milliseconds
  /** True when the gateway ended the call, because the time to drain was over. */
  readonly interrupted: boolean
  /** Ends the call from the gateway's side: cancels it, and its answer becomes an error. */
  interrupt(): void
  /** The listener runs once, when the answer is written out or the client is gone. */
  onDelivered(listener: () => void): void
  /**
   * Reads the whole request body. Rejects when the call is cancelled meanwhile.
   * @param keep receives the size of each part before it is kept in memory; may throw to stop
   * @throws GatewayError `unsupported_media_type`, `body_too_large`, `request_timeout`,
   *   `bad_request`
   */
  readBody(limitBytes: number, keep: (bytes: number) => void): Promise<Buffer>
  /** Sends a whole answer, once. */
  respond(status: number, headers: Readonly<Record<string, string>>, body: string | Buffer): void
  /** Sends the head of an event stream, once; `write` and `end` follow. */
  startStream(headers: Readonly<Record<string, string>>): void
  /**
   * Writes to the stream. The promise, if there is one, resolves when the client's socket takes
   * more: a slow client slows the upstream and does not fill memory.
   */
  write(text: string): Promise<void> | undefined
  end(text: string): void
  /**
   * Answers with an error, as an event if a stream is under way. Ends the exchange either way.
   * @param number of that event, in a format whose events are numbered
   */
  fail(error: GatewayError, headers: Readonly<Record<string, string>>, number?: number): void
}

/** A caller whose body and answer may have any type. */
export interface RawClient extends Client {
  /**
   * As `readBody`, for a body of any type.
   * @throws GatewayError as `readBody`, except `unsupported_media_type`
   */
  readBytes(limitBytes: number, keep: (bytes: number) => void): Promise<Buffer>
  /** Sends the head of an answer of any type, once; `writeBytes` and `endBytes` follow. */
  startBytes(status: number, headers: Readonly<Record<string, string>>): void
  /** As `write`. */
  writeBytes(bytes: Buffer): Promise<void> | undefined
  endBytes(): void
}

/** @throws GatewayError when the client has left */
export function assertWaiting({ cancelled }: Client): void {
  if (cancelled) throw new GatewayError('upstream_unavailable', 'The client has left.')
}

/** A signal that is aborted when the client leaves. */
export function leaving(client: Client): AbortSignal {
  const controller = new AbortController()
  client.onCancel(() => controller.abort())
  return controller.signal
}
