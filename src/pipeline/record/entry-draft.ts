// Makes the entry of a call from its record. Stores nothing.

import type { Content } from '../../audit/content.ts'
import type { RequestDraft } from '../../audit/entry.ts'
import {
  MAXIMUM_FINISH_REASON_CHARACTERS,
  MAXIMUM_SEALED_RULES,
  type Outcome,
  type SealedInjection,
  type SealedRule,
} from '../../audit/entry-fields.ts'
import type { PiiKind } from '../../core/finding.ts'
import type { KeyTerms } from '../../core/key-terms.ts'
import type { RuleHit } from '../../policy/rule.ts'
import type { UnscannedRequest } from '../../store/files/intents.ts'
import type { Call } from '../call/call.ts'
import { type CallRecord, type InjectionJudgement, isAnswered } from '../call/call-record.ts'
import { costOfCall, UNKNOWN_COST } from './call-cost.ts'

/** How a call ended. */
export interface Ending {
  readonly outcome: Outcome
  /** HTTP status that the client got; 499 when it had left. */
  readonly status: number
  readonly errorCode: string | null
  /** What failed upstream, for the process log only: a code, or a sentence without addresses. */
  readonly cause?: string | undefined
}

interface UsedTokens {
  readonly prompt: number
  readonly completion: number
  readonly total: number
  readonly source: 'upstream' | 'estimated'
}

const NO_TOKENS: UsedTokens = { prompt: 0, completion: 0, total: 0, source: 'estimated' }

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

/** What an entry says besides the record and the ending of its call. */
interface SealedFacts {
  /** False when another entry has the tokens. */
  readonly usesTokens: boolean
  /** False when no text of the call is stored. */
  readonly isCaptured: boolean
}

/**
 * Makes the entry of a call. Nested members are in canonical order (RFC 8785 §3.2.3), which seals
 * faster.
 */
export function draftEntry(
  call: Call,
  ending: Ending,
  { usesTokens, isCaptured }: SealedFacts,
): RequestDraft {
  const { record: noted } = call
  const tokens = call.api.usesTokens && usesTokens ? usedTokens(noted, ending) : NO_TOKENS
  const latencyMs = call.elapsedMs()
  return {
    type: 'request',
    id: call.id,
    created_at: call.createdAt,
    api: call.api.name,
    attempts: noted.attempts,
    ...(noted.upstream !== null && { upstream: noted.upstream }),
    ...(noted.unscanned !== null && unscannedMembers(noted.unscanned, noted.responseBytes)),
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
    ...(hasLabels(call.key.terms) && { labels: call.key.terms.labels }),
    status: ending.status,
    outcome: ending.outcome,
    error_code: ending.errorCode,
    stream: noted.stream,
    finish_reason: noted.finishReason?.slice(0, MAXIMUM_FINISH_REASON_CHARACTERS).toWellFormed() ?? null,
    usage_source: tokens.source,
    ...(tokens === NO_TOKENS ? UNKNOWN_COST : costOfCall(noted, tokens)),
    rules: noted.hits.length === 0 ? [] : sealedRules(noted),
    ...(noted.hits.length > MAXIMUM_SEALED_RULES && {
      rules_omitted: noted.hits.length - MAXIMUM_SEALED_RULES,
    }),
    ...(noted.run !== null && { run: noted.run }),
    ...(noted.tools !== null && { tools: noted.tools.sealed() }),
    injection: noted.injection === null ? null : sealedInjection(noted.injection),
    policy_revision: noted.policyRevision,
    ...(!isCaptured && { captured: false as const }),
    ...(noted.user !== null && { has_user: true as const }),
    ...(noted.upstreamRequestId !== null && { upstream_request_id: noted.upstreamRequestId }),
  }
}

/** Reports whether a key has labels, without a list of them. */
export function hasLabels({ labels }: KeyTerms): boolean {
  for (const _ in labels) return true
  return false
}

/** The members of the entry of a call that is not scanned. */
export const unscannedMembers = (
  { method, path, requestBytes }: UnscannedRequest,
  responseBytes: number,
): Pick<RequestDraft, 'unscanned' | 'method' | 'path' | 'request_bytes' | 'response_bytes'> => ({
  unscanned: true,
  method,
  path,
  request_bytes: requestBytes,
  response_bytes: responseBytes,
})

const kindsOf = (findings: CallRecord['findings']): PiiKind[] =>
  findings.length === 0 ? [] : [...new Set(findings.map(({ kind }) => kind))].sort()

/** A score as the entry holds it: a whole number of thousandths. */
const inThousandths = (score: number): number => Math.round(score * 1000)

function sealedRules({ hits, injection }: CallRecord): SealedRule[] {
  const thresholds = new Map(
    injection?.rules.map(({ rule, threshold }) => [rule.id, threshold ?? injection.threshold]),
  )
  const blocks = ({ rule }: RuleHit) => Number(rule.action === 'block' || rule.action === 'remove')
  const sealed =
    hits.length <= MAXIMUM_SEALED_RULES
      ? hits
      : hits.toSorted((a, b) => blocks(b) - blocks(a)).slice(0, MAXIMUM_SEALED_RULES)
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

/** The exchange after redaction, as it is stored with the entry. Both are JSON. */
export const captureOf = (request: Uint8Array, response: string | Uint8Array): Content => [
  '{"request":',
  request,
  ',"response":',
  response,
  '}',
]
