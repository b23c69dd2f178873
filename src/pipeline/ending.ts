// What the log and the client are told of a call that did not end as it should.

import type { Outcome } from '../audit/entry.ts'
import { type GatewayError, toGatewayError } from '../core/errors.ts'
import type { Metrics } from '../metrics/registry.ts'
import { upstreamCause } from '../upstream/response.ts'
import type { Client } from './client.ts'
import type { Ending, Logger } from './record.ts'

const OUTCOMES: Partial<Record<GatewayError['code'], Outcome>> = {
  blocked_by_policy: 'blocked',
  response_blocked_by_policy: 'blocked',
  rate_limit_exceeded: 'rate_limited',
  upstream_unavailable: 'upstream_error',
  upstream_timeout: 'upstream_error',
  overloaded: 'overloaded',
}

/** nginx's status for a client that closed its request. */
const CLIENT_CLOSED_REQUEST = 499

/** How a call ended that failed, was refused or whose client left. */
export function endingOf(failure: GatewayError, client: Client): Ending {
  // A body that breaks off is a client that left, whichever of its sides was noticed first.
  const left = client.cancelled || failure.code === 'bad_request'
  if (left && !client.interrupted)
    return { outcome: 'client_aborted', status: CLIENT_CLOSED_REQUEST, errorCode: null }
  const fallback = failure.status < 500 ? 'invalid_request' : 'interrupted'
  const outcome = OUTCOMES[failure.code] ?? fallback
  const cause = outcome === 'upstream_error' ? upstreamCause(failure) : undefined
  return { outcome, status: failure.status, errorCode: failure.code, cause }
}

/** Logs an error that nobody foresaw, and no other: those are told of with their call. */
export function reportUnforeseen(logger: Logger, id: string | undefined, error: unknown): void {
  const { code, cause } = toGatewayError(error)
  if (code === 'internal_error') logger.error({ id, err: cause }, 'unexpected error in a call')
}

/** Answers an error, and logs one that nobody foresaw. */
export function refuse(
  { logger, metrics }: { readonly logger: Logger; readonly metrics: Pick<Metrics, 'refusals'> },
  client: Client,
  error: unknown,
  headers: Record<string, string>,
): void {
  const failure = toGatewayError(error)
  if (!client.cancelled) metrics.refusals.inc({ code: failure.code })
  reportUnforeseen(logger, headers['x-request-id'], failure)
  client.fail(failure, headers)
}
