// How a call that fails, is denied or loses its client appears in the log and to the client.

import type { Milliseconds } from '../../core/clock.ts'
import { ERRORS, GatewayError, toGatewayError } from '../../core/errors.ts'
import { visible } from '../../core/hidden-characters.ts'
import { formatUsd } from '../../core/money.ts'
import { isoTime } from '../../core/time.ts'
import type { Metrics } from '../../metrics/registry.ts'
import type { ModelDenial, ToolDenial } from '../../policy/decide.ts'
import { RUN_WINDOW } from '../../policy/limit.ts'
import { describeScope } from '../../policy/limit-scope.ts'
import type { RuleReference } from '../../policy/rule.ts'
import type { RefusedTool } from '../../policy/tool-rules.ts'
import { upstreamCause } from '../../upstream/response.ts'
import type { Client } from '../call/client.ts'
import { RUN_HEADER } from '../call/run-names.ts'
import type { Quota, Refusal } from '../limits/quota.ts'
import type { PromptDenial } from '../prompt/decide-prompt.ts'
import type { Ending } from './entry-draft.ts'
import type { Logger } from './record.ts'

/** The status that nginx logs for a client that closed its request. */
const CLIENT_CLOSED_REQUEST = 499

const SECOND_MS: Milliseconds = 1000
const MINUTE_MS: Milliseconds = 60_000
const DAY_MS: Milliseconds = 86_400_000

/** The longest wait for which an SDK should retry on its own; beyond it the caller decides. */
const LONGEST_RETRY_MS: Milliseconds = 60_000

/** The ending of a call that failed, was denied or lost its client. */
export function endingOf(failure: GatewayError, client: Client): Ending {
  const { outcome } = ERRORS[failure.code]
  const left = client.cancelled || outcome === 'client_aborted'
  if (left && !client.interrupted)
    return { outcome: 'client_aborted', status: CLIENT_CLOSED_REQUEST, errorCode: null }
  const cause = outcome === 'upstream_error' ? upstreamCause(failure) : undefined
  return { outcome, status: failure.status, errorCode: failure.code, cause }
}

/** Logs an unexpected error. Expected ones are part of the line that their call logs. */
export function reportUnexpected(logger: Logger, id: string | undefined, error: unknown): void {
  const { code, cause } = toGatewayError(error)
  if (code === 'internal_error') logger.error({ id, err: cause }, 'unexpected error in a call')
}

/**
 * Answers with an error and counts it; logs it when it is unexpected.
 * @param number as in Client.fail
 */
export function refuse(
  { logger, metrics }: { readonly logger: Logger; readonly metrics: Pick<Metrics, 'refusals'> },
  client: Client,
  error: unknown,
  headers: Record<string, string>,
  number = 0,
): void {
  const failure = toGatewayError(error)
  if (!client.cancelled) metrics.refusals.inc({ code: failure.code })
  reportUnexpected(logger, headers['x-request-id'], failure)
  client.fail(failure, headers, number)
}

/**
 * The error of a denied prompt.
 * @param quota the call's limits; null when none was asked
 * @param callId spreads the retries of calls that are refused at one moment
 * @param place path of the text that a rule blocks, which a client may send again in every turn;
 *   null when it is not known
 */
export function denialError(
  denial: PromptDenial,
  quota: Quota | null,
  callId: string,
  place: string | null = null,
): GatewayError {
  if (denial.reason === 'payload')
    return new GatewayError(
      'blocked_by_policy',
      'Image, audio and file payloads are not allowed (pii.binaryParts).',
      { param: 'messages', headers: { 'x-should-retry': 'false' } },
    )
  if (denial.reason === 'blocked')
    return blocked('blocked_by_policy', denial.rule, 'The request was blocked by the policy rule', place)
  if (denial.reason === 'tool_not_allowed') return toolRefused(denial)
  return denial.reason === 'model_not_allowed' ? modelRefused(denial) : limited(quota!.refusal!, callId)
}

