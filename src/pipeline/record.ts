// Seals a call: its record becomes exactly one entry, its metrics and its log line.

import type { Content } from '../audit/content.ts'
import {
  MAX_FINISH_REASON_CHARACTERS,
  MAX_SEALED_RULES,
  type Outcome,
  type RequestDraft,
  type SealedInjection,
  type SealedRule,
} from '../audit/entry.ts'
import type { Clock } from '../core/clock.ts'
import type { PiiKind } from '../core/finding.ts'
import type { Metrics, Phase } from '../metrics/registry.ts'
import type { RuleHit } from '../policy/rule.ts'
import type { CounterChange } from '../store/counters.ts'
import type { Intents } from '../store/folder/intents.ts'
import type { Call } from './call.ts'
import type { CallRecord, InjectionJudgement } from './call-record.ts'
import type { Shadow } from './shadow.ts'

/** The part of the store that a call writes to. */
export interface EntryLog {
  /**
   * Reserves space for a call's exchange. The returned function releases it after sealing.
   * @throws GatewayError `audit_unavailable`
   */
  reserve(bytes: number): () => void
  /**
   * Seals an entry and stores it with its exchange and counters, all or nothing. Resolves when that
   * is durable.
   * @throws GatewayError `audit_unavailable`
   */
  append(
    draft: RequestDraft,
    options: { readonly content?: Content; readonly counters?: readonly CounterChange[] },
  ): Promise<Receipt>
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

export interface Ending {
  readonly outcome: Outcome
  /** HTTP status that the client got; 499 when it had left. */
  readonly status: number
  readonly errorCode: string | null
  /** What failed upstream, for the process log only: a code, or a sentence without addresses. */
  readonly cause?: string | undefined
}

/** An answer of which only the end is held back, until the entry is durable. */
export interface Delivered {
  readonly ending: Ending
  /** Sends the end. */
  finish(receipt: Receipt): void
}

/** Calls under way, as the store keeps them in case the process is killed. */
type CallIntents = Pick<Intents, 'begin' | 'sealed'>

export interface RecordParts {
  readonly log: EntryLog
  readonly intents: CallIntents
  readonly metrics: Metrics
  readonly logger: Logger
  readonly clock: Clock
  /** Evaluates the shadow rules; null when there are none. */
  readonly shadow: Shadow | null
}

/** A receipt as the header `x-sidegate-audit` has it. */
export const formatReceipt = ({ log, seq, hash }: Receipt): string => `${log};seq=${seq};hash=${hash}`

interface UsedTokens {
  readonly prompt: number
  readonly completion: number
  readonly total: number
  readonly source: 'upstream' | 'estimated'
}

const NO_TOKENS: UsedTokens = { prompt: 0, completion: 0, total: 0, source: 'estimated' }

/** Outcomes that an operator should see without asking for debug logs. */
const FAILED: ReadonlySet<Outcome> = new Set(['upstream_error', 'interrupted', 'overloaded'])

/**
 * Writes the call down before it is forwarded, and reserves space for its exchange.
 * Resolves when the intent is written.
 * @throws GatewayError `audit_unavailable`
 */
export async function recordIntent(
  { log, intents }: Pick<RecordParts, 'log' | 'intents'>,
  call: Call,
): Promise<void> {
  const { record: noted } = call
  call.hold(log.reserve(noted.request?.length ?? 0))
  noted.intent = await intents.begin({
    id: call.id,
    api: call.api.name,
    key_id: call.key.id,
    key_name: call.key.name,
    model: noted.model,
    ...(noted.models.length > 1 && { models: noted.models }),
    created_at: call.createdAt,
    stream: noted.stream,
    policy_revision: noted.policyRevision,
    prompt_tokens: noted.estimatedPromptTokens,
  })
  noted.forwarded = true
}

/**
 * Seals the call. Resolves when its entry is durable; only then it is counted and logged.
 * @throws GatewayError `audit_unavailable` when it cannot be sealed
 */
export async function record(parts: RecordParts, call: Call, ending: Ending): Promise<Receipt> {
  const { record: noted } = call
  const tokens = call.api.usesTokens ? usedTokens(noted, ending) : NO_TOKENS
  const draft = draftEntry(call, tokens, ending)
  const counters = noted.quota?.settle(draft.total_tokens, draft.completion_tokens) ?? []
  const startMs = parts.clock.monotonic()
  const receipt = await parts.log.append(draft, {
    ...(noted.request === null ? {} : { content: capture(noted.request, noted) }),
    counters,
  })
  // The shadow rules may hold on to the record for a while.
  noted.received = null
  if (noted.intent !== null) parts.intents.sealed(noted.intent)
  const commitMs = parts.clock.monotonic() - startMs
  call.addPhase('seal', commitMs)
  count(parts.metrics, call, draft, commitMs)
  parts.shadow?.observe(call)
  logCall(parts.logger, call, draft, receipt, ending)
  return receipt
}

function logCall(logger: Logger, call: Call, draft: RequestDraft, receipt: Receipt, ending: Ending): void {
  const { hits, upstreamStatus, upstreamRequestId } = call.record
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
    ms: draft.latency_ms,
  }
  if (hasFailed) logger.warn(fields, 'call failed')
  else logger.debug(fields, 'call sealed')
}

