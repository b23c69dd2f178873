import fc from 'fast-check'
import t from 'tap'
import { dropLogprobs, requestTexts, responseTexts } from '../../src/chat/texts.ts'
import type { JsonObject } from '../../src/core/json.ts'

const user = (content: unknown): JsonObject => ({ role: 'user', content }) as JsonObject
const chat = (...messages: JsonObject[]): JsonObject => ({ model: 'm', messages })
const base64 = Buffer.alloc(300, 7).toString('base64')
const MARK = 'marked text'

/** Where a client may put words that a model will read. */
const PLACES: Record<string, JsonObject> = {
  'string content': chat(user(MARK)),
  'system message': chat({ role: 'system', content: MARK }),
  'developer message': chat({ role: 'developer', content: MARK }),
  'unknown role': chat({ role: 'narrator', content: MARK }),
  'a later message': chat(user('a'), { role: 'assistant', content: 'b' }, user(MARK)),
  'a content part': chat(
    user([
      { type: 'text', text: 'a' },
      { type: 'text', text: MARK },
    ]),
  ),
  'a part of an unknown type': chat(user([{ type: 'thought', thought: { words: [MARK] } }])),
  'a refusal part': chat({ role: 'assistant', content: [{ type: 'refusal', refusal: MARK }] }),
  'a refusal': chat({ role: 'assistant', content: null, refusal: MARK }),
  'an image description': chat(
    user([{ type: 'image_url', image_url: { url: 'https://x/y.png', detail: MARK } }]),
  ),
  'an image URL that is not a payload': chat(
    user([{ type: 'image_url', image_url: { url: `https://x/?q=${MARK}` } }]),
  ),
  'a text in a data URL': chat(user([{ type: 'image_url', image_url: { url: `data:text/plain,${MARK}` } }])),
  'a payload that is not base64': chat(
    user([{ type: 'input_audio', input_audio: { data: `${MARK} `.repeat(20), format: 'wav' } }]),
  ),
  'a file name': chat(
    user([{ type: 'file', file: { filename: MARK, file_data: `data:application/pdf;base64,${base64}` } }]),
  ),
  'an audio transcript': chat({ role: 'assistant', audio: { id: 'a', transcript: MARK } }),
  'the name of a speaker': chat({ role: 'user', name: MARK, content: 'a' }),
  'a tool result': chat({ role: 'tool', tool_call_id: 'call_1', content: MARK }),
  'an id that is a sentence': chat({ role: 'tool', tool_call_id: `${MARK} is my id`, content: 'a' }),
  'a role that is a sentence': chat({ role: `${MARK} role`, content: 'a' }),
  'tool-call arguments': chat({
    role: 'assistant',
    tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: `{"q":"${MARK}"}` } }],
  }),
  'a tool-call name': chat({
    role: 'assistant',
    tool_calls: [{ id: 'c', type: 'function', function: { name: MARK, arguments: '{}' } }],
  }),
  'old function-call arguments': chat({
    role: 'assistant',
    function_call: { name: 'f', arguments: `"${MARK}"` },
  }),
  'an unknown message field': chat({ role: 'user', content: 'a', reasoning_details: [{ text: MARK }] }),
  'the name of an unknown message field': chat({ role: 'user', content: 'a', [MARK]: 1 }),
  'a tool description': {
    ...chat(user('a')),
    tools: [{ type: 'function', function: { name: 'f', description: MARK } }],
  },
  'a parameter description': tools({ properties: { q: { type: 'string', description: MARK } } }),
  'an enum value': tools({ properties: { q: { enum: ['a', MARK] } } }),
  'a default': tools({ properties: { q: { default: MARK } } }),
  'a constant': tools({ properties: { q: { const: { deep: [MARK] } } } }),
  'the name of a parameter': tools({ properties: { [MARK]: { type: 'string' } } }),
  'old functions': { ...chat(user('a')), functions: [{ name: 'f', description: MARK }] },
  'a response schema': {
    ...chat(user('a')),
    response_format: { type: 'json_schema', json_schema: { name: 'n', description: MARK } },
  },
  'a prediction': { ...chat(user('a')), prediction: { type: 'content', content: MARK } },
  metadata: { ...chat(user('a')), metadata: { ticket: MARK } },
  'the name of metadata': { ...chat(user('a')), metadata: { [MARK]: 'x' } },
  'the user field': { ...chat(user('a')), user: MARK },
  stop: { ...chat(user('a')), stop: ['a', MARK] },
  'stop as a string': { ...chat(user('a')), stop: MARK },
  'an unknown field': { ...chat(user('a')), plugins: [{ id: 'web', search_prompt: MARK }] },
  'the name of an unknown field': { ...chat(user('a')), [MARK]: true },
}

