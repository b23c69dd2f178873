// What recognisers may change: prose, and strings in JSON one by one. With any answer of one, names of
// tools and members stay, and JSON stays valid with the same shape.

import fc from 'fast-check'
import t from 'tap'
import type { Api } from '../../src/chat/api-format.ts'
import { CHAT } from '../../src/chat/chat-api.ts'
import { MESSAGES } from '../../src/chat/messages/messages-api.ts'
import { RESPONSES } from '../../src/chat/responses/responses-api.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { atOnce } from '../../src/core/steps.ts'
import { kindSet } from '../../src/detect/pii/kinds.ts'
import { inspect } from '../../src/pipeline/prompt/inspect.ts'
import { recognisePrompt } from '../../src/pipeline/prompt/recognise-prompt.ts'
import { OutsideValues } from '../../src/pipeline/scan/outside-values.ts'
import type { Recognisers } from '../../src/recognisers/recognisers.ts'
import type { RecognisedValue } from '../../src/recognisers/values.ts'
import { rule } from '../policy/rules.ts'
import { messageEvents, streamedTool } from '../process/messages-upstream.ts'
import { responseEvents, streamedCall } from '../process/responses-upstream.ts'
import {
  deliverWhole,
  END,
  event,
  INJECTION,
  RELAY_SCAN,
  relay,
  STILL_CLOCK,
  selectRules,
  textOf,
} from './fixture.ts'

type Find = (text: string) => readonly RecognisedValue[]

const recognisers = (find: Find): Recognisers =>
  ({ find: async (texts: readonly string[]) => texts.map(find) }) as unknown as Recognisers
const left = new AbortController().signal
const outsideOf = (find: Find) => new OutsideValues(recognisers(find), { keyId: 'k', place: 'answer', left })

/** Finds a pattern as persons. */
const matching =
  (pattern: RegExp): Find =>
  (text) =>
    [...text.matchAll(pattern)].map(({ 0: value, index }) => ({
      ...{ kind: 'person', start: index, end: index + value.length },
    }))

/** Spans of any text: each between two shares of its length. */
const spans =
  (shares: readonly (readonly [number, number])[]): Find =>
  (text) => {
    let covered = 0
    return shares
      .map(([one, other]) =>
        [one, other].sort((a, b) => a - b).map((share) => Math.floor(share * text.length)),
      )
      .sort(([a = 0], [b = 0]) => a - b)
      .flatMap(([start = 0, end = 0]) => {
        const from = Math.max(start, covered)
        if (end <= from) return []
        covered = end
        return [{ kind: 'person', start: from, end }]
      })
  }

async function redact(body: object, find: Find, action: 'redact' | 'restore' = 'redact', api: Api = CHAT) {
  const copy = structuredClone(body) as JsonObject
  const walk = atOnce(api.requestTexts(copy))
  const outside = await recognisePrompt(recognisers(find), walk.texts, { keyId: 'k', left }, STILL_CLOCK)
  const rules = selectRules([rule('all', '*', { type: 'pii', action })])
  atOnce(inspect(walk, rules, { kinds: kindSet([]), injection: INJECTION, outside }))
  return copy as any
}

const dataOf = (sent: readonly string[]): any[] =>
  [...sent.join('').matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data!))

const NAMES = /Jordan|Anna|Müller/g
const EVERYTHING: Find = (text) => [{ kind: 'person', start: 0, end: text.length }]
const ANNA = '{"first":"Anna","last":"Müller"}'
const REDACTED = '{"first":"[PERSON_1]","last":"[PERSON_2]"}'

const called = (json: string, name = 'f') => ({
  role: 'assistant',
  tool_calls: [{ id: 'call_1', type: 'function', function: { name, arguments: json } }],
})

t.test('a value over several strings of JSON is one in each, and names of members stay', async (t) => {
  const cases: [string, string][] = [
    [ANNA, REDACTED],
    [
      '{"Anna":{"Müller":["Anna",4155552671,null,"-"]}}',
      '{"Anna":{"Müller":["[PERSON_1]",4155552671,null,"-"]}}',
    ],
    [
      '{ "a" : "\\u0041nna" , "b\\"c": "\\"Müller\\"" }',
      '{ "a" : "[PERSON_1]" , "b\\"c": "\\"[PERSON_2]\\"" }',
    ],
    [JSON.stringify({ to: ANNA }), JSON.stringify({ to: REDACTED })],
    ['"Anna"', '"[PERSON_1]"'],
    ['not JSON, Anna', '[PERSON_1]'],
  ]
  for (const [json, expected] of cases) {
    const { messages } = await redact({ messages: [called(json)] }, EVERYTHING)
    t.equal(messages[0].tool_calls[0].function.arguments, expected)
    const outside = outsideOf(EVERYTHING)
    const body = { choices: [{ index: 0, message: called(json), finish_reason: 'stop' }] }
    const answer = JSON.parse(await deliverWhole(CHAT, body, { scan: { ...RELAY_SCAN, outside } }))
    t.equal(answer.choices[0].message.tool_calls[0].function.arguments, expected)
  }
})

