// What the log and the client are told of a call that did not end as it should.

import type { Outcome } from '../audit/entry.ts'
import type { Milliseconds } from '../core/clock.ts'
import { GatewayError, toGatewayError } from '../core/errors.ts'
import type { Metrics } from '../metrics/registry.ts'
import type { RuleReference } from '../policy/rule.ts'
import { upstreamCause } from '../upstream/response.ts'
import type { Client } from './client.ts'
import type { Quota } from './prompt/quota.ts'
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

/** Beyond this an SDK's own retry would only hold the caller up. */
const LONGEST_RETRY_MS: Milliseconds = 60_000

/** For payloads that cannot be scanned. */
export const payloadRefused = (): GatewayError =>
  new GatewayError('blocked_by_policy', 'Image, audio and file payloads are not allowed (pii.binaryParts).', {
    param: 'messages',
    headers: { 'x-should-retry': 'false' },
  })

const named = (rule: RuleReference) => ({ rule_id: rule.id, rule_name: rule.name })

export const blockedBy = (rule: RuleReference): GatewayError =>
  new GatewayError('blocked_by_policy', `The request was blocked by the policy rule "${rule.name}".`, {
    headers: { 'x-should-retry': 'false' },
    extra: named(rule),
  })

export const responseBlockedBy = (rule: RuleReference): GatewayError =>
  new GatewayError(
    'response_blocked_by_policy',
    `The answer was blocked by the policy rule "${rule.name}".`,
    {
      headers: { 'x-should-retry': 'false' },
      extra: named(rule),
    },
  )

export function limited(rule: RuleReference, { retryAfterMs, neverFits }: Quota): GatewayError {
  const headers: Record<string, string> = {
    'retry-after': String(Math.max(1, Math.ceil(retryAfterMs / 1000))),
    'retry-after-ms': String(Math.max(1, Math.ceil(retryAfterMs))),
  }
  if (neverFits || retryAfterMs > LONGEST_RETRY_MS) headers['x-should-retry'] = 'false'
  return new GatewayError(
    'rate_limit_exceeded',
    neverFits
      ? `The call asks for more tokens at once, max_tokens included, than the limit "${rule.name}" allows.`
      : `The token limit "${rule.name}" is reached for this API key.`,
    {
      headers,
      extra: named(rule),
    },
  )
}