function tools(parameters: JsonObject): JsonObject {
  const tool = { type: 'function', function: { name: 'f', parameters: { type: 'object', ...parameters } } }
  return { ...chat(user('a')), tools: [tool] }
}

t.test('no place is passed over, and each can be rewritten', async (t) => {
  for (const [place, original] of Object.entries(PLACES)) {
    const body = structuredClone(original)
    const walk = requestTexts(body)
    const found = walk.texts.filter(({ text }) => text.includes(MARK))
    t.equal(found.length, 1, place)
    for (const { text, replace } of found) replace(text.replaceAll(MARK, 'other words'))
    walk.commit()
    t.equal(
      JSON.stringify(body),
      JSON.stringify(original).replaceAll(MARK, 'other words'),
      `${place}, rewritten`,
    )
  }
})

t.test('wherever a string is planted in a request, it is found', async () => {
  const field = fc.constantFrom(
    'a',
    'content',
    'text',
    'type',
    'url',
    'parameters',
    'id',
    'role',
    'arguments',
    'data',
  )
  const tree = fc.letrec((tie) => ({
    node: fc.oneof(
      { maxDepth: 5 },
      fc.constant(`${MARK}!`),
      fc.array(tie('node'), { maxLength: 3 }),
      fc.dictionary(field, tie('node'), { maxKeys: 3 }),
    ),
  })).node
  const anywhere = fc.constantFrom(
    'metadata',
    'tools',
    'prediction',
    'extra',
    'response_format',
    'message',
    'part',
  )
  fc.assert(
    fc.property(anywhere, tree, (place, planted) => {
      const value = planted as JsonObject
      const body =
        place === 'message'
          ? chat({ role: 'user', content: 'a', extra: value })
          : place === 'part'
            ? chat(user([{ type: 'text', text: 'a', extra: value }]))
            : { ...chat(user('a')), [place]: value }
      const planned = JSON.stringify(body).split(MARK).length - 1
      const found = requestTexts(body).texts.reduce((sum, { text }) => sum + text.split(MARK).length - 1, 0)
      return found === planned
    }),
    { numRuns: 1000 },
  )
})

t.test('ids, roles, types, the model and payloads are not texts', async (t) => {
  const body: JsonObject = {
    model: 'vendor/model',
    temperature: 0.7,
    seed: 4155552671,
    messages: [
      user([
        { type: 'image_url', image_url: { url: `data:image/png;base64,${base64}` } },
        { type: 'input_audio', input_audio: { data: base64, format: 'wav' } },
        { type: 'file', file: { file_data: `data:application/pdf;base64,${base64}` } },
        { type: 'image_url', image_url: { url: 'https://host/picture.png' } },
      ]),
      {
        role: 'assistant',
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'done' },
    ],
  }
  const { texts, binaryParts } = requestTexts(body)
  t.same(
    texts.map(({ text }) => text),
    ['wav', 'https://host/picture.png', 'f', '{}', 'done'],
  )
  t.equal(binaryParts, 4, 'a picture behind a URL cannot be read here either')
})

t.test('numbers long enough to be somebody’s become strings when replaced', async (t) => {
  const body = { ...chat(user('a')), metadata: { card: 4111111111111111, count: 12 } }
  const walk = requestTexts(body)
  const [card] = walk.texts.filter(({ path }) => path === 'metadata.card')
  t.equal(card?.text, '4111111111111111')
  card?.replace('[CREDIT_CARD_1]')
  t.same(body.metadata, { card: '[CREDIT_CARD_1]', count: 12 })
  t.notOk(walk.texts.some(({ path }) => path === 'metadata.count'))
})