t.test('streams of other APIs keep names of tools, ids and the shape of arguments', async (t) => {
  const pieces = ANNA.match(/.{1,3}/g)!
  const used = await relay(messageEvents([streamedTool('lookup', ...pieces)], 'tool_use'), {
    ...{ api: MESSAGES, outside: outsideOf(EVERYTHING) },
  })
  const data = dataOf(used.sent)
  t.equal(data.map(({ delta }) => delta?.partial_json ?? '').join(''), REDACTED)
  t.match(
    data.find(({ type }) => type === 'content_block_start'),
    { content_block: { type: 'tool_use', name: 'lookup' } },
  )
  const called = await relay(responseEvents([streamedCall(...pieces)]), {
    ...{ api: RESPONSES, outside: outsideOf(EVERYTHING) },
  })
  const events = dataOf(called.sent)
  const deltas = events.filter(({ type }) => type === 'response.function_call_arguments.delta')
  t.equal(deltas.map(({ delta }) => delta).join(''), REDACTED)
  for (const { type, item, arguments: json } of events) {
    if (type === 'response.function_call_arguments.done') t.equal(json, REDACTED)
    if (type === 'response.output_item.done') t.match(item, { name: 'mail', arguments: REDACTED })
  }
})

t.test('JSON in prose is cut the same way, as soon as it is known to be JSON', async (t) => {
  const fenced = (json: string) => `See:\n\`\`\`json\n${json}\n\`\`\``
  const cases: [string, string][] = [
    [fenced(ANNA), '[PERSON_1]\n```'],
    ['{"Anna": "Anna"}', '{"Anna": "[PERSON_1]"}'],
    ['{"Anna" is here}', '[PERSON_1]'],
  ]
  for (const [content, expected] of cases) {
    const { messages } = await redact({ messages: [{ role: 'user', content }] }, EVERYTHING)
    if (content.includes('See')) {
      const json = /\{.*\}/.exec(messages[0].content)?.[0]
      t.same(Object.keys(JSON.parse(json!)), ['first', 'last'], messages[0].content)
    } else t.equal(messages[0].content, expected)
  }
})

t.test('names of tools, members and schemas, ids and URLs are neither asked nor changed', async (t) => {
  const body = {
    model: 'm',
    user: 'jordan',
    messages: [
      { role: 'user', content: 'Ask Jordan' },
      called('{"jordan":"Jordan"}', 'Jordan'),
      { role: 'tool', tool_call_id: 'call_1', name: 'Jordan', content: '{"Jordan":1}' },
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://x.example/Jordan' } }] },
    ],
    tools: [
      {
        type: 'function',
        function: {
          name: 'Jordan',
          description: 'Asks Jordan',
          parameters: { type: 'object', properties: { Jordan: { enum: ['Jordan'] } }, required: ['Jordan'] },
        },
      },
    ],
    tool_choice: { type: 'function', function: { name: 'Jordan' } },
  }
  const asked: string[] = []
  const find: Find = (text) => {
    asked.push(text)
    return matching(NAMES)(text)
  }
  for (const action of ['redact', 'restore'] as const) {
    const sent = await redact(body, find, action)
    t.equal(sent.messages[0].content, 'Ask [PERSON_1]')
    t.equal(sent.messages[1].tool_calls[0].function.arguments, '{"jordan":"[PERSON_1]"}')
    t.equal(sent.tools[0].function.description, 'Asks [PERSON_1]')
    const changed = structuredClone(sent)
    changed.messages[0].content = 'Ask Jordan'
    changed.messages[1].tool_calls[0].function.arguments = '{"jordan":"Jordan"}'
    changed.tools[0].function.description = 'Asks Jordan'
    t.strictSame(changed, body)
  }
  t.strictSame(new Set(asked), new Set(['Ask Jordan', '{"jordan":"Jordan"}', '{"Jordan":1}', 'Asks Jordan']))
})

