// Security events derived from sealed requests.

import t from 'tap'
import { seal } from '../../src/audit/chain.ts'
import type { RequestDraft } from '../../src/audit/entry.ts'
import type { SealedFindings, SealedRule } from '../../src/audit/entry-fields.ts'
import { securityEvents } from '../../src/audit/security.ts'
import { requestDraft } from './drafts.ts'

const HEAD = { log: '01980000-0000-7000-8000-0000000000ff', seq: 0, hash: 'sha256:00' }
const events = (changes: Partial<RequestDraft>) =>
  securityEvents(seal(HEAD, requestDraft(changes), 0, null).entry)

const keyword: SealedRule = {
  id: 'k',
  name: 'projects',
  type: 'keyword_block',
  action: 'block',
  direction: 'request',
}
const secrets: SealedRule = { id: 's', name: 'secrets', type: 'pii', action: 'block', direction: 'response' }
const watch: SealedRule = {
  id: 'w',
  name: 'watch',
  type: 'prompt_injection',
  action: 'monitor',
  direction: 'request',
}
const limit: SealedRule = { ...keyword, id: 'l', type: 'rate_limit' }
const tools: SealedRule = { ...secrets, id: 't', type: 'tool_access', action: 'remove' }
const BLOCKED = { blocked: true, outcome: 'blocked' } as const
const finding = (kind: string, direction: 'request' | 'response', action?: string): SealedFindings => ({
  kind,
  direction,
  count: 1,
  ...(action === undefined ? {} : { action }),
})

t.test('a call without findings or rules has no events', async (t) => {
  t.strictSame(events({}), [])
})

t.test('every event field comes from the entry', async (t) => {
  const draft = requestDraft()
  t.strictSame(events({ blocked: true, rules: [keyword] }), [
    {
      id: `${draft.id}:0`,
      created_at: draft.created_at,
      type: 'blocked_request',
      direction: 'request',
      rule_id: 'k',
      rule_name: 'projects',
      rule_type: 'keyword_block',
      action: 'block',
      pii_types: [],
      injection: null,
      tools: [],
      key_id: draft.key_id,
      key_name: draft.key_name,
      model: draft.model,
      log_id: draft.id,
    },
    {
      id: `${draft.id}:1`,
      created_at: draft.created_at,
      type: 'rule_trigger',
      direction: 'request',
      rule_id: 'k',
      rule_name: 'projects',
      rule_type: 'keyword_block',
      action: 'block',
      pii_types: [],
      injection: null,
      tools: [],
      key_id: draft.key_id,
      key_name: draft.key_name,
      model: draft.model,
      log_id: draft.id,
    },
  ])
})

const CASES: [string, Partial<RequestDraft>, string[]][] = [
  [
    'one detection for each direction, redacted unless a rule differs',
    { pii: [finding('email', 'request'), finding('iban', 'request'), finding('email', 'response')] },
    ['pii_detection request redact email,iban -', 'pii_detection response redact email -'],
  ],
  ['a rule that watches is a trigger and no block', { rules: [watch] }, ['rule_trigger request monitor  w']],
  [
    'an answer blocked by a rule on personal data lists the kinds it acted on',
    {
      blocked: true,
      rules: [watch, secrets],
      pii: [finding('email', 'response', 'redact'), finding('secret', 'response', 'block')],
    },
    [
      'blocked_request response block secret s',
      'pii_detection response block email,secret s',
      'rule_trigger request monitor  w',
      'rule_trigger response block secret s',
    ],
  ],
  [
    "findings without an action take the rule's",
    { rules: [secrets], pii: [finding('secret', 'response')] },
    ['pii_detection response block secret s', 'rule_trigger response block secret s'],
  ],
  [
    'a call refused by a limit has its refusal after the events that older releases indexed',
    { outcome: 'rate_limited', error_code: 'rate_limit_exceeded', rules: [limit] },
    ['rule_trigger request block  l', 'refused_request request block  l'],
  ],
  [
    "a call refused by the key's own limit names no rule",
    { outcome: 'rate_limited', error_code: 'rate_limit_exceeded' },
    ['refused_request request block  -'],
  ],
  [
    'a call for a model that a rule does not allow is refused and not blocked',
    { ...BLOCKED, error_code: 'model_not_allowed', rules: [{ ...keyword, type: 'model_access' }, watch] },
    ['refused_request request block  k', 'rule_trigger request block  k', 'rule_trigger request monitor  w'],
  ],
  [
    'a call without a price is refused by its budget',
    { ...BLOCKED, error_code: 'price_unknown', rules: [limit] },
    ['refused_request request block  l', 'rule_trigger request block  l'],
  ],
  [
    'an answer that calls a tool is refused when only a rule on tools stopped it',
    { ...BLOCKED, error_code: 'response_blocked_by_policy', rules: [keyword, tools] },
    ['refused_request response block  t', 'rule_trigger request block  k', 'rule_trigger response remove  t'],
  ],
  [
    'an answer that a rule on content blocked is blocked, also when other rules fired',
    { ...BLOCKED, error_code: 'response_blocked_by_policy', rules: [tools, secrets] },
    [
      'blocked_request response block  s',
      'rule_trigger response remove  t',
      'rule_trigger response block  s',
    ],
  ],
  ['blocked without a rule', { blocked: true }, ['blocked_request request block  -']],
  [
    'a kind is listed once for any number of actions',
    { pii: [finding('email', 'request', 'monitor'), finding('email', 'request', 'redact')] },
    ['pii_detection request redact email -'],
  ],
]
for (const [name, changes, expected] of CASES) {
  t.test(name, async (t) => {
    const derived = events(changes)
    t.strictSame(
      derived.map((event) =>
        [event.type, event.direction, event.action, event.pii_types, event.rule_id ?? '-'].join(' '),
      ),
      expected,
    )
    t.strictSame(
      derived.map((event) => event.id),
      derived.map((event, n) => `${event.log_id}:${n}`),
    )
  })
}

