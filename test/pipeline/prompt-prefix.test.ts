// Providers cache the beginning of a prompt. A turn of a conversation sends all earlier turns again,
// and none of their bytes may change.

import fc from 'fast-check'
import t from 'tap'
import type { Api } from '../../src/chat/api-format.ts'
import { CHAT } from '../../src/chat/chat-api.ts'
import { MESSAGES } from '../../src/chat/messages/messages-api.ts'
import { RESPONSES } from '../../src/chat/responses/responses-api.ts'
import type { JsonObject, JsonValue } from '../../src/core/json.ts'
import { atOnce } from '../../src/core/steps.ts'
import { loadInjectionModel } from '../../src/detect/injection/score.ts'
import { inspect } from '../../src/pipeline/prompt/inspect.ts'
import type { Rule } from '../../src/policy/rule.ts'
import { rule } from '../policy/rules.ts'
import { ALL_KINDS, selectRules } from './fixture.ts'

const injection = loadInjectionModel()

/** Rules that write a prompt in different ways. */
const RULES: readonly (readonly Rule[])[] = [
  [],
  [rule('all', '*', { type: 'pii', action: 'restore' })],
  [rule('some', 'email', { type: 'pii', action: 'restore' }), rule('word', 'aurora', { action: 'monitor' })],
]

const value = fc.constantFrom(
  ...['ann@example.com', 'bob@example.org', 'Carl@example.net', '+1 415 555 2671', '+1 415 555 2672'],
  ...['4111 1111 1111 1111', '[EMAIL_1]', '[EMAIL_2]', '[PHONE_1]', '[CREDIT_CARD_3]', 'aurora'],
)
const sentence = fc.array(value, { maxLength: 3 }).map((values) => `See ${values.join(', ')} now.`)
const cached = { cache_control: { type: 'ephemeral' } }
const textParts = (type: string) =>
  fc
    .array(fc.tuple(sentence, fc.boolean()), { minLength: 1, maxLength: 2 })
    .map((parts) => parts.map(([text, isMarked]) => ({ type, text, ...(isMarked && cached) })))
const data = fc.record({ to: value, note: sentence, card: fc.constantFrom(1, 4111111111111111) })

interface Shape {
  readonly api: Api
  /** The member that grows. */
  readonly grows: string
  readonly turn: fc.Arbitrary<JsonObject>
  /** Other members, in any order and any selection. */
  readonly around: Readonly<Record<string, fc.Arbitrary<JsonValue>>>
}

const described = (wrap: (of: JsonObject) => JsonObject): fc.Arbitrary<JsonValue> =>
  fc.array(
    sentence.map((description) => wrap({ name: 'f', description })),
    { minLength: 1, maxLength: 3 },
  )

const json = <T>(of: fc.Arbitrary<T>) => of.map((one) => JSON.stringify(one))

const SHAPES: readonly Shape[] = [
  {
    api: CHAT,
    grows: 'messages',
    turn: fc.oneof(
      fc.record({ role: fc.constantFrom('user', 'assistant', 'developer'), content: sentence }),
      fc.record({ role: fc.constant('user'), content: textParts('text') }),
      fc.record({ role: fc.constant('tool'), tool_call_id: fc.constant('call_1'), content: json(data) }),
      json(data).map((written) => ({
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: written } }],
      })),
    ) as fc.Arbitrary<JsonObject>,
    around: {
      tools: described((of) => ({ type: 'function', function: of })),
      response_format: sentence.map((description) => ({ type: 'json_schema', json_schema: { description } })),
      metadata: fc.record({ note: sentence }),
    },
  },
  {
    api: RESPONSES,
    grows: 'input',
    turn: fc.oneof(
      fc.record({ role: fc.constant('user'), content: textParts('input_text') }),
      fc.record({
        type: fc.constant('message'),
        role: fc.constant('assistant'),
        content: textParts('output_text'),
      }),
      fc.record({ type: fc.constant('function_call'), name: fc.constant('f'), arguments: json(data) }),
      fc.record({ type: fc.constant('function_call_output'), output: json(data) }),
    ) as fc.Arbitrary<JsonObject>,
    around: {
      instructions: sentence,
      tools: described((of) => ({ type: 'function', ...of })),
      text: sentence.map((description) => ({ format: { type: 'json_schema', description } })),
    },
  },
  {
    api: MESSAGES,
    grows: 'messages',
    turn: fc.oneof(
      fc.record({ role: fc.constantFrom('user', 'assistant'), content: sentence }),
      fc.record({ role: fc.constantFrom('user', 'assistant'), content: textParts('text') }),
      data.map((input) => ({
        role: 'assistant',
        content: [{ type: 'tool_use', id: 'toolu_1', name: 'f', input }],
      })),
      textParts('text').map((content) => ({
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content, ...cached }],
      })),
    ) as fc.Arbitrary<JsonObject>,
    around: {
      system: fc.oneof(sentence, textParts('text')),
      tools: described((of) => ({ ...of, ...cached })),
      output_config: sentence.map((description) => ({ format: { type: 'json_schema', description } })),
    },
  },
]

/** What is forwarded of a body, by member. */
function forwarded(api: Api, body: JsonObject, rules: readonly Rule[]): Record<string, string> {
  const copy = structuredClone(body)
  const walk = atOnce(api.requestTexts(copy))
  atOnce(inspect(walk, selectRules(rules), { kinds: ALL_KINDS, injection }))
  return Object.fromEntries(Object.entries(copy).map(([name, one]) => [name, JSON.stringify(one)]))
}

for (const { api, grows, turn, around } of SHAPES)
  t.test(`${api.name}: what is appended changes no byte before it`, async () => {
    const names = [...Object.keys(around), grows, 'model']
    fc.assert(
      fc.property(
        fc.shuffledSubarray(names, { minLength: names.length - 1 }).filter((list) => list.includes(grows)),
        fc.record(around),
        fc.array(turn, { minLength: 2, maxLength: 6 }),
        fc.constantFrom(...RULES),
        (order, others, turns, rules) => {
          let before: Record<string, string> | null = null
          for (let count = 1; count <= turns.length; count++) {
            const members: JsonObject = { ...others, model: 'm', [grows]: turns.slice(0, count) }
            const body = Object.fromEntries(order.map((name) => [name, members[name]!]))
            const sent = forwarded(api, body, rules)
            for (const [name, text] of Object.entries(before ?? {})) {
              const isKept = name === grows ? sent[name]!.startsWith(text.slice(0, -1)) : sent[name] === text
              if (!isKept) return false
            }
            before = sent
          }
          return true
        },
      ),
      { numRuns: 300 },
    )
  })

t.test('a body is read in the order of the provider, whatever its own', async (t) => {
  const tools = [{ name: 'f', description: 'ask ann@example.com' }]
  const messages = [{ role: 'user', content: 'bob@example.com' }]
  const system = 'carl@example.com'
  for (const body of [
    { messages, system, tools },
    { tools, system, messages },
  ])
    t.match(forwarded(MESSAGES, { model: 'm', ...body }, []), {
      tools: /\[EMAIL_1\]/,
      system: /\[EMAIL_2\]/,
      messages: /\[EMAIL_3\]/,
    })
})
