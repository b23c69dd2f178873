// Seals a call: its record becomes exactly one entry, its metrics and its log line.

import type { Content } from '../../audit/content.ts'
import type { RequestDraft } from '../../audit/entry.ts'
import type { Outcome } from '../../audit/entry-fields.ts'
import { stoppedBy } from '../../audit/security.ts'
import type { Clock } from '../../core/clock.ts'
import { jsonSteps } from '../../core/json-steps.ts'
import { toUsd } from '../../core/money.ts'
import { inSlices } from '../../core/steps.ts'
import type { Metrics, Phase } from '../../metrics/registry.ts'
import type { UsageMinutes } from '../../metrics/usage-minutes.ts'
import { type CaptureMode, combineCapture } from '../../policy/capture-mode.ts'
import type { Intents } from '../../store/files/intents.ts'
import type { AppendOptions } from '../../store/log/append-options.ts'
import type { Call } from '../call/call.ts'
import { type CallRecord, isAnswered } from '../call/call-record.ts'
import type { Used } from '../limits/quota.ts'
import { isLongBody } from '../prompt/memory-turn.ts'
import type { EndUsers } from './end-users.ts'
import { captureOf, draftEntry, type Ending, hasLabels } from './entry-draft.ts'
import { claimTokens, type StoredParts, settleStored } from './settle-stored.ts'
import type { Shadow } from './shadow.ts'

/** The part of the store that a call writes to. */
export interface EntryLog {
  /**
   * Reserves space for a call's exchange. The returned function releases it after sealing.
   * @throws GatewayError `audit_unavailable`
   */
  reserve(bytes: number): () => void
  /**
   * Seals an entry and stores it with its exchange and changes, all or nothing. Resolves when that
   * is durable.
   * @throws GatewayError `audit_unavailable`
   */
  append(draft: RequestDraft, options: AppendOptions): Promise<Receipt>
}

/** A client's proof that its call is in the log. */
export interface Receipt {
  readonly log: string
  readonly seq: number
  readonly hash: string
}

/** Structured logger. Fields never hold content. */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** An answer of which only the end is held back, until the entry is durable. */
export interface Delivered {
  readonly ending: Ending
  /** Sends the end. */
  finish(receipt: Receipt): void
}

/** Calls under way, as the store keeps them in case the process is killed. */
type CallIntents = Pick<Intents, 'begin' | 'sealed'>

export interface RecordParts extends StoredParts {
  readonly log: EntryLog
  readonly intents: CallIntents
  readonly metrics: Metrics
  readonly minutes: UsageMinutes
  readonly logger: Logger
  readonly clock: Clock
  /** Evaluates the shadow rules; null when there are none. */
  readonly shadow: Shadow | null
  /** What the configuration says of capturing calls. */
  readonly capture: CaptureMode
  readonly endUsers: EndUsers
}

/** A receipt as the header `x-sidegate-audit` has it. */
export const formatReceipt = ({ log, seq, hash }: Receipt): string => `${log};seq=${seq};hash=${hash}`

/** Outcomes that an operator should see without asking for debug logs. */
const FAILED: ReadonlySet<Outcome> = new Set(['upstream_error', 'interrupted', 'overloaded'])

/** Whether the text of a call is stored: what configuration, rules and key say together. */
const capturesText = (
  { capture }: Pick<RecordParts, 'capture'>,
  { key, record: { ruleCapture } }: Call,
): boolean => combineCapture(capture, ruleCapture, key.terms.capture) === 'full'

/**
 * Writes the call down before it is forwarded, and reserves space for its exchange.
 * Resolves when the intent is written.
 * @throws GatewayError `audit_unavailable`
 */
export async function recordIntent(
  parts: Pick<RecordParts, 'log' | 'intents' | 'capture'>,
  call: Call,
): Promise<void> {
  const { log, intents } = parts
  const { record: noted } = call
  call.hold(log.reserve(capturesText(parts, call) ? (noted.request?.length ?? 0) : 0))
  noted.intent = await intents.begin({
    id: call.id,
    api: call.api.name,
    key_id: call.key.id,
    key_name: call.key.name,
    ...(call.key.line !== call.key.id && { key_line: call.key.line }),
    ...(hasLabels(call.key.terms) && { labels: call.key.terms.labels }),
    model: noted.model,
    ...(noted.models.length > 1 && { models: noted.models }),
    created_at: call.createdAt,
    stream: noted.stream,
    policy_revision: noted.policyRevision,
    prompt_tokens: noted.estimatedPromptTokens,
    ...(noted.mostCost > 0 && { most_cost: noted.mostCost }),
    ...(noted.mostTokens > 0 && { most_tokens: noted.mostTokens }),
    ...(noted.run !== null && { run: noted.run }),
    ...(noted.user !== null && { user: noted.user.hash.toString('hex') }),
    ...(noted.unscanned !== null && { unscanned: noted.unscanned }),
  })
  noted.forwarded = true
}