t.test('events of an injection rule hold its evidence and threshold; other events do not', async (t) => {
  const injection = {
    score: 912,
    threshold: 650,
    path: 'messages[1].content',
    span: { start: 3, end: 40 },
    reasons: ['override_instructions'],
    model: 'v1',
  }
  const own: SealedRule = { ...watch, id: 'o', action: 'block', threshold: 900 }
  const derived = events({ blocked: true, rules: [keyword, watch, own], injection })
  const evidence = { ...injection, score: 0.912, threshold: 0.65 }
  t.strictSame(
    derived.map((event) => [event.type, event.rule_id, event.injection]),
    [
      ['blocked_request', 'k', null],
      ['rule_trigger', 'k', null],
      ['rule_trigger', 'w', evidence],
      ['rule_trigger', 'o', { ...evidence, threshold: 0.9 }],
    ],
  )
  t.strictSame(events({ blocked: true, rules: [own], injection })[0]?.injection?.threshold, 0.9)
  t.equal(events({ rules: [watch], injection: { ...injection, span: null } })[0]?.injection?.span, null)
})

t.test('reversibly redacted data is listed as restore, unless a stronger action was taken', async (t) => {
  const undone: SealedRule = { ...secrets, id: 'u', action: 'restore', direction: 'request' }
  const derived = events({ rules: [undone], pii: [finding('email', 'request', 'restore')] })
  t.match(derived, [
    { type: 'pii_detection', action: 'restore', rule_id: 'u', pii_types: ['email'] },
    { type: 'rule_trigger', action: 'restore', rule_id: 'u', pii_types: ['email'] },
  ])
  const both = [finding('email', 'request', 'restore'), finding('iban', 'request', 'redact')]
  t.equal(events({ rules: [undone], pii: both })[0]?.action, 'redact')
  const weaker = [finding('email', 'request', 'restore'), finding('iban', 'request', 'monitor')]
  t.equal(events({ rules: [undone], pii: weaker })[0]?.action, 'restore')
})

t.test('the events of a rule on tools name the tools that were refused', async (t) => {
  const rule = {
    ...{ id: 't', name: 'no-shell', type: 'tool_access', action: 'remove' },
    direction: 'response' as const,
  } as const
  const tools = [
    { called: 0, defined: true, name: 'read', refused: 0 },
    { called: 1, defined: true, name: 'shell', refused: 1 },
  ]
  t.match(events({ blocked: true, rules: [rule], tools }), [
    { type: 'blocked_request', rule_name: 'no-shell', direction: 'response', tools: ['shell'] },
    { type: 'rule_trigger', action: 'remove', tools: ['shell'] },
  ])
})
