// Entries to seal, for every test of the log.

import fc from 'fast-check'
import type { EntryDraft, RequestDraft } from '../../src/audit/entry.ts'

export const bootDraft = (signer: string): EntryDraft => ({
  type: 'boot',
  version: '0.1.0',
  clean: true,
  instance: null,
  signer,
  key_source: 'configured',
  actor: 'gateway',
})

export function requestDraft(changes: Partial<RequestDraft> = {}): RequestDraft {
  return {
    type: 'request',
    id: '01980000-0000-7000-8000-000000000001',
    created_at: '2026-03-01T12:00:00.000Z',
    model: 'openai/gpt-5',
    prompt_tokens: 12,
    completion_tokens: 30,
    total_tokens: 42,
    latency_ms: 900,
    ttft_ms: 200,
    overhead_ms: 3,
    blocked: false,
    pii_detected: false,
    pii_types: [],
    pii: [],
    key_id: '01980000-0000-7000-8000-00000000000a',
    key_name: 'batch-jobs',
    status: 200,
    outcome: 'ok',
    error_code: null,
    stream: false,
    finish_reason: 'stop',
    usage_source: 'upstream',
    cost: 1234,
    rules: [],
    injection: null,
    policy_revision: '00ff00ff00ff00ff',
    ...changes,
  }
}

const text = fc.string({ unit: 'grapheme', maxLength: 20 })

/** Any request draft that can be sealed. */
export const anyRequestDraft: fc.Arbitrary<RequestDraft> = fc
  .record({
    id: fc.uuid(),
    model: text,
    prompt_tokens: fc.maxSafeNat(),
    blocked: fc.boolean(),
    key_name: text,
    finish_reason: fc.option(text),
    cost: fc.option(fc.maxSafeNat()),
    pii: fc.array(
      fc.record({
        kind: fc.constantFrom('email', 'iban'),
        direction: fc.constantFrom('request' as const, 'response' as const),
        count: fc.nat(),
      }),
      { maxLength: 3 },
    ),
  })
  .map((changes) => requestDraft(changes))
