import t from 'tap'
import { CHAT } from '../../src/chat/chat-api.ts'
import { Call } from '../../src/pipeline/call/call.ts'
import { callHeaders, formatDuration } from '../../src/pipeline/call/call-headers.ts'
import type { RuleHit } from '../../src/policy/rule.ts'
import { callKey } from '../policy/keys.ts'

t.test('formats durations as OpenAI does', async (t) => {
  const cases: [number, string][] = [
    [0, '0ms'],
    [349.2, '350ms'],
    [1000, '1s'],
    [11_200, '12s'],
    [360_000, '6m0s'],
    [3_599_000, '59m59s'],
    [3_600_000, '1h0m0s'],
    [90_061_000, '25h1m1s'],
  ]
  for (const [spanMs, text] of cases) t.equal(formatDuration(spanMs), text)
})

t.test('a call has its response headers', async (t) => {
  let nowMs = 5
  const clock = { now: () => 1_700_000_000_000 + nowMs, monotonic: () => nowMs }
  const call = new Call(clock, {
    id: 'id',
    api: CHAT,
    key: callKey('key'),
    arrivedMs: 2,
    policyRevision: 'revision',
  })
  t.equal(call.createdAtMs, 1_700_000_000_002)
  t.same(callHeaders(call), { 'x-request-id': 'id', 'server-timing': '' })
  call.measure('inspect', () => {
    nowMs += 1.5
  })
  t.throws(() =>
    call.measure('policy', () => {
      nowMs += 1
      throw new Error('refused')
    }),
  )
  call.record.forwarded = true
  call.record.attempts = 2
  await call.waitForUpstream(
    Promise.resolve().then(() => {
      nowMs += 10
    }),
  )
  const rule = (name: string): RuleHit => ({
    rule: { id: name, name, type: 'pii', action: 'redact' },
    direction: 'request',
  })
  call.record.hits.push(rule('über, all'), rule('b'), rule('b'))
  call.record.limits = [
    { unit: 'tokens', limit: 100, remaining: 40, resetMs: 61_000 },
    { unit: 'requests', limit: 5, remaining: 0, resetMs: 500 },
  ]
  t.same(callHeaders(call), {
    'x-request-id': 'id',
    'server-timing': 'inspect;dur=1.500, policy;dur=1.000, upstream;dur=10.000',
    'x-sidegate-attempts': '2',
    'x-sidegate-policy': '%C3%BCber%2C%20all,b',
    'x-ratelimit-limit-tokens': '100',
    'x-ratelimit-remaining-tokens': '40',
    'x-ratelimit-reset-tokens': '1m1s',
    'x-ratelimit-limit-requests': '5',
    'x-ratelimit-remaining-requests': '0',
    'x-ratelimit-reset-requests': '500ms',
  })
  t.equal(call.upstreamMs, 10)
  for (let n = 0; n < 300; n++) call.record.hits.push(rule(`a rule with a name of some length ${n}`))
  const names = callHeaders(call)['x-sidegate-policy'] ?? ''
  t.ok(names.length > 3900 && names.length <= 4096, 'no more than clients take')
  t.match(names, /%20length%20\d+$/, 'whole names')
})