/** Names what is allowed, so that the caller can choose. */
function modelRefused({ rule, model, globs }: ModelDenial): GatewayError {
  const by = rule === null ? 'This API key' : `The policy rule "${rule.name}"`
  const allowed = globs.length === 0 ? 'none' : globs.join(', ')
  return new GatewayError(
    'model_not_allowed',
    model === null
      ? `${by} allows only some models, and a call that is not scanned may be for any; allowed: ${allowed}.`
      : `${by} does not allow the model "${model}"; allowed: ${allowed}.`,
    {
      ...(model !== null && { param: 'model' }),
      headers: { 'x-should-retry': 'false' },
      ...(rule !== null && { extra: named(rule) }),
    },
  )
}

const toolRefused = ({ rule, tool }: ToolDenial): GatewayError =>
  new GatewayError(
    'tool_not_allowed',
    `The policy rule "${rule.name}" does not allow the tool ${shownTool(tool)}; leave it out of the request.`,
    { param: 'tools', headers: { 'x-should-retry': 'false' }, extra: named(rule) },
  )

/** Longest name of a tool that a message repeats, UTF-16 units. */
const MAXIMUM_SHOWN_CHARACTERS = 128

const shownTool = (name: string): string => `"${visible(name.slice(0, MAXIMUM_SHOWN_CHARACTERS))}"`

/** The error of an answer that calls a tool which a rule refuses. */
export const toolCallRefused = ({ rule, tool }: RefusedTool): GatewayError =>
  new GatewayError(
    'response_blocked_by_policy',
    `The answer was blocked by the policy rule "${rule.name}" because it calls the tool ${shownTool(tool)}.`,
    { headers: { 'x-should-retry': 'false' }, extra: named(rule) },
  )

/** The error of a background call whose answer could not be restored when it is fetched. */
export const restoreInBackground = (): GatewayError =>
  new GatewayError(
    'invalid_parameter',
    'background: a `restore` rule replaced values of this call, and they are kept only until the call ends, so an answer that is fetched later would have placeholders. Leave `background` out.',
    { param: 'background', headers: { 'x-should-retry': 'false' } },
  )

export const responseBlockedBy = (rule: RuleReference): GatewayError =>
  blocked('response_blocked_by_policy', rule, 'The answer was blocked by the policy rule')

const blocked = (
  code: 'blocked_by_policy' | 'response_blocked_by_policy',
  rule: RuleReference,
  message: string,
  place: string | null = null,
): GatewayError =>
  new GatewayError(code, `${message} "${rule.name}"${place === null ? '' : ` because of ${place}`}.`, {
    ...(place !== null && { param: place }),
    headers: { 'x-should-retry': 'false' },
    extra: named(rule),
  })

const named = (rule: RuleReference) => ({ rule_id: rule.id, rule_name: rule.name })

/** The error of a call that a limit refuses. */
function limited(refusal: Refusal, callId: string): GatewayError {
  const { limit, neverFits } = refusal
  const { rule, unit, scope, amount } = limit
  if (rule !== null && refusal.hasNoPrice) return priceUnknown(rule)
  if (rule !== null && refusal.isRunOver) return runOver(refusal, rule)
  const headers = neverFits ? { 'x-should-retry': 'false' } : retryHeadersOf(refusal, callId)
  if (rule === null) {
    const calls = amount === 1 ? '1 call' : `${amount} calls`
    const own = `This API key allows ${calls} at a time (max_parallel)`
    const message = refusal.isAway ? awayMessage(refusal, KEY_LIMIT) : `${own}; wait for one to end.`
    return new GatewayError('rate_limit_exceeded', message, { headers })
  }
  if (unit === 'usd')
    return new GatewayError('budget_exceeded', budgetMessage(refusal, rule), { headers, extra: named(rule) })
  const isShared = unit === 'tokens' || unit === 'tool_calls'
  if (refusal.isAway) {
    const message = awayMessage(refusal, `the ${UNITS[unit]} limit "${rule.name}"`)
    return new GatewayError('rate_limit_exceeded', message, { headers, extra: named(rule) })
  }
  const held = refusal.isHeld && isShared ? ', by what running calls may use' : ''
  const message = neverFits
    ? `The call asks for more tokens, max_tokens included, than the limit "${rule.name}" allows in a whole window.`
    : `The ${UNITS[unit]} limit "${rule.name}" is reached for ${describeScope(scope)}${held}.`
  return new GatewayError('rate_limit_exceeded', message, { headers, extra: named(rule) })
}