/**
 * Seals the call. Resolves when its entry is durable; only then it is counted and logged.
 * @throws GatewayError `audit_unavailable` when it cannot be sealed
 */
export async function record(parts: RecordParts, call: Call, ending: Ending): Promise<Receipt> {
  const { record: noted } = call
  const isCaptured = capturesText(parts, call)
  const made = isCaptured && noted.request !== null ? contentOf(parts, noted.request, noted) : null
  // Most answers are short, and cost no turn.
  const content = made instanceof Promise ? await made : made
  const claim = claimTokens(parts, call)
  const isClaimed = claim instanceof Promise ? await claim : claim
  const stored = settleStored(parts, call, ending.outcome, isClaimed)
  const draft = draftEntry(call, ending, { usesTokens: stored.usesTokens, isCaptured })
  const reserved = noted.quota?.settle(usedBy(noted, draft, ending, stored.keepsReserved)) ?? []
  const startMs = parts.clock.monotonic()
  const receipt = await parts.log.append(draft, {
    ...(content !== null && { content }),
    counters: [...reserved, ...stored.charge(draft)],
    stored: stored.changes,
    user: noted.user,
  })
  parts.sharedAnswers?.sealed(call.key, stored.changes)
  // The shadow rules may hold on to the record for a while.
  noted.received = null
  noted.placeholders = null
  if (noted.intent !== null) parts.intents.sealed(noted.intent)
  const commitMs = parts.clock.monotonic() - startMs
  call.addPhase('seal', commitMs)
  count(parts, call, draft, commitMs)
  parts.shadow?.observe(call)
  logCall(parts.logger, call, draft, receipt, ending)
  return receipt
}

/**
 * Whether an upstream that may have worked on the call never said what that used, because its
 * answer did not come to its end.
 */
const isUseLost = (noted: CallRecord, { outcome }: Ending): boolean =>
  noted.isUseUnknown &&
  outcome !== 'ok' &&
  noted.forwarded &&
  noted.attempts > 0 &&
  (noted.upstreamStatus === 0 || isAnswered(noted))

/** What the limits of a call settle to. @param isLater whether another entry has its tokens */
function usedBy(noted: CallRecord, draft: RequestDraft, ending: Ending, isLater: boolean): Used {
  const { forwarded: isForwarded, mostTokens, mostCost } = noted
  const { total_tokens: tokens, completion_tokens: answerTokens, cost } = draft
  const toolCalls = noted.tools?.calls ?? 0
  if (isLater)
    return {
      tokens: mostTokens,
      answerTokens: 0,
      cost: mostCost,
      toolCalls,
      isForwarded,
      keepsReserved: false,
    }
  if (!isUseLost(noted, ending))
    return { tokens, answerTokens, cost: cost ?? 0, toolCalls, isForwarded, keepsReserved: false }
  const share = Math.min(1, mostMade(noted, draft) / mostTokens)
  return {
    tokens: Math.max(tokens, Math.ceil(share * mostTokens)),
    answerTokens: 0,
    // An answer costs no less a token than a prompt, so the share of the cost is no larger.
    cost: Math.max(cost ?? 0, Math.ceil(share * mostCost)),
    toolCalls,
    isForwarded,
    keepsReserved: share === 1,
  }
}

/** No model that costs money writes more tokens a second, hidden ones included. */
const FASTEST_TOKENS_A_SECOND = 500

/**
 * Tokens that a call took at most, whose use is lost. Providers stop a stream that is left; another
 * answer they may finish.
 */
function mostMade(
  { stream, upstreamStatus, estimatedPromptTokens }: CallRecord,
  draft: RequestDraft,
): number {
  if (!stream || upstreamStatus === 0) return Number.POSITIVE_INFINITY
  const seconds = Math.max(1, draft.latency_ms / 1000)
  return estimatedPromptTokens + Math.ceil(seconds * FASTEST_TOKENS_A_SECOND)
}