const isAnswered = ({ upstreamStatus }: CallRecord): boolean => upstreamStatus >= 200 && upstreamStatus < 300

/** Tokens as the upstream counted them, else estimated; none when it refused or was not asked. */
function usedTokens(noted: CallRecord, ending: Ending): UsedTokens {
  if (noted.usage !== null) {
    const { promptTokens, completionTokens, totalTokens, isEstimated = false } = noted.usage
    const source = isEstimated ? 'estimated' : 'upstream'
    return { prompt: promptTokens, completion: completionTokens, total: totalTokens, source }
  }
  // An upstream that was at work when the call ended has read the prompt.
  const left = ending.outcome === 'client_aborted' || ending.outcome === 'interrupted'
  const used = isAnswered(noted) || (noted.forwarded && noted.upstreamStatus === 0 && left)
  if (!used) return NO_TOKENS
  const { estimatedPromptTokens: prompt, estimatedCompletionTokens: completion } = noted
  return { prompt, completion, total: prompt + completion, source: 'estimated' }
}

/** Nested members are in canonical order (RFC 8785 §3.2.3), which seals faster. */
function draftEntry(call: Call, tokens: UsedTokens, ending: Ending): RequestDraft {
  const { record: noted } = call
  const latencyMs = call.elapsedMs()
  return {
    type: 'request',
    id: call.id,
    created_at: call.createdAt,
    api: call.api.name,
    attempts: noted.attempts,
    ...(noted.upstream !== null && { upstream: noted.upstream }),
    model: noted.model,
    prompt_tokens: tokens.prompt,
    completion_tokens: tokens.completion,
    total_tokens: tokens.total,
    latency_ms: Math.round(latencyMs),
    ttft_ms: call.firstTokenMs === null ? null : Math.round(call.firstTokenMs),
    overhead_ms: Math.max(0, Math.round(latencyMs - call.upstreamMs - call.clientMs)),
    blocked: ending.outcome === 'blocked',
    pii_detected: noted.findings.length > 0,
    pii_types: kindsOf(noted.findings),
    pii: noted.findings.map(({ kind, direction, count, action }) => ({ action, count, direction, kind })),
    key_id: call.key.id,
    key_name: call.key.name,
    status: ending.status,
    outcome: ending.outcome,
    error_code: ending.errorCode,
    stream: noted.stream,
    finish_reason: noted.finishReason?.slice(0, MAX_FINISH_REASON_CHARACTERS).toWellFormed() ?? null,
    usage_source: tokens.source,
    cost: noted.usage?.costMicros ?? null,
    rules: noted.hits.length === 0 ? [] : sealedRules(noted),
    ...(noted.hits.length > MAX_SEALED_RULES && { rules_omitted: noted.hits.length - MAX_SEALED_RULES }),
    injection: noted.injection === null ? null : sealedInjection(noted.injection),
    policy_revision: noted.policyRevision,
    ...(noted.upstreamRequestId !== null && { upstream_request_id: noted.upstreamRequestId }),
  }
}