/** The error of a call whose run has used up a limit. It names no time, because no wait helps. */
function runOver({ limit: { unit, amount }, hasRun }: Refusal, rule: RuleReference): GatewayError {
  const [code, state] =
    unit === 'usd'
      ? (['budget_exceeded', `The budget "${rule.name}" of ${formatUsd(amount)} USD is used up`] as const)
      : (['rate_limit_exceeded', `The ${UNITS[unit]} limit "${rule.name}" is reached`] as const)
  const next = hasRun
    ? 'for this run; begin another run.'
    : `for the calls of this API key that name no run; name each run in ${RUN_HEADER}.`
  return new GatewayError(code, `${state} ${next}`, {
    headers: { 'x-should-retry': 'false' },
    extra: named(rule),
  })
}

/** The limit of a key in messages. */
const KEY_LIMIT = 'the calls at a time of this API key (max_parallel)'

/** For a call that may be within the limit over the fleet. */
const awayMessage = ({ isAlone }: Refusal, limit: string): string =>
  isAlone
    ? `No hub answers, and this gateway, which counts ${limit} alone meanwhile, has too little left of it; try again soon.`
    : `No hub answers in time, and what this gateway may use of ${limit} without one does not cover the call; try again soon.`

/** When to try again. By then the call fits, even if running calls use all that they reserved. */
function retryHeadersOf({ retryAfterMs, isHeld }: Refusal, callId: string): Record<string, string> {
  const spreadMs = Math.min(retryAfterMs * RETRY_SPREAD, MAXIMUM_SPREAD_MS)
  const waitMs = retryAfterMs + spreadMs * shareOf(callId)
  return {
    'retry-after': String(Math.max(1, Math.ceil(waitMs / 1000))),
    'retry-after-ms': String(Math.max(1, Math.ceil(waitMs))),
    // A running call may end at any moment, so that an SDK may try earlier.
    ...(waitMs > LONGEST_RETRY_MS && !isHeld && { 'x-should-retry': 'false' }),
  }
}

/** Part of a wait that is added at most, so that many clients do not return at one moment. */
const RETRY_SPREAD = 0.1
const MAXIMUM_SPREAD_MS: Milliseconds = 60_000

/** A number from 0 to 1 out of the random end of a UUIDv7. */
const shareOf = (callId: string): number => Number.parseInt(callId.slice(-8), 16) / 0xffffffff || 0

const priceUnknown = (rule: RuleReference): GatewayError =>
  new GatewayError(
    'price_unknown',
    `The model has no price, so that the budget "${rule.name}" cannot count it; add the model to the price book.`,
    { param: 'model', headers: { 'x-should-retry': 'false' }, extra: named(rule) },
  )

function budgetMessage(refusal: Refusal, { name }: RuleReference): string {
  const { limit, retryAfterMs, isHeld, neverFits, nowMs, isAway } = refusal
  const amount = `${formatUsd(limit.amount)} USD`
  if (neverFits)
    return `The call may cost more, max_tokens included, than the budget "${name}" of ${amount} allows in a whole window.`
  if (isAway) return awayMessage(refusal, `the budget "${name}" of ${amount}`)
  const state = isHeld ? 'is used up by what running calls may cost' : 'is used up'
  const used = `The budget "${name}" of ${amount} ${state} for ${describeScope(limit.scope)}`
  if (limit.windowMs === RUN_WINDOW) return `${used}; wait for one to end.`
  const endMs = nowMs + retryAfterMs
  return `${used} until ${limit.windowMs < DAY_MS ? isoSecond(endMs) : isoDay(endMs)}.`
}

/** The clock of the counts differs by some milliseconds, and windows may end at midnight. */
const isoDay = (endMs: Milliseconds): string =>
  isoTime(Math.ceil(endMs / MINUTE_MS) * MINUTE_MS).slice(0, 'YYYY-MM-DD'.length)

const isoSecond = (endMs: Milliseconds): string =>
  `${isoTime(Math.ceil(endMs / SECOND_MS) * SECOND_MS).slice(0, 'YYYY-MM-DDTHH:MM:SS'.length)}Z`

/** Units as messages name them. */
const UNITS = {
  ...{ tokens: 'token', requests: 'request', parallel: 'parallel call' },
  tool_calls: 'tool call',
} as const
