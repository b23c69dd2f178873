// Limits of shadow evaluation, for any answer of an upstream.

import t from 'tap'
import type { Clock } from '../../src/core/clock.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { toolNamed } from '../../src/core/tool-name.ts'
import { loadInjectionModel } from '../../src/detect/injection/score.ts'
import { DEFAULT_KINDS } from '../../src/detect/pii/kinds.ts'
import type { Call } from '../../src/pipeline/call/call.ts'
import type { CallRecord } from '../../src/pipeline/call/call-record.ts'
import { ScanMemory } from '../../src/pipeline/prompt/memory-turn.ts'
import { Shadow } from '../../src/pipeline/record/shadow.ts'
import type { Rule, RuleHit } from '../../src/policy/rule.ts'
import { compileRules, rule } from '../policy/rules.ts'
import { newCall, STILL_CLOCK } from './fixture.ts'

const counter = { inc: () => {} } as never
const injection = loadInjectionModel()

function trial(candidate = compileRules([], 'candidate')) {
  const errors: unknown[] = []
  let revision = 'live'
  const shadow = new Shadow({
    live: () => revision,
    candidate: () => candidate,
    kinds: DEFAULT_KINDS,
    searches: new ScanMemory(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY),
    injection,
    binaryParts: 'block',
    placeholderStyle: 'brackets',
    pseudonyms: { key: () => 'a key', inEmbeddings: true },
    metrics: { candidateCalls: counter, candidateDifferences: counter },
    clock: STILL_CLOCK as Clock,
    onError: (error) => errors.push(error),
  })
  const reload = () => {
    revision = 'reloaded'
  }
  return { shadow, errors, reload }
}

function call(response: JsonObject, responseBytes = 0): Call {
  const one = newCall(STILL_CLOCK, 'live')
  one.record.request = Buffer.from('{"model":"m","messages":[{"role":"user","content":"hi"}]}')
  one.record.response = response
  one.record.responseBytes = responseBytes
  return one
}

/** Adds fields to the record of a call. */
function noted(one: Call, fields: Partial<CallRecord>): Call {
  Object.assign(one.record, fields)
  return one
}

const turns = async (count: number) => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}

t.test('an answer that cannot be judged is skipped and reported', async (t) => {
  const { shadow, errors } = trial()
  const pieces = Array.from({ length: 200_001 }, () => 'x')
  shadow.observe(call({ choices: [{ message: { content: pieces } }] }))
  shadow.observe(call({ choices: [{ message: { content: 'fine' } }] }))
  await turns(10)
  t.match(shadow.report(), { calls: 1, skipped: 1 })
  t.match(errors, [{ message: /more than 200000 texts/ }])
})

t.test('a call from before a reload does not count', async (t) => {
  const { shadow, reload } = trial()
  const before = call({})
  reload()
  const now = () => noted(call({}), { policyRevision: 'reloaded' })
  for (const one of [now(), before, now()]) shadow.observe(one)
  await turns(10)
  t.match(shadow.report(), { calls: 2, skipped: 0 })
})

t.test('a payload that the configuration denies is denied under the candidate too', async (t) => {
  const words = { type: 'keyword_block', pattern: 'aurora', action: 'block', enabled: true } as const
  const { shadow } = trial(compileRules([{ ...words, id: 'a', name: 'aurora' }], 'candidate'))
  const part = { type: 'image_url', image_url: { url: 'https://a.example/b.png' } }
  for (const content of [[part, { type: 'text', text: 'aurora' }], 'aurora']) {
    const one = noted(call({}), { models: ['m'] })
    one.record.request = Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] }))
    shadow.observe(one)
  }
  await turns(10)
  t.match(shadow.report(), { calls: 2, changed: 1 })
})

t.test('numbers of a prompt are read as written', async (t) => {
  const cards = { type: 'pii', pattern: 'credit_card', action: 'block', enabled: true } as const
  const { shadow } = trial(compileRules([{ ...cards, id: 'c', name: 'cards' }], 'candidate'))
  const one = noted(call({}), { models: ['m'] })
  one.record.request = Buffer.from(
    '{"model":"m","messages":[{"role":"user","content":"hi"}],"n1":6011000990139424124}',
  )
  shadow.observe(one)
  await turns(10)
  t.match(shadow.report(), { calls: 1, changed: 1 })
})

t.test('texts of an answer are read as the scan reads them', async (t) => {
  const rule: Rule = {
    id: 'a',
    name: 'aurora',
    type: 'keyword_block',
    pattern: 'project\\s+aurora',
    action: 'monitor',
    enabled: true,
  }
  const { shadow } = trial(compileRules([rule], 'candidate'))
  const message = (fields: JsonObject) => ({ choices: [{ index: 0, message: fields }] })
  const json = JSON.stringify({ q: 'project\naurora' })
  const answers: [JsonObject, boolean][] = [
    [message({ content: 'project aurora' }), false],
    [message({ content: [{ text: 'project ' }, { text: 'aurora' }] as never }), false],
    [message({ content: json }), true],
    [
      message({
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: json } }] as never,
      }),
      false,
    ],
  ]
  for (const [response, asksForJson] of answers) {
    const one = noted(call(response), { asksForJson, models: ['m'] })
    const hit = {
      rule: { id: 'a', name: 'aurora', type: 'keyword_block', action: 'monitor' },
      direction: 'response',
    }
    one.record.hits.push(hit as RuleHit)
    shadow.observe(one)
  }
  await turns(20)
  t.match(shadow.report(), { calls: answers.length, changed: 0, differences: [] })
})

t.test('waiting calls are bounded by bytes, and judged calls free them', async (t) => {
  const { shadow } = trial()
  const large = 30 * 1024 ** 2
  for (let n = 0; n < 3; n++) shadow.observe(call({}, large))
  t.equal(shadow.report().skipped, 1)
  await turns(10)
  shadow.observe(call({}, large))
  await turns(10)
  t.match(shadow.report(), { calls: 3, skipped: 1 })
})

t.test('the candidate judges the tools of a call, removed ones included', async (t) => {
  const candidate = compileRules(
    [
      rule('hidden', ['*', '!shell'], { type: 'tool_access', action: 'remove' }),
      rule('no-rm', ['*', '!bash'], {
        type: 'tool_access',
        arguments: [{ path: '/command', pattern: 'rm' }],
      }),
    ],
    'candidate',
  )
  const { shadow, errors } = trial(candidate)
  const calls = [{ function: { name: 'bash', arguments: '{"command":"rm"}' } }]
  shadow.observe(
    noted(call({ choices: [{ message: { tool_calls: calls } }] }), {
      models: ['m'],
      removedTools: [toolNamed('shell')],
    }),
  )
  await turns(10)
  t.same(errors, [])
  t.match(shadow.report().differences, [
    { rule: 'hidden', direction: 'request', live: 'none', candidate: 'remove' },
    { rule: 'no-rm', direction: 'response', live: 'none', candidate: 'block' },
  ])
})
