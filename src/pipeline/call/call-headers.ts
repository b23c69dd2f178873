// The response headers that every answer to a call carries, success or error.

import type { Milliseconds } from '../../core/clock.ts'
import type { Phase } from '../../metrics/registry.ts'
import type { Call } from './call.ts'
import type { CallRecord } from './call-record.ts'

/** Longest `x-sidegate-policy`: common clients refuse more than 16 KiB of headers in all. */
const MAXIMUM_POLICY_CHARACTERS = 4096

/** Whether the answer to a call has `x-ratelimit-*` of the gateway's own. */
export const hasLimits = ({ record }: Call): boolean => record.limits.length > 0

/**
 * `x-request-id`, `server-timing`, and where they apply `x-sidegate-policy`, `x-ratelimit-*`,
 * `x-sidegate-upstream`, `x-sidegate-attempts`, `x-upstream-request-id` and `request-id`.
 */
export function callHeaders(call: Call): Record<string, string> {
  const { hits, limits } = call.record
  const headers: Record<string, string> = {
    'x-request-id': call.id,
    'server-timing': serverTiming(call),
    ...(call.api.family === 'anthropic' && { 'request-id': call.id }),
    ...forwardedHeaders(call.record),
  }
  if (hits.length > 0) headers['x-sidegate-policy'] = policyNames(call)
  for (const { unit, limit, remaining, resetMs } of limits) {
    headers[`x-ratelimit-limit-${unit}`] = String(limit)
    headers[`x-ratelimit-remaining-${unit}`] = String(remaining)
    headers[`x-ratelimit-reset-${unit}`] = formatDuration(resetMs)
  }
  return headers
}

/**
 * `x-sidegate-upstream` and `x-sidegate-attempts` once there was one, and the upstream's id if it
 * gave one: as `x-upstream-request-id`, and as `request-id`, which Anthropic's clients read.
 */
export const forwardedHeaders = ({
  attempts,
  upstream,
  upstreamRequestId: id,
}: Pick<CallRecord, 'attempts' | 'upstream' | 'upstreamRequestId'>): Record<string, string> => ({
  ...(upstream !== null && { 'x-sidegate-upstream': upstream }),
  ...(attempts > 0 && { 'x-sidegate-attempts': String(attempts) }),
  ...(id !== null && { 'x-upstream-request-id': id, 'request-id': id }),
})

/** Names of the rules that fired, percent-encoded, as many as fit. */
function policyNames({ record: { hits } }: Call): string {
  let names = ''
  for (const name of new Set(hits.map(({ rule }) => encodeURIComponent(rule.name)))) {
    if (names.length + name.length >= MAXIMUM_POLICY_CHARACTERS) break
    names += names === '' ? name : `,${name}`
  }
  return names
}

/** W3C Server Timing: each phase in milliseconds. */
function serverTiming(call: Call): string {
  let timing = ''
  for (const phase in call.phases)
    timing += `${timing === '' ? '' : ', '}${phase};dur=${formatMs(call.phases[phase as Phase]!)}`
  return call.record.forwarded ? `${timing}, upstream;dur=${formatMs(call.upstreamMs)}` : timing
}

/** Same as `toFixed(3)`, which takes longer than the rest of the header. */
function formatMs(spanMs: Milliseconds): string {
  const thousandths = Math.round(spanMs * 1000)
  const whole = Math.floor(thousandths / 1000)
  const rest = thousandths - whole * 1000
  return `${whole}.${rest < 10 ? '00' : rest < 100 ? '0' : ''}${rest}`
}

/** A duration as OpenAI's rate limit headers write it: `350ms`, `12s`, `6m0s`, `1h0m0s`. */
export function formatDuration(spanMs: Milliseconds): string {
  if (spanMs < 1000) return `${Math.ceil(spanMs)}ms`
  const seconds = Math.ceil(spanMs / 1000)
  if (seconds < 60) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes}m${seconds % 60}s`
  return `${Math.floor(minutes / 60)}h${minutes % 60}m${seconds % 60}s`
}