/** The exchange without the end user, whom some providers repeat in their answers. */
function contentOf(
  { endUsers, clock }: Pick<RecordParts, 'endUsers' | 'clock'>,
  request: Buffer,
  { response, received, responseBytes }: CallRecord,
): Content | Promise<Content> {
  const hidden = response === null ? null : endUsers.withoutNames(response)
  if (received !== null && hidden === response) return captureOf(request, received)
  if (!isLongBody(responseBytes)) return captureOf(request, JSON.stringify(hidden))
  return inSlices(jsonSteps(hidden), clock).then((json) => captureOf(request, json))
}

function logCall(logger: Logger, call: Call, draft: RequestDraft, receipt: Receipt, ending: Ending): void {
  const { hits, upstreamStatus, upstreamRequestId, isCountedAlone } = call.record
  const hasFailed = FAILED.has(draft.outcome)
  const fields = {
    id: draft.id,
    seq: receipt.seq,
    outcome: draft.outcome,
    status: draft.status,
    code: draft.error_code,
    cause: ending.cause,
    ...(upstreamStatus > 0 && { upstream_status: upstreamStatus }),
    ...(upstreamRequestId !== null && { upstream_request_id: upstreamRequestId }),
    key: call.key.name,
    tokens: draft.total_tokens,
    pii: draft.pii_types,
    rules: hits.map(({ rule }) => rule.name),
    ...(isCountedAlone && { limits: 'counted in this gateway alone' }),
    ms: draft.latency_ms,
  }
  if (hasFailed) logger.warn(fields, 'call failed')
  else logger.debug(fields, 'call sealed')
}

function count(
  { metrics, minutes, clock }: Pick<RecordParts, 'metrics' | 'minutes' | 'clock'>,
  call: Call,
  draft: RequestDraft,
  commitMs: number,
): void {
  const { record: noted } = call
  const elapsedMs = call.elapsedMs()
  // A client can name any model; only those that an upstream served become labels.
  const isServed = isAnswered(noted) && draft.outcome !== 'upstream_error'
  const model = isServed ? metrics.modelLabel(noted.model) : 'other'
  metrics.requests.inc({ api: call.api.name, outcome: draft.outcome, stream: String(draft.stream) })
  metrics.duration.observe({ outcome: draft.outcome }, elapsedMs / 1000)
  const { outcome, total_tokens: tokens, cost } = draft
  // Sealing included, which the entry itself cannot know.
  const addedMs = Math.max(0, elapsedMs - call.upstreamMs - call.clientMs)
  const { firstTokenMs } = call
  const stopped = stoppedBy(draft)
  minutes.addCall(clock.now(), { outcome, stopped, tokens, cost, addedMs, firstTokenMs })
  metrics.auditCommit.observe(commitMs / 1000)
  countUse(metrics, draft, model)
  for (const phase in call.phases) metrics.overhead.observe({ phase }, call.phases[phase as Phase]! / 1000)
  for (const { kind, direction, count: found } of noted.findings)
    metrics.piiFindings.inc({ kind: metrics.kindLabel(kind), direction }, found)
  for (const { rule, direction } of noted.hits) {
    metrics.ruleDecisions.inc({ rule: rule.name, action: rule.action, direction })
  }
  for (const { name, called, refused } of draft.tools ?? []) {
    if (called === 0 && refused === 0) continue
    const tool = metrics.toolLabel(name)
    if (called > 0) metrics.toolCalls.inc({ tool, decision: 'called' }, called)
    if (refused > 0) metrics.toolCalls.inc({ tool, decision: 'refused' }, refused)
  }
  if (noted.injection !== null) metrics.injectionScore.observe(noted.injection.score)
  if (call.firstTokenMs !== null) metrics.timeToFirstToken.observe(call.firstTokenMs / 1000)
  if (noted.forwarded) {
    const status = noted.upstreamStatus === 0 ? 'none' : `${Math.floor(noted.upstreamStatus / 100)}xx`
    metrics.upstreamDuration.observe({ status }, call.upstreamMs / 1000)
  }
}

/** Counts tokens and cost by model and by key. */
function countUse(metrics: Metrics, draft: RequestDraft, model: string): void {
  const { prompt_tokens, completion_tokens, cost } = draft
  const key = metrics.keyLabel(draft.key_name)
  for (const [direction, tokens] of [
    ['prompt', prompt_tokens],
    ['completion', completion_tokens],
  ] as const) {
    if (tokens === 0) continue
    metrics.tokens.inc({ direction, model }, tokens)
    if (key !== null) metrics.keyTokens.inc({ key, direction }, tokens)
  }
  if (cost === null) {
    if (draft.total_tokens > 0) metrics.unpricedRequests.inc()
    return
  }
  metrics.cost.inc({ model }, toUsd(cost))
  if (key !== null) metrics.keyCost.inc({ key }, toUsd(cost))
}
