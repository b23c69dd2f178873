// A usage entry as the API gives it, and the filters of the log.

import { withQuery } from './gateway-api.ts'

/** An entry of `GET /api/v1/usage/logs`. */
export interface UsageEntry {
  readonly id: string
  readonly seq: number
  readonly created_at: string
  readonly key_id: string
  readonly key_name: string
  readonly labels: Readonly<Record<string, string>>
  readonly user: string | null
  readonly api: string
  readonly model: string
  readonly outcome: string
  readonly status: number
  readonly stream: boolean
  readonly finish_reason: string | null
  readonly blocked: boolean
  readonly pii_detected: boolean
  readonly pii_types: readonly string[]
  readonly rules: readonly { readonly id: string; readonly name: string; readonly action: string }[]
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
  readonly usage_source: string
  readonly cost: number | null
  readonly cost_source: string | null
  readonly latency_ms: number
  readonly ttft_ms: number | null
  readonly overhead_ms: number
  readonly upstream?: string
  readonly attempts?: number
  readonly policy_revision: string
  readonly hash: string
  readonly prev_hash: string | null
  readonly content_hash: string | null
}

/** Parameters of the log that the page keeps in its address, as the API names them. */
export const LOG_FILTERS = [
  'key_id',
  'model',
  'outcome',
  'blocked',
  'pii_detected',
  'user',
  'since',
  'until',
] as const
export type LogFilter = (typeof LOG_FILTERS)[number]

/** Returns the filter of the calls in a period. @param begin seconds since 1970 */
export const periodFilter = (begin: number, lengthSeconds: number) => ({
  since: new Date(begin * 1000).toISOString(),
  until: new Date((begin + lengthSeconds) * 1000).toISOString(),
})

/** Returns the address of the log with a filter. */
export const logHref = (filters: Partial<Record<LogFilter, string>>): string =>
  withQuery('/console/log', { ...filters })
