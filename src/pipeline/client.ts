// What the pipeline needs of whoever called: declared here, implemented by the server around a socket.

import type { IncomingHttpHeaders } from 'node:http'
import type { Milliseconds } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import type { Cancellation } from '../upstream/forward.ts'

export interface Client extends Cancellation {
  readonly headers: IncomingHttpHeaders
  /** Monotonic time at which the request's head had been read. */
  readonly arrivedMs: Milliseconds
  /** We ended the call, not the client: the time to drain was over. */
  readonly interrupted: boolean
  /** Ends the call from our side: cancels it, whatever it waits for; its answer becomes an error. */
  interrupt(): void
  /** The listener runs once, when the answer has been written out or the client is gone. */
  onDelivered(listener: () => void): void
  /**
   * The whole request body; rejects when the call is cancelled meanwhile.
   * @param keep is told of each part before it is kept in memory; what it throws ends the reading
   * @throws GatewayError `unsupported_media_type`, `body_too_large`, `request_timeout` or `bad_request`
   */
  readBody(limitBytes: number, keep: (bytes: number) => void): Promise<Buffer>
  /** A whole answer, once. */
  respond(status: number, headers: Readonly<Record<string, string>>, body: string | Buffer): void
  /** The head of an event stream, once; then `write` and `end`. */
  startStream(headers: Readonly<Record<string, string>>): void
  /** Resolves when the client's socket takes more: a slow client slows the upstream, it does not fill memory. */
  write(text: string): Promise<void> | undefined
  end(text: string): void
  /** The error's own answer, or its event when a stream is under way; ends the exchange either way. */
  fail(error: GatewayError, headers: Readonly<Record<string, string>>): void
}

/** @throws GatewayError where nobody waits for the answer any longer */
export function assertWaiting({ cancelled }: Client): void {
  if (cancelled) throw new GatewayError('upstream_unavailable', 'The client has left.')
}
