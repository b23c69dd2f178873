// The usage view of a sealed request.

import t from 'tap'
import { seal } from '../../src/audit/chain.ts'
import { costOfEntry, toUsageView } from '../../src/audit/usage-view.ts'
import { requestDraft } from './drafts.ts'

const HEAD = { log: '01980000-0000-7000-8000-0000000000ff', seq: 6, hash: `sha256:${'0'.repeat(64)}` }

t.test('a usage entry has the documented fields in the documented order', async (t) => {
  const { entry, hash } = seal(HEAD, requestDraft(), 0, 'sha256:11')
  t.equal(
    Object.keys(toUsageView(entry)).join(' '),
    'id created_at model prompt_tokens completion_tokens total_tokens latency_ms blocked pii_detected pii_types hash ' +
      'seq prev_hash key_id key_name labels status outcome stopped stream finish_reason usage_source cost cost_source ttft_ms overhead_ms rules ' +
      'policy_revision content_hash user api',
  )
  t.match(toUsageView(entry), {
    hash,
    seq: 7,
    prev_hash: HEAD.hash,
    content_hash: 'sha256:11',
    total_tokens: 42,
  })
})

t.test('cost is in USD, with its source', async (t) => {
  t.equal(toUsageView(seal(HEAD, requestDraft({ cost: 1_234_000 }), 0, null).entry).cost, 0.001234)
  t.equal(toUsageView(seal(HEAD, requestDraft({ cost: 0 }), 0, null).entry).cost, 0)
  t.match(toUsageView(seal(HEAD, requestDraft({ cost: null }), 0, null).entry), {
    cost: null,
    cost_source: null,
  })
  const priced = requestDraft({ cost: 1, cost_source: 'book', price_revision: 'r' })
  t.match(toUsageView(seal(HEAD, priced, 0, null).entry), { cost: 1e-9, cost_source: 'book' })
})

t.test('entries of version 1 have their cost in millionths, as their upstream reported it', async (t) => {
  const { entry } = seal(HEAD, requestDraft({ cost: 1234 }), 0, null)
  t.match(toUsageView({ ...entry, v: 1 }), { cost: 0.001234, cost_source: 'upstream' })
  t.equal(costOfEntry({ v: 1, cost: 1234 }), 1_234_000)
  t.equal(costOfEntry({ v: 1, cost: null }), null)
  t.equal(costOfEntry({ v: 2, cost: 1234 }), 1234)
})

t.test('a rule that fired in both directions is listed once', async (t) => {
  const rule = { id: 'r1', name: 'pii', type: 'pii', action: 'redact' }
  const rules = [
    { ...rule, direction: 'request' as const },
    { ...rule, direction: 'response' as const },
  ]
  const { entry } = seal(HEAD, requestDraft({ rules }), 0, null)
  t.strictSame(toUsageView(entry).rules, [{ id: 'r1', name: 'pii', action: 'redact' }])
})
