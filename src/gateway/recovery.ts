// Seals the calls that the last process did not finish: each gets its one entry.

import type { RequestDraft } from '../audit/entry.ts'
import { NO_TERMS } from '../core/key-terms.ts'
import { spendingOf } from '../pipeline/limits/quota.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import { unscannedMembers } from '../pipeline/record/entry-draft.ts'
import type { RuleSet } from '../policy/compile.ts'
import type { UsageLimit } from '../policy/types/rate-limit.ts'
import type { Intent, Intents, OpenIntent } from '../store/files/intents.ts'
import type { CounterChange } from '../store/limits/counter-changes.ts'
import type { Store } from '../store/store.ts'

/** Status in the entry; which one the client received is not known. */
const STATUS = 503
const ERROR_CODE = 'process_ended'

type Recovered = Pick<Store, 'log'>

/**
 * Seals each intent of the last process that has no entry. Those that cannot be sealed are kept for
 * the next start, and the failure is logged.
 */
export async function sealInterrupted(
  intents: Intents,
  store: Recovered,
  { rules, counters, metrics, logger }: Pick<Pipeline, 'rules' | 'counters' | 'metrics' | 'logger'>,
): Promise<void> {
  const seal = async (open: OpenIntent): Promise<number> => {
    const intent = open.item
    const missing = !store.log.has(intent.id)
    if (missing) {
      await store.log.append(draftOf(intent), { counters: chargesOf(intent, counters, rules()) })
      metrics.requests.inc({
        api: intent.api ?? 'chat',
        outcome: 'interrupted',
        stream: String(intent.stream),
      })
    }
    intents.sealed(open)
    return Number(missing)
  }
  const outcomes = await Promise.allSettled(intents.unfinished.map(seal))
  const calls = outcomes.reduce((sum, one) => sum + (one.status === 'fulfilled' ? one.value : 0), 0)
  const failed = outcomes.find((one) => one.status === 'rejected')
  if (calls > 0)
    logger.warn({ calls }, 'calls that the last process did not finish were sealed as interrupted')
  if (failed !== undefined) {
    logger.error(
      { err: failed.reason },
      'calls that the last process did not finish could not be sealed; the next start retries',
    )
  }
}

/** Reservations ended with the process. The limits in force now are charged instead. */
function chargesOf(
  intent: Intent,
  counters: Pick<Pipeline['counters'], 'charge'>,
  rules: RuleSet,
): CounterChange[] {
  const {
    model,
    key_id,
    key_line: line = key_id,
    key_name: name,
    labels = {},
    unscanned,
    api = 'chat',
  } = intent
  const models = unscanned === undefined ? (intent.models ?? [model]) : null
  const key = { line, terms: { ...NO_TERMS, labels } }
  const atMs = Date.parse(intent.created_at)
  const caller = { run: intent.run ?? null, user: intent.user ?? null }
  return rules
    .select(models, { name, labels }, api)
    .limits.filter(({ unit }) => unit !== 'parallel')
    .flatMap((limit) => counters.charge(spendingOf(limit, key, chargeOf(intent, limit.unit), atMs, caller)))
}

/** The upstream may have done all that the call asked for. */
function chargeOf(intent: Intent, unit: UsageLimit['unit']): number {
  const { prompt_tokens, most_tokens = prompt_tokens, most_cost = 0 } = intent
  if (unit === 'usd') return most_cost
  // At least one tool call may have been asked for.
  return unit === 'requests' || unit === 'tool_calls' ? 1 : most_tokens
}

/** Counts the prompt, which the upstream may have read. Nothing of the answer was captured. */
function draftOf(intent: Intent): RequestDraft {
  const {
    id,
    api = 'chat',
    created_at,
    model,
    key_id,
    key_name,
    labels,
    stream,
    policy_revision,
    prompt_tokens,
    unscanned,
  } = intent
  return {
    type: 'request',
    ...{ id, api, created_at, model, prompt_tokens },
    ...(unscanned !== undefined && unscannedMembers(unscanned, 0)),
    completion_tokens: 0,
    total_tokens: prompt_tokens,
    latency_ms: 0,
    ttft_ms: null,
    overhead_ms: 0,
    blocked: false,
    pii_detected: false,
    pii_types: [],
    pii: [],
    ...{ key_id, key_name, ...(labels !== undefined && { labels }) },
    status: STATUS,
    outcome: 'interrupted',
    error_code: ERROR_CODE,
    stream,
    finish_reason: null,
    usage_source: 'estimated',
    cost: null,
    rules: [],
    injection: null,
    policy_revision,
  }
}