const kindsOf = (findings: CallRecord['findings']): PiiKind[] =>
  findings.length === 0 ? [] : [...new Set(findings.map(({ kind }) => kind))].sort()

/** A score as the entry holds it: a whole number of thousandths. */
const inThousandths = (score: number): number => Math.round(score * 1000)

function sealedRules({ hits, injection }: CallRecord): SealedRule[] {
  const thresholds = new Map(
    injection?.rules.map(({ rule, threshold }) => [rule.id, threshold ?? injection.threshold]),
  )
  const blocks = ({ rule }: RuleHit) => Number(rule.action === 'block')
  const sealed =
    hits.length <= MAX_SEALED_RULES
      ? hits
      : hits.toSorted((a, b) => blocks(b) - blocks(a)).slice(0, MAX_SEALED_RULES)
  return sealed.map(({ rule, direction }) => {
    const { action, id, name, type } = rule
    const threshold = thresholds.get(id)
    const limit = threshold === undefined ? {} : { threshold: inThousandths(threshold) }
    return { action, direction, id, name, ...limit, type }
  })
}

/** The part of a path without names that the client chose. */
const PATH_WITHOUT_NAMES =
  /^(?:system|instructions|prompt|(?:messages|input)(?:\[\d+\])?(?:\.(?:content|output))?)(?:\[\d+\](?:\.(?:content|text))?(?:\[\d+\](?:\.text)?)?)?/

const sealedInjection = ({
  score,
  threshold,
  path,
  span,
  reasons,
  model,
}: InjectionJudgement): SealedInjection => ({
  model,
  path: PATH_WITHOUT_NAMES.exec(path)?.[0] ?? '',
  reasons,
  score: inThousandths(score),
  span: span === null ? null : { end: span.end, start: span.start },
  threshold: inThousandths(threshold),
})

/** The exchange after redaction, as it is stored with the entry. */
const capture = (request: Uint8Array, { response, received }: CallRecord): Content => [
  '{"request":',
  request,
  ',"response":',
  received ?? JSON.stringify(response),
  '}',
]

function count(metrics: Metrics, call: Call, draft: RequestDraft, commitMs: number): void {
  const { record: noted } = call
  // A client can name any model; only those that an upstream served become labels.
  const isServed = isAnswered(noted) && draft.outcome !== 'upstream_error'
  const model = isServed ? metrics.modelLabel(noted.model) : 'other'
  metrics.requests.inc({ api: call.api.name, outcome: draft.outcome, stream: String(draft.stream) })
  metrics.duration.observe({ outcome: draft.outcome }, call.elapsedMs() / 1000)
  metrics.auditCommit.observe(commitMs / 1000)
  if (draft.prompt_tokens > 0) metrics.tokens.inc({ direction: 'prompt', model }, draft.prompt_tokens)
  if (draft.completion_tokens > 0)
    metrics.tokens.inc({ direction: 'completion', model }, draft.completion_tokens)
  for (const phase in call.phases) metrics.overhead.observe({ phase }, call.phases[phase as Phase]! / 1000)
  for (const { kind, direction, count: found } of noted.findings)
    metrics.piiFindings.inc({ kind, direction }, found)
  for (const { rule, direction } of noted.hits) {
    metrics.ruleDecisions.inc({ rule: rule.name, action: rule.action, direction })
  }
  if (noted.injection !== null) metrics.injectionScore.observe(noted.injection.score)
  if (call.firstTokenMs !== null) metrics.timeToFirstToken.observe(call.firstTokenMs / 1000)
  if (noted.forwarded) {
    const status = noted.upstreamStatus === 0 ? 'none' : `${Math.floor(noted.upstreamStatus / 100)}xx`
    metrics.upstreamDuration.observe({ status }, call.upstreamMs / 1000)
  }
}