t.test('names are renamed in place, many at once, without losing one', async (t) => {
  const metadata: JsonObject = { first: 1, 'a@b.co': 2, 'c@d.co': 3, '[EMAIL_1]': 4, last: 5 }
  const body = { ...chat(user('a')), metadata }
  const walk = requestTexts(body)
  for (const { text, replace } of walk.texts) if (text.includes('@')) replace('[EMAIL_1]')
  walk.commit()
  t.same(Object.entries(metadata), [
    ['first', 1],
    ['[EMAIL_1]_2', 2],
    ['[EMAIL_1]_3', 3],
    ['[EMAIL_1]', 4],
    ['last', 5],
  ])
})

t.test('the conversation is numbered, other texts are not', async (t) => {
  const body = {
    ...chat(
      user([
        { type: 'text', text: 'a' },
        { type: 'image_url', image_url: { url: 'https://h/x' } },
        { type: 'text', text: 'b' },
      ]),
      {
        role: 'assistant',
        content: 'c',
      },
    ),
    user: 'u',
  }
  t.same(
    requestTexts(body).texts.map(({ text, joined, role }) => [text, joined, role]),
    [
      ['a', 0, 'user'],
      ['https://h/x', null, 'user'],
      ['b', 1, 'user'],
      ['c', 2, 'assistant'],
      ['u', null, null],
    ],
  )
})

t.test('a tool result that is JSON is read as JSON', async (t) => {
  const { texts } = requestTexts(
    chat({ role: 'tool', tool_call_id: 'c', content: '{"a":"b\\u0040c"}' }, user('{"a":1}')),
  )
  t.same(
    texts.map(({ encoding }) => encoding),
    ['json', 'plain'],
  )
})

t.test('answers: every choice, every text, nothing of the envelope', async (t) => {
  const body: JsonObject = {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1700000000,
    model: 'm',
    system_fingerprint: 'fp',
    provider: 'p',
    choices: [
      {
        index: 0,
        finish_reason: 'stop',
        logprobs: { content: [{ token: 'x' }] },
        message: {
          role: 'assistant',
          content: 'c0',
          refusal: null,
          reasoning: 'r0',
          annotations: [{ type: 'url_citation', url_citation: { url: 'https://u', title: 't' } }],
        },
      },
      {
        index: 1,
        finish_reason: 'tool_calls',
        message: {
          role: 'assistant',
          content: null,
          refusal: 'no',
          tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
          reasoning_details: [{ type: 'reasoning.text', text: 'rd' }],
          audio: { id: 'a', data: base64, transcript: 'tr' },
        },
      },
    ],
    usage: { prompt_tokens: 12345678, completion_tokens: 1, total_tokens: 2 },
  }
  const { texts } = responseTexts(body)
  const found = texts
    .filter(({ path }) => !path.endsWith('(name)'))
    .map(({ text, encoding }) => (encoding === 'json' ? `json ${text}` : text))
  for (const text of ['p', 'c0', 'r0', 'https://u', 't', 'no', 'f', 'json {"a":1}', 'rd', 'tr'])
    t.ok(found.includes(text), text)
  for (const text of ['x', 'm', 'fp', 'stop', 'c', base64]) t.notOk(found.includes(text), text)
  dropLogprobs(body)
  t.notMatch(JSON.stringify(body), /"token"/)
  t.same(
    responseTexts({ error: { message: 'bad', code: 'c' } }).texts.map(({ text }) => text),
    ['bad', 'c'],
  )
})

t.test('renaming a hundred thousand names takes linear time', async (t) => {
  const names = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`n${i}@x.co`, 1]))
  const time = (count: number) => {
    const walk = requestTexts({ ...chat(user('a')), metadata: names(count) })
    const start = performance.now()
    for (const { replace } of walk.texts) replace('[EMAIL_1]')
    walk.commit()
    return performance.now() - start
  }
  time(1000)
  const small = Math.min(...[1, 2, 3].map(() => time(5000)))
  t.ok(
    time(100_000) < 400 * Math.max(small, 1),
    'twenty times the names in far less than four hundred times the time',
  )
})
