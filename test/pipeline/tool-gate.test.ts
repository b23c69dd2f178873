// Tool calls in streams: refused by name and by arguments, held no longer than needed, and the same
// however a stream is cut.

import fc from 'fast-check'
import t from 'tap'
import type { Api } from '../../src/chat/api-format.ts'
import { CHAT } from '../../src/chat/chat-api.ts'
import { MESSAGES } from '../../src/chat/messages/messages-api.ts'
import { RESPONSES } from '../../src/chat/responses/responses-api.ts'
import { atOnce } from '../../src/core/steps.ts'
import type { Rule } from '../../src/policy/rule.ts'
import { NO_TOOLS } from '../../src/policy/tool-rules.ts'
import { rule } from '../policy/rules.ts'
import { cutText, deliverWhole, END, event, relay, SHAPED_SCAN, selectRules } from './fixture.ts'

const tools = (name: string, pattern: string[], more: Partial<Rule> = {}) =>
  rule(name, pattern, { type: 'tool_access', ...more })
const callsOf = (...rules: Rule[]) => atOnce(selectRules(rules).tools!.judge(NO_TOOLS, null)).calls!

const NO_RM = callsOf(
  tools('no-rm', ['*', '!bash'], { arguments: [{ path: '/command', pattern: '\\brm\\b' }] }),
)
const NO_BASH = callsOf(tools('no-bash', ['*', '!bash']))
const SEEN = callsOf(
  tools('seen', ['*', '!bash'], { action: 'monitor', arguments: [{ path: '/command', pattern: 'rm' }] }),
)

