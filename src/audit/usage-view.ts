// The usage API's view of a sealed request: a projection that computes nothing new.

import { MAXIMUM_NANO_USD, type NanoUsd, toUsd } from '../core/money.ts'
import type { Outcome, SealedRequest } from './entry.ts'

/** A usage entry of `GET /api/v1/usage/logs`, in the documented order. */
export type UsageView = {
  readonly id: string
  readonly created_at: string
  readonly model: string
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
  readonly latency_ms: number
  readonly blocked: boolean
  readonly pii_detected: boolean
  readonly pii_types: string[]
  readonly hash: string
  readonly seq: number
  readonly prev_hash: string | null
  readonly key_id: string
  readonly key_name: string
  /** Labels of the key at the time of the call. */
  readonly labels: Readonly<Record<string, string>>
  readonly status: number
  readonly outcome: Outcome
  readonly stream: boolean
  readonly finish_reason: string | null
  readonly usage_source: 'upstream' | 'estimated'
  /** In USD, or in the upstream's currency unit before version 2; null when it is not known. */
  readonly cost: number | null
  /** Who says so; null when nobody does. */
  readonly cost_source: 'upstream' | 'book' | null
  readonly ttft_ms: number | null
  readonly overhead_ms: number
  /** Each rule that fired, once even if it fired in both directions. */
  readonly rules: { readonly id: string; readonly name: string; readonly action: string }[]
  readonly policy_revision: string
  readonly content_hash: string | null
  /** The end user: a hash, or clear text if so configured; null without one, or once erased. */
  readonly user: string | null
  /** False for a call whose text was not to be stored; absent for any other. */
  readonly captured?: false
  readonly api: string
  readonly attempts?: number
  readonly upstream?: string
  /** Present for a call that was forwarded without a scan. */
  readonly unscanned?: true
  readonly method?: string
  readonly path?: string
  readonly request_bytes?: number
  readonly response_bytes?: number
  /** Absent when the upstream sent none. */
  readonly upstream_request_id?: string
}

const unscannedView = ({ method, path, request_bytes, response_bytes }: SealedRequest) => ({
  unscanned: true as const,
  ...(method !== undefined && { method }),
  ...(path !== undefined && { path }),
  ...(request_bytes !== undefined && { request_bytes }),
  ...(response_bytes !== undefined && { response_bytes }),
})

/** What a cost of an entry of version 1 counts, in 10⁻⁹. */
const FIRST_COST_UNIT = 1000

/** The sealed cost in 10⁻⁹ USD; null when it is not known. */
export function costOfEntry({ v, cost }: Pick<SealedRequest, 'v' | 'cost'>): NanoUsd | null {
  if (v !== 1 || cost === null) return cost
  const amount = cost * FIRST_COST_UNIT
  return amount <= MAXIMUM_NANO_USD ? amount : null
}

/** @param user as stored apart from the entry */
export function toUsageView(sealed: SealedRequest, user: string | null = null): UsageView {
  const cost = costOfEntry(sealed)
  const rules = new Map(sealed.rules.map(({ id, name, action }) => [id, { id, name, action }]))
  return {
    id: sealed.id,
    created_at: sealed.created_at,
    model: sealed.model,
    prompt_tokens: sealed.prompt_tokens,
    completion_tokens: sealed.completion_tokens,
    total_tokens: sealed.total_tokens,
    latency_ms: sealed.latency_ms,
    blocked: sealed.blocked,
    pii_detected: sealed.pii_detected,
    pii_types: [...sealed.pii_types],
    hash: sealed.hash,
    seq: sealed.seq,
    prev_hash: sealed.prev,
    key_id: sealed.key_id,
    key_name: sealed.key_name,
    labels: { ...sealed.labels },
    status: sealed.status,
    outcome: sealed.outcome,
    stream: sealed.stream,
    finish_reason: sealed.finish_reason,
    usage_source: sealed.usage_source,
    cost: cost === null ? null : toUsd(cost),
    cost_source: sealed.cost_source ?? (cost === null ? null : 'upstream'),
    ttft_ms: sealed.ttft_ms,
    overhead_ms: sealed.overhead_ms,
    rules: [...rules.values()],
    policy_revision: sealed.policy_revision,
    content_hash: sealed.content_hash,
    user,
    ...(sealed.captured === false && { captured: false as const }),
    api: sealed.api ?? 'chat',
    ...(sealed.attempts !== undefined && { attempts: sealed.attempts }),
    ...(sealed.upstream !== undefined && { upstream: sealed.upstream }),
    ...(sealed.unscanned && unscannedView(sealed)),
    ...(sealed.upstream_request_id !== undefined && { upstream_request_id: sealed.upstream_request_id }),
  }
}
