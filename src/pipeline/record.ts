// Step 6: what is known of a call becomes exactly one sealed entry, its metrics and its log line.

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
import type { Intents, OpenIntent } from '../store/folder/intents.ts'
import type { Call, InjectionJudgement } from './call.ts'
import type { Quota } from './prompt/quota.ts'
import type { Shadow } from './shadow.ts'

/** What the store must offer here. */
export interface EntryLog {
  /**
   * Keeps room for a call's exchange; what is returned gives it back once the call is sealed.
   * @throws GatewayError `audit_unavailable`
   */
  reserve(bytes: number): () => void
  /**
   * Seals and stores an entry with its content and counters, all or nothing; resolves when that is durable.
   * @throws GatewayError `audit_unavailable`
   */
  append(
    draft: RequestDraft,
    options: { readonly content?: Content; readonly counters?: readonly CounterChange[] },
  ): Promise<Receipt>
}

/** What a client keeps as proof that its call is in the log. */
export interface Receipt {
  readonly log: string
  readonly seq: number
  readonly hash: string
}

/** Structured logger; fields never hold content. */
export interface Logger {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

export interface Ending {
  readonly outcome: Outcome
  /** HTTP status the client got, 499 when it was gone. */
  readonly status: number
  readonly errorCode: string | null
  /** What failed upstream, for the log of the process alone: a code, or a sentence that names no address. */
  readonly cause?: string | undefined
}

/** What the client gets once its call is sealed. */
export interface Delivery {
  readonly ending: Ending
  /** Sends what was held back until the entry was durable. */
  finish(receipt: Receipt): void
}

/** Calls under way, as the store keeps them in case the process ends. */
type CallIntents = Pick<Intents, 'begin' | 'sealed'>

export interface RecordParts {
  readonly log: EntryLog
  readonly intents: CallIntents
  readonly metrics: Metrics
  readonly logger: Logger
  readonly clock: Clock
  /** Rules on trial; null without any. */
  readonly shadow: Shadow | null
}

/** The header form of a receipt, `x-sidegate-audit`. */
export const formatReceipt = ({ log, seq, hash }: Receipt): string => `${log};seq=${seq};hash=${hash}`

interface Tokens {
  readonly prompt: number
  readonly completion: number
  readonly source: 'upstream' | 'estimated'
}

/**
 * Seals the call. Resolves when its entry is durable, and only then counts and logs it.
 * @throws GatewayError `audit_unavailable` when it could not be sealed
 */
export async function record(
  parts: RecordParts,
  call: Call,
  quota: Quota | null,
  ending: Ending,
): Promise<Receipt> {
  const tokens = usedTokens(call, ending)
  const draft = draftEntry(call, tokens, ending)
  const counters = quota?.settle(draft.total_tokens, draft.completion_tokens) ?? []
  const startMs = parts.clock.monotonic()
  const receipt = await parts.log.append(draft, {
    ...(call.request === null ? {} : { content: capture(call.request, call) }),
    counters,
  })
  // Rules on trial may keep the call for a while.
  call.received = null
  if (call.intent !== null) parts.intents.sealed(call.intent)
  const commitMs = parts.clock.monotonic() - startMs
  call.addPhase('seal', commitMs)
  count(parts.metrics, call, draft, commitMs)
  parts.shadow?.observe(call)
  parts.logger.info(
    {
      id: draft.id,
      seq: receipt.seq,
      outcome: draft.outcome,
      status: draft.status,
      code: draft.error_code,
      cause: ending.cause,
      key: call.key.name,
      tokens: draft.total_tokens,
      pii: draft.pii_types,
      rules: call.hits.map(({ rule }) => rule.name),
      ms: draft.latency_ms,
    },
    'call sealed',
  )
  return receipt
}

/** What is known of a call before it is forwarded, should nothing more become known. */
export const intend = (intents: CallIntents, call: Call): Promise<OpenIntent> =>
  intents.begin({
    id: call.id,
    key_id: call.key.id,
    key_name: call.key.name,
    model: call.model,
    ...(call.models.length > 1 && { models: call.models }),
    created_at: call.createdAt,
    stream: call.stream,
    policy_revision: call.policyRevision,
    prompt_tokens: call.estimatedPromptTokens,
  })

const isAnswered = ({ upstreamStatus }: Call): boolean => upstreamStatus >= 200 && upstreamStatus < 300

/** As the upstream counted; estimated where it did not say; nothing where it refused or was never asked. */
function usedTokens(call: Call, ending: Ending): Tokens {
  if (call.usage !== null) {
    const { promptTokens, completionTokens } = call.usage
    return { prompt: promptTokens, completion: completionTokens, source: 'upstream' }
  }
  // Where the client left or we ended the call while the upstream was at work, that has read the prompt.
  const left = ending.outcome === 'client_aborted' || ending.outcome === 'interrupted'
  const used = isAnswered(call) || (call.forwarded && call.upstreamStatus === 0 && left)
  return {
    prompt: used ? call.estimatedPromptTokens : 0,
    completion: used ? call.estimatedCompletionTokens : 0,
    source: 'estimated',
  }
}

/** Members of what lies deeper stand in canonical order, which is sealed faster. */
function draftEntry(call: Call, tokens: Tokens, ending: Ending): RequestDraft {
  const latencyMs = call.elapsedMs()
  return {
    type: 'request',
    id: call.id,
    created_at: call.createdAt,
    model: call.model,
    prompt_tokens: tokens.prompt,
    completion_tokens: tokens.completion,
    total_tokens: call.usage?.totalTokens ?? tokens.prompt + tokens.completion,
    latency_ms: Math.round(latencyMs),
    ttft_ms: call.firstTokenMs === null ? null : Math.round(call.firstTokenMs),
    overhead_ms: Math.max(0, Math.round(latencyMs - call.upstreamMs - call.clientMs)),
    blocked: ending.outcome === 'blocked',
    pii_detected: call.findings.length > 0,
    pii_types: kindsOf(call.findings),
    pii: call.findings.map(({ kind, direction, count, action }) => ({ action, count, direction, kind })),
    key_id: call.key.id,
    key_name: call.key.name,
    status: ending.status,
    outcome: ending.outcome,
    error_code: ending.errorCode,
    stream: call.stream,
    finish_reason: call.finishReason?.slice(0, MAX_FINISH_REASON_CHARACTERS).toWellFormed() ?? null,
    usage_source: tokens.source,
    cost: call.usage?.costMicros ?? null,
    rules: call.hits.length === 0 ? [] : sealedRules(call),
    ...(call.hits.length > MAX_SEALED_RULES && { rules_omitted: call.hits.length - MAX_SEALED_RULES }),
    injection: call.injection === null ? null : sealedInjection(call.injection),
    policy_revision: call.policyRevision,
  }
}

const kindsOf = (findings: Call['findings']): PiiKind[] =>
  findings.length === 0 ? [] : [...new Set(findings.map(({ kind }) => kind))].sort()

const inThousandths = (rank: number): number => Math.round(rank * 1000)

function sealedRules({ hits, injection }: Call): SealedRule[] {
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

/** A path further on holds names that the client chose. */
const PATH_WITHOUT_NAMES = /^messages\[\d+\](?:\.content(?:\[\d+\](?:\.text)?)?)?/

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

/** The exchange after redaction, as it is kept beside the entry. */
const capture = (request: Uint8Array, { response, received }: Call): Content => [
  '{"request":',
  request,
  ',"response":',
  received ?? JSON.stringify(response),
  '}',
]

function count(metrics: Metrics, call: Call, draft: RequestDraft, commitMs: number): void {
  // Anybody can ask for a model that there is not.
  const isServed = isAnswered(call) && draft.outcome !== 'upstream_error'
  const model = isServed ? metrics.modelLabel(call.model) : 'other'
  metrics.requests.inc({ outcome: draft.outcome, stream: String(draft.stream) })
  metrics.duration.observe({ outcome: draft.outcome }, call.elapsedMs() / 1000)
  metrics.auditCommit.observe(commitMs / 1000)
  if (draft.prompt_tokens > 0) metrics.tokens.inc({ direction: 'prompt', model }, draft.prompt_tokens)
  if (draft.completion_tokens > 0)
    metrics.tokens.inc({ direction: 'completion', model }, draft.completion_tokens)
  for (const phase in call.phases) metrics.overhead.observe({ phase }, call.phases[phase as Phase]! / 1000)
  for (const { kind, direction, count: found } of call.findings)
    metrics.piiFindings.inc({ kind, direction }, found)
  for (const { rule, direction } of call.hits) {
    metrics.ruleDecisions.inc({ rule: rule.name, action: rule.action, direction })
  }
  if (call.injection !== null) metrics.injectionScore.observe(call.injection.score)
  if (call.firstTokenMs !== null) metrics.timeToFirstToken.observe(call.firstTokenMs / 1000)
  if (call.forwarded) {
    const status = call.upstreamStatus === 0 ? 'none' : `${Math.floor(call.upstreamStatus / 100)}xx`
    metrics.upstreamDuration.observe({ status }, call.upstreamMs / 1000)
  }
}