t.test('under restore a value that was found is not replaced in names of a later turn', async (t) => {
  const history = [
    { role: 'user', content: 'I am Jordan Lee' },
    called('{"Jordan Lee":1,"who":"Jordan Lee"}', 'Jordan-Lee'),
  ]
  const find: Find = (text) => (text.startsWith('I am') ? matching(/Jordan Lee/g)(text) : [])
  const { messages } = await redact({ messages: history }, find, 'restore')
  t.equal(messages[0].content, 'I am [PERSON_1]')
  t.equal(messages[1].tool_calls[0].function.arguments, '{"Jordan Lee":1,"who":"[PERSON_1]"}')
  const input = { 'Jordan Lee': 1, who: 'Jordan Lee' }
  const used = { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'f', input }] }
  const sent = await redact({ messages: [history[0], used] }, find, 'restore', MESSAGES)
  t.strictSame(sent.messages[1].content[0].input, { 'Jordan Lee': 1, who: '[PERSON_1]' })
})

const WORD = fc.constantFrom('Anna', 'Müller. ', 'a"b', '\\', '\n', '{"x":"y"}', '[1, "z"]', '😀', 'Anna', '')
const WORDS = fc.array(WORD, { maxLength: 4 }).map((words) => words.join(''))
const { value: VALUE } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    WORDS,
    fc.integer({ min: -999, max: 999_999 }),
    fc.constantFrom(true, false, null),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('object'),
    tie('object').map((value) => JSON.stringify(value)),
  ),
  object: fc.dictionary(WORDS, tie('value'), { maxKeys: 4, noNullPrototype: true }),
}))
const ARGUMENTS = fc
  .tuple(
    fc.dictionary(WORDS, VALUE, { minKeys: 1, maxKeys: 4, noNullPrototype: true }),
    fc.constantFrom(0, 2),
  )
  .map(([value, indent]) => JSON.stringify(value, null, indent))
  // JSON in more than six strings is refused.
  .filter((json) => !/\\{16}/.test(json))
const SHARE = fc.double({ min: 0, max: 1, noNaN: true })
const SPANS = fc.array(fc.tuple(SHARE, SHARE), { maxLength: 4 }).map(spans)

/** A value without its strings; JSON in them is a value too. */
function shapeOf(value: unknown): unknown {
  if (typeof value === 'string') {
    try {
      const inside: unknown = JSON.parse(value)
      if (typeof inside === 'object' && inside !== null) return [shapeOf(inside)]
    } catch {}
    return 'string'
  }
  if (Array.isArray(value)) return value.map(shapeOf)
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(value).map(([name, inside]) => [name, shapeOf(inside)])
}
const shape = (json: string) => shapeOf(JSON.parse(json))

t.test('arguments in a history keep their shape with any spans of a recogniser', async (t) => {
  const property = fc.asyncProperty(ARGUMENTS, SPANS, async (json, find) => {
    const result = { role: 'tool', tool_call_id: 'call_1', content: json }
    const input = JSON.parse(json)
    const used = { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'f', input }] }
    const { messages } = await redact({ messages: [called(json), result, used] }, find)
    t.strictSame(shape(messages[0].tool_calls[0].function.arguments), shape(json))
    t.strictSame(shape(messages[1].content), shape(json))
    t.strictSame(shapeOf(messages[2].content[0].input), shapeOf(input))
    t.equal(messages[0].tool_calls[0].function.name, 'f')
  })
  await fc.assert(property, { numRuns: 250 })
})

t.test('and so do those of an answer, whole or in any pieces', async (t) => {
  const property = fc.asyncProperty(
    ARGUMENTS,
    SPANS,
    fc.integer({ min: 1, max: 40 }),
    async (json, find, size) => {
      const body = { choices: [{ index: 0, message: called(json), finish_reason: 'tool_calls' }] }
      const scan = { ...RELAY_SCAN, outside: outsideOf(find) }
      const answer = JSON.parse(await deliverWhole(CHAT, body, { scan }))
      t.strictSame(shape(answer.choices[0].message.tool_calls[0].function.arguments), shape(json))
      const streamed = async (pieces: readonly string[]) => {
        const part = (text: string) =>
          event({ delta: { tool_calls: [{ index: 0, function: { arguments: text } }] } })
        const first = { index: 0, id: 'c', type: 'function', function: { name: 'Anna', arguments: '' } }
        const events = [event({ delta: { tool_calls: [first] } }), ...pieces.map(part), ...END]
        const { sent } = await relay(events, { outside: outsideOf(find) })
        t.equal(
          textOf(sent, ({ tool_calls }) => tool_calls?.[0].function.name),
          'Anna',
        )
        return textOf(sent, ({ tool_calls }) => tool_calls?.[0].function.arguments)
      }
      const whole = await streamed([json])
      t.strictSame(shape(whole), shape(json))
      t.equal(await streamed(json.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []), whole)
    },
  )
  await fc.assert(property, { numRuns: 20 })
})
