// Small numbers of JSON, which matter only where rules define what is looked for.

import t from 'tap'
import { CHAT } from '../../src/chat/chat-api.ts'
import { MESSAGES } from '../../src/chat/messages/messages-api.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { atOnce } from '../../src/core/steps.ts'
import { inspect } from '../../src/pipeline/prompt/inspect.ts'
import { rulesOfAnswer } from '../../src/pipeline/scan/rules-of-answer.ts'
import type { Rule } from '../../src/policy/rule.ts'
import { rule } from '../policy/rules.ts'
import { ALL_KINDS, deliverWhole, INJECTION, selectRules } from './fixture.ts'

const PIN = rule('pins', '\\b[0-9]{4}\\b', { type: 'pii_pattern', kind: 'pin', action: 'redact' })
const WORD = rule('word', '4711', { action: 'redact', placeholder: 'PIN' })
const BLOCK = rule('block', '4711', { action: 'block' })

const tool = (schema: object) => ({ name: 'enter', input_schema: { type: 'object', properties: schema } })
const call = (input: object) => ({ type: 'tool_use', id: 'toolu_1', name: 'enter', input })

/** A request of Messages with the number in every place of data, and in settings. */
const messages = (pin: number | string) => ({
  model: 'm',
  max_tokens: 4711,
  top_k: 4711,
  thinking: { type: 'enabled', budget_tokens: 4711 },
  tools: [
    tool({ pin: { enum: [pin], default: pin, const: pin, examples: [pin], maximum: 4711, maxLength: 4711 } }),
    { type: 'computer_20250124', name: 'computer', display_width_px: 4711 },
  ],
  messages: [
    {
      role: 'user',
      content: [{ type: 'text', text: 'hi', cache_control: { type: 'ephemeral', ttl: 4711 } }],
    },
    { role: 'assistant', content: [call({ pin, index: pin, pins: [pin, 12], half: 4711.5 })] },
  ],
})

/** A request of chat with a number in a schema. */
const chat = (pin: number | string) => ({
  model: 'm',
  max_tokens: 4711,
  response_format: {
    type: 'json_schema',
    json_schema: { name: 'pin', schema: { properties: { pin: { const: pin, minimum: 4711 } } } },
  },
  messages: [{ role: 'user', content: 'hi' }],
})

function look(api: typeof CHAT, body: JsonObject, rules: readonly Rule[]) {
  const selection = selectRules(rules)
  const walk = atOnce(api.requestTexts(body, selection.readsNumbers('request')))
  const inspection = atOnce(inspect(walk, selection, { kinds: ALL_KINDS, injection: INJECTION }))
  return { body, hits: inspection.keywordHits.map(({ name }) => name) }
}

t.test('what rules define is found in every number that is data, and in no setting', async (t) => {
  for (const [api, bodyOf] of [
    [MESSAGES, messages],
    [CHAT, chat],
  ] as const)
    for (const found of [PIN, WORD]) {
      const { body } = look(api, bodyOf(4711) as never, [found])
      const expected = JSON.stringify(bodyOf('[PIN_1]'))
      t.equal(JSON.stringify(body).replace('"[PIN_1].5"', '4711.5'), expected, `${api.name} ${found.name}`)
    }
})

t.test('a blocked keyword is found in a number', async (t) => {
  t.strictSame(look(MESSAGES, messages(4711) as never, [BLOCK]).hits, ['block'])
  t.strictSame(look(MESSAGES, messages(12) as never, [BLOCK]).hits, ['block'], 'the half')
})

t.test('without such rules small numbers are no texts', async (t) => {
  const [without, withRule] = [[], [PIN]].map((rules) => selectRules(rules).readsNumbers('request'))
  t.strictSame([without, withRule], [false, true])
  t.strictSame(look(MESSAGES, messages(4711) as never, []).body, messages(4711))
})

/** An answer of Messages, with the number in the input of a tool and in what a client counts by. */
const answer = (pin: number | string) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  content: [
    {
      type: 'text',
      text: 'see',
      citations: [{ type: 'char_location', document_index: 4711, start_char_index: 4711 }],
    },
    call({ pin, pins: [pin] }),
  ],
  stop_reason: 'tool_use',
  usage: { input_tokens: 4711, output_tokens: 4711, cache_creation: { ephemeral_5m_input_tokens: 4711 } },
})

t.test('whole answers are redacted in the numbers of data, as streams of arguments are', async (t) => {
  for (const found of [PIN, WORD]) {
    const selection = selectRules([found])
    const scan = rulesOfAnswer(selection, {
      ...{ kinds: ALL_KINDS, placeholderStyle: 'brackets', credential: null, restoration: null },
    })
    const sent = JSON.parse(await deliverWhole(MESSAGES, answer(4711), { scan, selection }))
    t.strictSame(sent, answer('[PIN_1]'), found.name)
  }
})

t.test('an event of a stream is read as a whole answer is', async (t) => {
  const event = { type: 'content_block_start', index: 1, content_block: call({ pin: 4711 }) }
  const texts = (readsNumbers: boolean) =>
    MESSAGES.readStream(false, readsNumbers)
      .read(JSON.stringify(event))!
      .others.map(({ text }) => text)
  t.ok(texts(true).includes('4711'))
  t.notOk(texts(false).includes('4711'))
})
