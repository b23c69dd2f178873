// JSON in a prompt hides nothing, however it is escaped, and stays JSON when it is redacted.

import t from 'tap'
import { requestTexts as textsInSteps } from '../../src/chat/texts.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { atOnce } from '../../src/core/steps.ts'
import { loadInjectionModel } from '../../src/detect/injection/score.ts'
import { countKinds, inspect } from '../../src/pipeline/prompt/inspect.ts'
import { rule } from '../policy/rules.ts'
import { ALL_KINDS, selectRules } from './fixture.ts'

const requestTexts = (body: Parameters<typeof textsInSteps>[0]) => atOnce(textsInSteps(body))

const selection = selectRules([rule('aurora', 'project\\saurora')])
const model = loadInjectionModel()

function look(body: JsonObject) {
  const inspection = atOnce(inspect(requestTexts(body), selection, { kinds: ALL_KINDS, injection: model }))
  return {
    hits: inspection.keywordHits.map(({ name }) => name),
    kinds: countKinds(inspection.findings).map(({ kind, count }) => ({ kind, count })),
    findings: inspection.findings,
    body: body as any,
  }
}

const CARD = 4111111111111111
const EMAIL = 'jane@example.com'
const unicode = (text: string) =>
  [...text].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')

const message = (more: object) => ({ model: 'm', messages: [{ role: 'user', ...more }] }) as JsonObject
const calling = (called: object) =>
  ({ model: 'm', messages: [{ role: 'assistant', tool_calls: [{ id: 'call_1', ...called }] }] }) as JsonObject

/** Places for a text that may be JSON, and how to read it again. */
const PLACES: Record<string, [make: (text: string) => JsonObject, read: (body: any) => string]> = {
  'user content': [(text) => message({ content: text }), (body) => body.messages[0].content],
  'a content part': [
    (text) => message({ content: [{ type: 'text', text }] }),
    (body) => body.messages[0].content[0].text,
  ],
  'a tool result': [
    (text) => message({ role: 'tool', tool_call_id: 'call_1', content: text }),
    (body) => body.messages[0].content,
  ],
  'tool-call arguments': [
    (text) => calling({ type: 'function', function: { name: 'f', arguments: text } }),
    (body) => body.messages[0].tool_calls[0].function.arguments,
  ],
  'the input of a custom tool': [
    (text) => calling({ type: 'custom', custom: { name: 'f', input: text } }),
    (body) => body.messages[0].tool_calls[0].custom.input,
  ],
  metadata: [
    (text) => ({ ...message({ content: 'hi' }), metadata: { note: text } }),
    (body) => body.metadata.note,
  ],
}

const inStrings = (text: string, times: number): string =>
  times === 0 ? text : inStrings(JSON.stringify({ arguments: text }), times - 1)

const fence = (json: string) => `Result:\n\`\`\`json\n${json}\n\`\`\`\n`

t.test('no place hides an address or a keyword in escapes', async (t) => {
  const inner = `{"note":"project\\naurora","to":"${unicode(EMAIL)}"}`
  const texts = [inner, fence(inner), ...[1, 2, 3, 4, 5].map((times) => inStrings(inner, times))]
  for (const [place, [make, read]] of Object.entries(PLACES)) {
    for (const [index, text] of texts.entries()) {
      const { hits, kinds, body } = look(make(text))
      t.same(hits, ['aurora'], `${place} ${index}`)
      t.same(kinds, [{ kind: 'email', count: 1 }], `${place} ${index}`)
      t.match(read(body), /\[EMAIL_1\]/, `${place} ${index}`)
    }
  }
})

t.test('an escaped address is found in prose and in quotes', async (t) => {
  for (const [place, [make, read]] of Object.entries(PLACES)) {
    for (const slashes of ['\\', '\\\\', '\\\\\\\\']) {
      const { body } = look(make(`"jane${slashes}u0040example.com" x`))
      t.equal(read(body), '"[EMAIL_1]" x', `${place} ${slashes.length}`)
    }
  }
})

t.test('a redacted number in JSON becomes a string', async (t) => {
  for (const [place, [make, read]] of Object.entries(PLACES)) {
    for (const times of [0, 1, 2, 3]) {
      const { body } = look(make(inStrings(`{"card": ${CARD}}`, times)))
      t.equal(read(body), inStrings('{"card": "[CREDIT_CARD_1]"}', times), `${place} ${times}`)
    }
    const { body } = look(make(fence(`{"card": ${CARD}}`)))
    t.equal(read(body), fence('{"card": "[CREDIT_CARD_1]"}'), place)
  }
})

t.test('the place of a finding counts in the text as written', async (t) => {
  const written = unicode(EMAIL)
  const text = inStrings(`{"a":"x","to":"${written}"}`, 1)
  const { findings } = look(message({ content: text }))
  t.equal(text.slice(findings[0]?.start, findings[0]?.end), written.replaceAll('\\', '\\\\'))
})

t.test('JSON in more than six strings is refused', async (t) => {
  const deep = inStrings(`{"to":"${EMAIL}"}`, 6)
  for (const [make] of Object.values(PLACES)) t.throws(() => look(make(deep)), { code: 'invalid_body' })
  t.throws(() => look(message({ content: `jane${'\\'.repeat(200)}u0040example.com` })), {
    code: 'invalid_body',
  })
  t.doesNotThrow(() => look(message({ content: '\\'.repeat(5000) })))
})

t.test('a number in a setting hides nothing', async (t) => {
  for (const setting of ['temperature', 'max_tokens', 'top_p', 'n'])
    t.throws(() => look({ ...message({ content: 'hi' }), [setting]: CARD }), {
      code: 'invalid_body',
      param: setting,
      message: new RegExp(`^${setting} is a setting, and holds a number that would be redacted`),
    })
  const { kinds, body } = look({ ...message({ content: 'hi' }), unknown: CARD, extra: { seed: CARD } })
  t.same(kinds, [{ kind: 'credit_card', count: 2 }])
  t.match(body, { unknown: '[CREDIT_CARD_1]', extra: { seed: '[CREDIT_CARD_1]' } })
})

t.test('a seed of 64 bits stays as it is, also one that looks like a card number', async (t) => {
  for (const value of [0.7, -1, 128_000, 4_294_967_295, 2 ** 53 - 1, CARD, -CARD]) {
    const { body, kinds } = look({ ...message({ content: 'hi' }), seed: value })
    t.equal(body.seed, value)
    t.same(kinds, [])
  }
})