const named = (data: any) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`

interface Called {
  readonly name: string
  readonly pieces: readonly string[]
}

interface Format {
  readonly api: Api
  /** A stream of a text, calls and, where the API has it, a text after them. */
  readonly stream: (calls: readonly Called[]) => string[]
  /** Texts and calls of a stream as a client joins them. */
  readonly join: (events: any[]) => { text: string; calls: [name: string, args: string][] }
}

const FORMATS: readonly Format[] = [
  {
    api: CHAT,
    stream: (calls) => [
      event({ delta: { role: 'assistant', content: 'Let me look.' } }),
      ...calls.flatMap(({ name, pieces }, index) => [
        event({
          delta: {
            tool_calls: [{ index, id: `c${index}`, type: 'function', function: { name, arguments: '' } }],
          },
        }),
        ...pieces.map((piece) =>
          event({ delta: { tool_calls: [{ index, function: { arguments: piece } }] } }),
        ),
      ]),
      ...END,
    ],
    join: (events) => {
      const calls: [string, string][] = []
      let text = ''
      for (const { choices } of events) {
        text += choices?.[0]?.delta?.content ?? ''
        for (const { index, function: f = {} } of choices?.[0]?.delta?.tool_calls ?? []) {
          calls[index] ??= ['', '']
          calls[index][0] += f.name ?? ''
          calls[index][1] += f.arguments ?? ''
        }
      }
      return { text, calls: calls.filter(Boolean) }
    },
  },
  {
    api: MESSAGES,
    stream: (calls) => [
      named({
        type: 'message_start',
        message: { id: 'm', role: 'assistant', content: [], usage: {} },
      }),
      named({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
      named({
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'text_delta', text: 'Let me look.' },
      }),
      named({ type: 'content_block_stop', index: 0 }),
      ...calls.flatMap(({ name, pieces }, at) => [
        named({
          type: 'content_block_start',
          index: at + 1,
          content_block: { type: 'tool_use', id: `c${at}`, name, input: {} },
        }),
        ...pieces.map((partial_json) =>
          named({
            type: 'content_block_delta',
            index: at + 1,
            delta: { type: 'input_json_delta', partial_json },
          }),
        ),
        named({ type: 'content_block_stop', index: at + 1 }),
      ]),
      named({ type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: {} }),
      named({ type: 'message_stop' }),
    ],
    join: (events) => {
      const calls: [string, string][] = []
      let text = ''
      for (const { type, index, delta, content_block: block } of events) {
        if (type === 'content_block_start' && block.type === 'tool_use') calls[index] = [block.name, '']
        text += delta?.text ?? ''
        if (delta?.partial_json !== undefined) calls[index]![1] += delta.partial_json
      }
      return { text, calls: calls.filter(Boolean) }
    },
  },
  {
    api: RESPONSES,
    stream: (calls) => {
      const items = calls.map(({ name, pieces }, at) => ({
        ...{ type: 'function_call', id: `f${at}`, call_id: `c${at}`, name, arguments: pieces.join('') },
      }))
      const message = { type: 'message', id: 'm', content: [{ type: 'output_text', text: 'Let me look.' }] }
      const part = { item_id: 'm', output_index: 0, content_index: 0 }
      const list = [
        { type: 'response.created', response: { id: 'r', status: 'in_progress', output: [] } },
        { type: 'response.output_item.added', output_index: 0, item: { ...message, content: [] } },
        { type: 'response.output_text.delta', ...part, delta: 'Let me look.' },
        { type: 'response.output_text.done', ...part, text: 'Let me look.' },
        { type: 'response.output_item.done', output_index: 0, item: message },
        ...items.flatMap((item, at) => {
          const place = { item_id: item.id, output_index: at + 1 }
          return [
            { type: 'response.output_item.added', output_index: at + 1, item: { ...item, arguments: '' } },
            ...calls[at]!.pieces.map((delta) => ({
              type: 'response.function_call_arguments.delta',
              ...place,
              delta,
            })),
            { type: 'response.function_call_arguments.done', ...place, arguments: item.arguments },
            { type: 'response.output_item.done', output_index: at + 1, item },
          ]
        }),
        {
          type: 'response.completed',
          response: { id: 'r', status: 'completed', output: [message, ...items] },
        },
      ]
      return list.map((one, sequence_number) => named({ ...one, sequence_number }))
    },
    join: (events) => {
      const calls: [string, string][] = []
      let text = ''
      for (const { type, output_index: at, delta, item } of events) {
        if (type === 'response.output_item.added' && item.type === 'function_call')
          calls[at] = [item.name, '']
        if (type === 'response.output_text.delta') text += delta
        if (type === 'response.function_call_arguments.delta') calls[at]![1] += delta
      }
      return { text, calls: calls.filter(Boolean) }
    },
  },
]

const eventsIn = (stream: string): any[] =>
  [...stream.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data!))

const LIST = { name: 'bash', pieces: ['{"comm', 'and":"', 'ls"}'] }
const DELETE = { name: 'bash', pieces: ['{"comm', 'and":"r', 'm -rf /"}'] }
const READ = { name: 'read', pieces: ['{"path"', ':"rm"}'] }

for (const { api, stream, join } of FORMATS) {
  const relayed = (calls: readonly Called[], rules = NO_RM) => relay(stream(calls), { api, calls: rules })
  const joined = (text: string) => join(eventsIn(text))

  t.test(`${api.name}: calls that no rule refuses pass as they are`, async (t) => {
    for (const rules of [NO_RM, NO_BASH, SEEN]) {
      const { stream: sent, failure } = await relayed([READ], rules)
      t.equal(failure, '')
      t.equal(sent, (await relay(stream([READ]), { api })).stream, 'byte for byte')
    }
    const { stream: sent, failure, hits } = await relayed([LIST, READ])
    t.equal(failure, '')
    t.same(hits, [])
    t.same(joined(sent), joined(stream([LIST, READ]).join('')))
  })

  t.test(`${api.name}: a call refused by its name never leaves`, async (t) => {
    const { stream: sent, failure, hits, tools } = await relayed([READ, LIST], NO_BASH)
    t.equal(failure, 'response_blocked_by_policy')
    t.match(hits, [{ rule: { name: 'no-bash' }, direction: 'response' }])
    t.same(joined(sent), { text: 'Let me look.', calls: [['read', '{"path":"rm"}']] })
    t.match(sent, 'no-bash')
    t.match(sent, 'bash')
    t.same(tools, [
      { name: 'read', defined: false, called: 1, refused: 0 },
      { name: 'bash', defined: false, called: 1, refused: 1 },
    ])
  })

  t.test(
    `${api.name}: a call refused by its arguments never leaves, and what came before stays`,
    async (t) => {
      const { stream: sent, failure, tools } = await relayed([LIST, DELETE, READ])
      t.equal(failure, 'response_blocked_by_policy')
      t.same(joined(sent), { text: 'Let me look.', calls: [['bash', '{"command":"ls"}']] })
      t.notMatch(sent, /rm -rf|DONE|message_stop|response\.completed/)
      t.match(tools, [{ name: 'bash', called: 2, refused: 1 }])
    },
  )

  t.test(`${api.name}: a rule that monitors arguments holds nothing and reports the call`, async (t) => {
    const { sent, failure, hits } = await relayed([DELETE], SEEN)
    t.equal(failure, '')
    t.match(hits, [{ rule: { name: 'seen' } }])
    t.same(sent, (await relay(stream([DELETE]), { api })).sent)
  })

  t.test(`${api.name}: only the events of the call wait, and the text before it leaves`, async (t) => {
    const events = stream([LIST, READ])
    const at = events.findIndex((one) => one.includes('bash'))
    const { sent } = await relay(events.slice(0, at + 1), { api, calls: NO_RM })
    t.equal(joined(sent.join('')).text, 'Let me look.')
    t.notMatch(sent.join(''), 'bash')
  })

  t.test(`${api.name}: arguments that are not JSON, ambiguous or too long are refused`, async (t) => {
    for (const text of [
      '{"command":',
      '{"command":"rm","command":"ls"}',
      '[{"command":"rm","command":"ls"}]',
      JSON.stringify('{"command":"rm"}'),
      `{"x":"${'x'.repeat(256 * 1024)}"}`,
    ]) {
      const { failure } = await relayed([{ name: 'bash', pieces: [text] }])
      t.equal(failure, 'response_blocked_by_policy', text.slice(0, 40))
    }
  })

  t.test(`${api.name}: a restored value is judged as the client would get it`, async (t) => {
    const rules = callsOf(
      tools('mail', ['*', '!send'], { arguments: [{ path: '/to', pattern: '@example' }] }),
    )
    for (const pieces of [
      ['{"to":"[EMA', 'IL_1]"}'],
      ['{"to":"\\u005bEMAIL_1\\', 'u005d"}'],
      ['{"to":"\\\\[EMAIL\\\\_1\\\\]"}'],
      ['{"to":"&#91;EMAIL_1&#93;"}'],
      ['{"to":"{\\"a\\":\\"\\\\u005bEMAIL_1]\\"}"}'],
    ]) {
      const call = { name: 'send', pieces }
      t.equal((await relayed([call], rules)).failure, 'response_blocked_by_policy', pieces.join(''))
      const whole = JSON.parse((await relay(stream([call]), { api })).logged) as object
      await t.rejects(deliverWhole(api, whole, { calls: rules }), { code: 'response_blocked_by_policy' })
    }
  })

  t.test(`${api.name}: a value restored for a shape is judged, too`, async (t) => {
    const calls = callsOf(
      tools('mail', ['*', '!send'], { arguments: [{ path: '/to', pattern: 'ann@example' }] }),
    )
    for (const pieces of [
      ['{"to":"email-1@reda', 'cted.invalid"}'],
      ['{"to":"email-1\\u0040redacted.invalid"}'],
      ['{"to":"mailto:email-1@redacted.invalid"}'],
    ]) {
      const call = { name: 'send', pieces }
      const { failure } = await relay(stream([call]), { api, calls, scan: SHAPED_SCAN })
      t.equal(failure, 'response_blocked_by_policy', pieces.join(''))
      const whole = JSON.parse((await relay(stream([call]), { api })).logged) as object
      await t.rejects(deliverWhole(api, whole, { calls, scan: SHAPED_SCAN }), {
        code: 'response_blocked_by_policy',
      })
    }
  })

  t.test(`${api.name}: every cut of a stream gives the same events`, async () => {
    const calls = [LIST, READ, { name: 'bash', pieces: ['{"command":"echo é"}'] }, DELETE]
    const text = stream(calls).join('')
    for (const rules of [NO_RM, NO_BASH, SEEN]) {
      const whole = await relay([text], { api, calls: rules })
      await fc.assert(
        fc.asyncProperty(fc.array(fc.nat(), { maxLength: 20 }), async (cuts) => {
          const cut = await relay(cutText(text, cuts), { api, calls: rules })
          return (
            cut.stream === whole.stream &&
            cut.logged === whole.logged &&
            JSON.stringify(cut.tools) === JSON.stringify(whole.tools)
          )
        }),
        { numRuns: 12 },
      )
    }
  })

  t.test(`${api.name}: a whole answer is judged as its stream is`, async (t) => {
    const bodyOf = async (calls: readonly Called[]) =>
      JSON.parse((await relay(stream(calls), { api })).logged) as object
    t.match(await deliverWhole(api, await bodyOf([LIST, READ]), { calls: NO_RM }), 'ls')
    await t.rejects(deliverWhole(api, await bodyOf([LIST, DELETE]), { calls: NO_RM }), {
      code: 'response_blocked_by_policy',
      message: 'The answer was blocked by the policy rule "no-rm" because it calls the tool "bash".',
      extra: { rule_name: 'no-rm' },
    })
    await t.rejects(deliverWhole(api, await bodyOf([LIST]), { calls: NO_BASH }), {
      code: 'response_blocked_by_policy',
    })
  })
}

const call = (index: number, members: object, choice = 0) =>
  event({ index: choice, delta: { tool_calls: [{ index, ...members }] } })

const FORMS: [what: string, events: string[], isRefused: boolean][] = [
  [
    'text and calls in one chunk',
    [
      event({
        delta: {
          content: 'Look.',
          tool_calls: [
            { index: 0, function: { name: 'bash', arguments: '{"command":"ls"}' } },
            { index: 1, function: { name: 'read', arguments: '{}' } },
          ],
        },
        finish_reason: 'tool_calls',
      }),
      'data: [DONE]\n\n',
    ],
    false,
  ],
  [
    'a refused call among others in one chunk',
    [
      event({
        delta: {
          content: 'Look.',
          tool_calls: [
            { index: 0, function: { name: 'read', arguments: '{}' } },
            { index: 1, function: { name: 'bash', arguments: '{"command":"rm"}' } },
          ],
        },
        finish_reason: 'tool_calls',
      }),
      'data: [DONE]\n\n',
    ],
    true,
  ],
  [
    'a name in pieces',
    [
      call(0, { function: { name: 'ba', arguments: '' } }),
      call(0, { function: { name: 'sh', arguments: '{"command":"ls"}' } }),
      ...END,
    ],
    false,
  ],
  [
    'a name that is repeated',
    [
      call(0, { function: { name: 'bash', arguments: '{"command":' } }),
      call(0, { function: { name: 'bash', arguments: '"ls"}' } }),
      ...END,
    ],
    false,
  ],
  [
    'a name that comes late',
    [call(0, { id: 'c' }), call(0, { function: { name: 'bash', arguments: '{"command":"rm"}' } }), ...END],
    true,
  ],
  ['a call without a name', [call(0, { function: { arguments: '{}' } }), ...END], false],
  [
    'the older function_call',
    [
      event({ delta: { function_call: { name: 'bash', arguments: '' } } }),
      event({ delta: { function_call: { arguments: '{"command":"rm"}' } } }),
      ...END,
    ],
    true,
  ],
  [
    'a custom tool',
    [call(0, { type: 'custom', custom: { name: 'bash', input: '{"command":"rm"}' } }), ...END],
    true,
  ],
  [
    'a call that goes on after another began',
    [
      call(0, { function: { name: 'bash', arguments: '{"command":"ls' } }),
      call(1, { function: { name: 'read', arguments: '{}' } }),
      call(0, { function: { arguments: ';rm"}' } }),
      ...END,
    ],
    true,
  ],
  [
    'the second choice',
    [
      call(0, { function: { name: 'bash', arguments: '{"command":"ls"}' } }),
      call(0, { function: { name: 'bash', arguments: '{"command":"rm"}' } }, 1),
      event({ index: 0, delta: {}, finish_reason: 'tool_calls' }),
      event({ index: 1, delta: {}, finish_reason: 'tool_calls' }),
      'data: [DONE]\n\n',
    ],
    true,
  ],
  [
    'a whole message in a chunk',
    [
      event({
        message: { tool_calls: [{ function: { name: 'bash', arguments: '{"command":"rm"}' } }] },
        finish_reason: 'tool_calls',
      }),
      'data: [DONE]\n\n',
    ],
    true,
  ],
]
for (const [what, events, isRefused] of FORMS)
  t.test(`chat: ${what} ${isRefused ? 'is refused' : 'passes'}`, async (t) => {
    const { failure, stream: sent } = await relay(events, { calls: NO_RM })
    t.equal(failure, isRefused ? 'response_blocked_by_policy' : '')
    const before = FORMATS[0]!.join(eventsIn(events.join('')))
    const after = FORMATS[0]!.join(eventsIn(sent))
    if (!isRefused) t.same(after, before)
    else t.notMatch(JSON.stringify(after), /rm/)
  })

t.test('a call whose stream breaks off is dropped', async (t) => {
  const { failure, stream: sent } = await relay(
    [call(0, { function: { name: 'bash', arguments: '{"command":"ls"}' } })],
    { calls: NO_RM },
  )
  t.equal(failure, 'upstream_unavailable')
  t.notMatch(sent, 'bash')
})

t.test('what waits counts against the share of the call', async (t) => {
  let kept = 0
  const pieces = Array.from({ length: 50 }, () => 'x'.repeat(1000))
  await relay(FORMATS[0]!.stream([{ name: 'bash', pieces: ['{"command":"', ...pieces] }]).slice(0, -2), {
    calls: NO_RM,
    keep: (bytes) => {
      t.ok(bytes >= 0)
      kept += bytes
    },
  })
  t.ok(kept > 100_000, `${kept} bytes`)
})

t.test('an input that is nested too deeply is a failure of the upstream', async (t) => {
  for (const name of ['ls', 'bash'])
    for (const levels of [100, 5000, 20_000]) {
      const input = `{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`
      const answer = `{"id":"m","type":"message","role":"assistant","content":[{"type":"tool_use","id":"u","name":"${name}","input":${input}}]}`
      await t.rejects(
        deliverWhole(MESSAGES, answer, { calls: NO_RM }),
        { code: 'upstream_unavailable' },
        `${name} ${levels}`,
      )
    }
})
