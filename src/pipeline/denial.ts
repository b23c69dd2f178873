// The errors of step 3 and 5: what a client is told when a rule refuses its call or the answer to it.

import type { Milliseconds } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import type { RuleReference } from '../policy/rule.ts'
import type { Quota } from './quota.ts'

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
