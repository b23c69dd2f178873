// The table of the fields of entries.

import t from 'tap'
import { DRAFTED_FIELDS } from '../../src/audit/entry-fields.ts'
import { requestDraft } from './drafts.ts'

/** The members of each entry of the first release. */
const FIRST_RELEASE = [
  ...['id', 'created_at', 'model', 'prompt_tokens', 'completion_tokens', 'total_tokens', 'latency_ms'],
  ...['blocked', 'pii_detected', 'pii_types', 'pii', 'key_id', 'key_name', 'status', 'outcome'],
  ...['error_code', 'stream', 'finish_reason', 'usage_source', 'cost', 'ttft_ms', 'overhead_ms'],
  ...['rules', 'injection', 'policy_revision'],
]

t.test('a field that entries of the first release lack is optional', async (t) => {
  const required = DRAFTED_FIELDS.filter(([, { isOptional }]) => !isOptional).map(([name]) => name)
  t.strictSame(required, FIRST_RELEASE)
  t.strictSame(Object.keys(requestDraft()).sort(), ['type', ...FIRST_RELEASE].sort())
})
