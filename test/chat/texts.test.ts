import fc from 'fast-check'
import t from 'tap'
import { parseJson } from '../../src/chat/strict-json.ts'
import { dropLogprobs, responseTexts, requestTexts as textsInSteps } from '../../src/chat/texts.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { atOnce } from '../../src/core/steps.ts'

const requestTexts = (body: JsonObject) => atOnce(textsInSteps(body))

const user = (content: unknown): JsonObject => ({ role: 'user', content }) as JsonObject
const chat = (...messages: JsonObject[]): JsonObject => ({ model: 'm', messages })
const base64 = Buffer.from(Array.from({ length: 300 }, (_, i) => (i * 37) % 256)).toString('base64')
const MARK = 'marked text'

/** Bytes that hold what looks like a phone number in base64. */
const withNumber = (head: readonly number[], length: number) => {
  const bytes = Buffer.alloc(length, 0xfb)
  bytes.set(head)
  return bytes.toString('base64').replace(/^(.{60})................/, '$1/+14155552671/AA')
}

/** Places where a client may put words that a model reads. */
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
  'what a data URL says of a picture': chat(
    user([{ type: 'image_url', image_url: { url: `data:image/png;name=${MARK};base64,${base64}` } }]),
  ),
  'what a data URL says of a file': chat(
    user([{ type: 'file', file: { file_data: `data:application/pdf;name=${MARK};base64,${base64}` } }]),
  ),
  'what a data URL says of a text': chat(
    user([{ type: 'file', file: { file_data: `data:text/plain;name=${MARK};base64,aGk=` } }]),
  ),
  'a text in a data URL': chat(user([{ type: 'image_url', image_url: { url: `data:text/plain,${MARK}` } }])),
  'a short payload': chat(user([{ type: 'input_audio', input_audio: { data: 'x', note: MARK } }])),
  'base64 in an unknown media type': chat(
    user([{ type: 'file', file: { file_data: `data:;base64,${MARK}` } }]),
  ),
  'a video URL': chat(user([{ type: 'video_url', video_url: { url: `https://x/${MARK}` } }])),
  'a picture given as a string': chat(user([{ type: 'image_url', image_url: `https://x/${MARK}` }])),
  'a list of strings as content': chat(user(['a', MARK])),
  'a message that is a string': { model: 'm', messages: [MARK] },
  'messages that are no list': { model: 'm', messages: { a: MARK } },
  'thoughts given back': chat({ role: 'assistant', content: 'a', reasoning_content: MARK }),
  'a thought part': chat(user([{ type: 'thinking', thinking: MARK, signature: 'x' }])),
  'a signature that is a sentence': chat(user([{ type: 'thinking', thinking: 'a', signature: MARK }])),
  'a nested tool result': chat(user([{ type: 'tool_result', content: [{ type: 'text', text: MARK }] }])),
  'arguments given as an object': chat({
    role: 'assistant',
    tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: { q: MARK } } }],
  }),
  'arguments of a custom tool': chat({
    role: 'assistant',
    tool_calls: [{ id: 'call_1', type: 'custom', custom: { name: 'f', input: MARK } }],
  }),
  'the id of a file': chat(user([{ type: 'file', file: { file_id: MARK } }])),
  'a tool choice': { ...chat(user('a')), tool_choice: { type: 'function', function: { name: MARK } } },
  'a pattern': tools({ properties: { q: { type: 'string', pattern: MARK } } }),
  'an example': tools({ properties: { q: { type: 'string', examples: [MARK] } } }),
  'a type that is a sentence': tools({ properties: { q: { type: MARK } } }),
  'the name of a default': tools({ properties: { q: { default: { [MARK]: 1 } } } }),
  'a required name': tools({ required: [MARK] }),
  'a template argument': { ...chat(user('a')), chat_template_kwargs: { system: MARK } },
  'a fallback model': { ...chat(user('a')), models: [MARK] },
  'a model in another place': { ...chat(user('a')), metadata: { model: MARK } },
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

t.test('every text of a body is listed and can be replaced', async (t) => {
  for (const [place, original] of Object.entries(PLACES)) {
    const body = structuredClone(original)
    const walk = requestTexts(body)
    const found = walk.texts.filter(({ text }) => text.includes(MARK))
    t.equal(found.length, 1, place)
    for (const one of found) one.replace(one.text.replaceAll(MARK, 'other words'))
    walk.commit()
    t.equal(
      JSON.stringify(body),
      JSON.stringify(original).replaceAll(
        MARK,
        place === 'a text in a data URL' ? 'other%20words' : 'other words',
      ),
      `${place}, rewritten`,
    )
  }
})

t.test('a string in any place of a request is listed', async () => {
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

t.test('a seed is a text from 65 bits on, and where it is no setting', async (t) => {
  const seeds = (json: string) =>
    requestTexts(parseJson(Buffer.from(json)) as JsonObject).texts.flatMap(({ text, isNumber }) =>
      isNumber ? [text] : [],
    )
  for (const seed of ['4111111111111111', '-9223372036854775808', '18446744073709551615', '1000000'])
    t.same(seeds(`{"seed":${seed}}`), [], seed)
  for (const seed of ['18446744073709551616', '4111111111111111.5', '411111111111111111111111'])
    t.equal(seeds(`{"seed":${seed}}`).length, 1, seed)
  t.equal(seeds('{"a":{"seed":4111111111111111}}').length, 1)
})

t.test('a long number is a text unless it is a setting of at most 32 bits', async (t) => {
  const n = 4111111111111111
  const settings = { seed: 4294967295, max_tokens: -4294967295, temperature: n }
  const others = { user: n, safety_identifier: n, metadata: n, stop: [n], prompt: n }
  const found = requestTexts({ ...chat(user('a')), ...settings, ...others } as JsonObject).texts
  t.same(
    found.filter(({ text }) => /^-?\d+$/.test(text)).map(({ path }) => path),
    ['temperature', 'user', 'safety_identifier', 'metadata', 'stop[0]', 'prompt'],
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
    ['https://host/picture.png', 'f', '{}', 'done'],
  )
  t.equal(binaryParts, 4, 'an image with a URL cannot be scanned either')
})

t.test('payloads in the forms of other providers are counted', async (t) => {
  const pdf = { type: 'base64', media_type: 'application/pdf', data: base64 }
  const binary: JsonObject[] = [
    chat(user([{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: base64 } }])),
    chat(user([{ type: 'image', source: { type: 'url', url: 'https://host/a.png' } }])),
    chat(user([{ type: 'document', source: pdf }])),
    chat(user([{ inline_data: { mime_type: 'image/png', data: base64 } }])),
    chat(user([{ fileData: { mimeType: 'video/mp4', fileUri: 'https://host/a.mp4' } }])),
    chat(user([{ type: 'image', image: base64 }])),
    chat(user([{ type: 'image', image: `data:image/png;base64,${base64}` }])),
    chat({ role: 'user', content: 'hi', images: [base64] }),
    chat(user([{ type: 'tool_result', content: [{ type: 'image', source: pdf }] }])),
    chat(user([{ type: 'file', file: { file_data: base64.replace(/.{40}/g, '$&\r\n') } }])),
  ]
  for (const body of binary) {
    const { texts, binaryParts } = requestTexts(body)
    t.equal(binaryParts, 1, JSON.stringify(body))
    t.notOk(
      texts.some(({ text }) => text.includes(base64.slice(0, 40))),
      'none of it is taken for text',
    )
  }
  const key = `sk-ant-api03-${base64.replaceAll(/[+/=]/g, 'x')}`
  for (const body of [
    chat(user([{ type: 'image', image: key }])),
    chat(user([{ type: 'image', source: { type: 'base64', data: key } }])),
    { ...chat(user('a')), metadata: { image: base64, images: [base64], source: { data: base64 } } },
  ]) {
    const { texts } = requestTexts(body)
    t.ok(
      texts.some(({ text }) => text === key || text === base64),
      `${JSON.stringify(body)} is read`,
    )
  }
  const note = 'write to bob@example.com about the contract of last week'
  const encoded = Buffer.from(note).toString('base64')
  const plain = { type: 'document', source: { type: 'text', media_type: 'text/plain', data: note } }
  const read = requestTexts(chat(user([plain])))
  t.ok(read.texts.some(({ text }) => text === note))
  t.equal(read.binaryParts, 0)
  const wrapped = chat(user([{ type: 'file', file: { file_data: encoded.replace(/.{20}/g, '$&\n') } }]))
  t.match(requestTexts(wrapped).texts, [{ text: note }])
})

t.test('a text that looks signed is scanned where no provider signs', async (t) => {
  const secret = 'Tell-me-all-about-Project-Aurora-and-my-SSN-536-22-1234-and-card-4111'
  for (const name of ['signature', 'encrypted_content', 'thought_signature', 'data']) {
    const hiding: JsonObject[] = [
      { ...chat(user('a')), metadata: { [name]: secret } },
      chat(user([{ type: 'text', text: 'a', [name]: secret }])),
      chat({ role: 'user', content: 'a', [name]: secret }),
      tools({ properties: { q: { default: { [name]: secret } } } }),
    ]
    for (const body of hiding)
      t.ok(
        requestTexts(body).texts.some(({ text }) => text === secret),
        JSON.stringify(body),
      )
  }
})

t.test('places that are left out can hold nothing else', async (t) => {
  const parts = (part: object) => chat(user([part]))
  const hidden: [string, JsonObject][] = [
    ['4111-1111-1111-1111', chat({ role: 'tool', tool_call_id: '4111-1111-1111-1111', content: 'a' })],
    ['call_4111111111111111', chat({ role: 'tool', tool_call_id: 'call_4111111111111111', content: 'a' })],
    ['123-45-6789', chat({ role: 'tool', tool_call_id: '123-45-6789', content: 'a' })],
    ['sk-ant-api03-abcdefgh', chat({ role: 'tool', tool_call_id: 'sk-ant-api03-abcdefgh', content: 'a' })],
    ['4111111111111111', chat({ role: 'tool', tool_call_id: 4111111111111111, content: 'a' })],
    ['aurora', chat({ role: 'aurora', content: 'a' })],
    ['aurora', parts({ type: 'aurora' })],
    ['4111111111111111', parts({ type: 'input_audio', input_audio: { data: '4111111111111111' } })],
    ['4111111111111111', parts({ type: 'file', file: { file_data: '4111111111111111' } })],
    [
      'data:image/png;base64,4111111111111111',
      parts({ type: 'image_url', image_url: { url: 'data:image/png;base64,4111111111111111' } }),
    ],
    ['call_abc', { ...chat(user('a')), metadata: { id: 'call_abc' } }],
    ['user', tools({ properties: { user: { type: 'string' } } })],
    ['4111111111111111', { ...chat(user('a')), account: 4111111111111111 }],
    ['4111111111111111', tools({ properties: { q: { enum: [4111111111111111] } } })],
    ['4111111111111111', tools({ properties: { q: { default: 4111111111111111 } } })],
  ]
  for (const [text, body] of hidden) {
    t.equal(requestTexts(body).texts.filter((one) => one.text === text).length, 1, JSON.stringify(body))
  }
  const ids = [
    'call_abc123',
    'toolu_01AbC',
    'chatcmpl-tool-0f',
    '0b5f1a2e-2c22-4d33-8e44-5b5566c67777',
    'D681PevKs',
  ]
  for (const id of ids) {
    const { texts } = requestTexts(chat({ role: 'tool', tool_call_id: id, content: '' }))
    t.same(texts, [], id)
  }
})

t.test('a data URL is a payload in any item or part with a `url`, and a text elsewhere', async (t) => {
  const url = `data:image/png;base64,${withNumber([0xff], 300)}`
  const call = { type: 'code_interpreter_call', id: 'ci_1' }
  for (const body of [
    { input: [{ ...call, outputs: [{ type: 'image', url }] }] },
    { input: [{ type: 'function_call_output', output: [{ type: 'image', url }] }] },
    { input: [{ role: 'user', content: [{ type: 'image', url }] }] },
    chat(user([{ type: 'image', image: { url } }])),
    chat(user([{ type: 'video', video: { url } }])),
    chat(user([{ type: 'image', source: { type: 'url', url } }])),
    chat({ role: 'assistant', content: 'a', images: [{ url }] }),
  ]) {
    const { texts, binaryParts } = requestTexts(body)
    t.notOk(
      texts.some(({ text }) => text === url),
      JSON.stringify(body),
    )
    t.equal(binaryParts, 1, JSON.stringify(body))
  }
  for (const body of [
    { ...chat(user('a')), metadata: { url } },
    { input: [{ ...call, url }] },
    tools({ properties: { q: { default: { url } } } }),
    { messages: [{ role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', input: { url } }] }] },
  ])
    t.ok(
      requestTexts(body).texts.some(({ text }) => text === url),
      JSON.stringify(body),
    )
  const note = 'write to bob@example.com about the contract of last week'
  const csv = `data:text/csv;base64,${Buffer.from(note).toString('base64')}`
  t.ok(
    requestTexts({ input: [{ ...call, outputs: [{ url: csv }] }] }).texts.some(({ text }) => text === note),
  )
  const card = 'data:image/png;base64,4111111111111111'
  t.ok(
    requestTexts({ input: [{ ...call, outputs: [{ url: card }] }] }).texts.some(({ text }) => text === card),
  )
})

t.test('text in a payload is decoded and encoded again', async (t) => {
  const file = (data: string) => chat(user([{ type: 'file', file: { file_data: data } }]))
  const encoded = Buffer.from('write to bob@example.com about the contract of last week').toString('base64')
  const cases: [string, string][] = [
    [`data:text/plain;base64,${encoded}`, 'data:text/plain;base64,'],
    [`data:text/plain;charset=utf-8;base64,${encoded}`, 'data:text/plain;charset=utf-8;base64,'],
    [`data:image/svg+xml;base64,${encoded}`, 'data:image/svg+xml;base64,'],
    [`data:application/octet-stream;base64,${encoded}`, 'data:application/octet-stream;base64,'],
    [encoded, ''],
  ]
  for (const [data, head] of cases) {
    const body = file(data)
    const { texts, binaryParts } = requestTexts(body)
    t.match(texts, [{ text: /bob@example.com/, path: 'messages[0].content[0].file.file_data' }], data)
    t.equal(binaryParts, 1)
    texts[0]?.replace('gone')
    t.match(JSON.stringify(body), `"${head}${Buffer.from('gone').toString('base64')}"`)
  }
  for (const [name, media] of [
    ['media_type', 'text/plain'],
    ['media_type', 'text/csv; charset=utf-8'],
    ['mimeType', 'application/json'],
  ] as const) {
    const source = { type: 'base64', [name]: media, data: Buffer.from('CASE-204711').toString('base64') }
    const body = chat(user([{ type: 'document', source }]))
    const read = requestTexts(body).texts.at(-1)!
    t.equal(read.text, 'CASE-204711', media)
    read.replace('[CASE_1]')
    t.equal(source.data, Buffer.from('[CASE_1]').toString('base64'), 'written back in base64')
    for (const data of ['CASE-204711!', 'CASE204711']) {
      const other = chat(user([{ type: 'document', source: { ...source, data } }]))
      t.equal(requestTexts(other).texts.at(-1)!.text, data, 'no text in base64')
    }
  }
  const percent = chat(user([{ type: 'image_url', image_url: { url: 'data:text/plain,bob%40example.com' } }]))
  t.equal(requestTexts(percent).texts[0]?.text, 'bob@example.com')
  const broken = chat(user([{ type: 'image_url', image_url: { url: 'data:text/plain,%zz' } }]))
  t.equal(requestTexts(broken).texts[0]?.text, 'data:text/plain,%zz')
  const headless = chat(user([{ type: 'image_url', image_url: { url: 'data:whatever' } }]))
  t.equal(requestTexts(headless).texts[0]?.text, 'data:whatever')
  const unreadable = file(`data:application/zip;base64,${base64}`)
  t.match(requestTexts(unreadable), { texts: [], binaryParts: 1 })
})

t.test('signatures of a provider are left out', async (t) => {
  const signature = Buffer.from(Array.from({ length: 90 }, (_, i) => (i * 91) % 256)).toString('base64')
  const body = chat({
    role: 'assistant',
    content: 'a',
    reasoning_details: [{ type: 'reasoning.encrypted', data: signature, id: 'rs_1', index: 0 }],
  })
  t.same(
    requestTexts(body).texts.map(({ text }) => text),
    ['a'],
  )
})

t.test('a body too deep or with too many texts is refused', async (t) => {
  const deep = (levels: number) => {
    let value: JsonObject = { text: 'x' }
    for (let i = 1; i < levels; i++) value = { deep: value }
    return value
  }
  t.doesNotThrow(() => requestTexts(deep(64)))
  t.throws(() => requestTexts(deep(65)), { code: 'invalid_body', message: /64 levels/ })
  t.throws(() => responseTexts(deep(100_000)), { code: 'upstream_unavailable', message: /64 levels/ })
  const many = { metadata: { list: Array.from({ length: 200_001 }, () => 'x') } }
  t.throws(() => requestTexts(many), { code: 'invalid_body', message: /200000 texts/ })
  t.throws(() => responseTexts(many), { code: 'upstream_unavailable' })
})

t.test('a member named __proto__ in an answer stays a member', async (t) => {
  const body = JSON.parse('{"choices":[{"message":{"__proto__":{"a":"x"},"b@c.de":"y"}}]}') as JsonObject
  const walk = responseTexts(body)
  for (const one of walk.texts) one.replace(one.text === '__proto__' ? '__proto__' : 'new')
  walk.commit()
  t.equal(JSON.stringify(body), '{"choices":[{"message":{"__proto__":{"new":"new"},"new":"new"}}]}')
  t.equal(Object.getPrototypeOf((body as any).choices[0].message), Object.prototype)
})

t.test('paths show no name that may be personal data', async (t) => {
  const paths = (body: JsonObject) => requestTexts(body).texts.map(({ path }) => path)
  t.same(paths({ metadata: { ticket: 'x' } }), ['metadata.ticket (name)', 'metadata.ticket'])
  t.same(paths({ metadata: { 'a@b.co': 'x' } }), ["metadata['…'] (name)", "metadata['…']"])
  t.same(paths({ metadata: { n4111111111111111: [['x']] } }), ["metadata['…'] (name)", "metadata['…'][0][0]"])
  t.same(paths(chat(user([{ type: 'text', text: 'x' }]))), ['messages[0].content[0].text'])
})

t.test('identifying numbers become strings when replaced', async (t) => {
  const body = { ...chat(user('a')), metadata: { card: 4111111111111111, count: 12 } }
  const walk = requestTexts(body)
  const [card] = walk.texts.filter(({ path }) => path === 'metadata.card')
  t.equal(card?.text, '4111111111111111')
  card?.replace('[CREDIT_CARD_1]')
  t.same(body.metadata, { card: '[CREDIT_CARD_1]', count: 12 })
  t.notOk(walk.texts.some(({ path }) => path === 'metadata.count'))
})

t.test('names change in place, many at once, and none is lost', async (t) => {
  const metadata: JsonObject = { first: 1, 'a@b.co': 2, 'c@d.co': 3, '[EMAIL_1]': 4, last: 5 }
  const body = { ...chat(user('a')), metadata }
  const walk = requestTexts(body)
  for (const one of walk.texts) if (one.text.includes('@')) one.replace('[EMAIL_1]')
  walk.commit()
  t.same(Object.entries(metadata), [
    ['first', 1],
    ['[EMAIL_1]_2', 2],
    ['[EMAIL_1]_3', 3],
    ['[EMAIL_1]', 4],
    ['last', 5],
  ])
})

t.test('texts of the conversation are numbered, others are not', async (t) => {
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
      ['u', null, null],
      ['a', 0, 'user'],
      ['https://h/x', null, 'user'],
      ['b', 1, 'user'],
      ['c', 2, 'assistant'],
    ],
  )
})

t.test('a tool result in JSON is decoded', async (t) => {
  const { texts } = requestTexts(
    chat({ role: 'tool', tool_call_id: 'call_1', content: '{"a":"b\\u0040c"}' }, user('{"a":1}')),
  )
  t.same(
    texts.map(({ encoding }) => encoding),
    ['json', 'plain'],
  )
})

t.test('an answer lists every text of every choice and nothing of the envelope', async (t) => {
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
          token_ids: [4711],
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
  t.notMatch(JSON.stringify(body), /"token"|4711/)
  t.same(
    responseTexts({ error: { message: 'bad', code: 'c' } }).texts.map(({ text }) => text),
    ['bad', 'c'],
  )
})

t.test('an answer lists long numbers and unknown envelope fields', async (t) => {
  const texts = (body: JsonObject) => responseTexts(body).texts.map(({ text }) => text)
  t.same(texts({ created: 1700000000, usage: { prompt_tokens: 12345678 }, card: 4111111111111111 }), [
    'card',
    '4111111111111111',
  ])
  t.same(texts({ id: 'write to bob@example.com', model: 'bob@example.com', object: 'bob' }).length, 3)
  const ids = ['gen-1732167000-AbCd', 'chatcmpl-123456789012345', '0b5f1a2e-2222-4333-8444-555566667777']
  const models = [
    'gpt-4o-2024-08-06',
    'openai/gpt-4o:free',
    '@cf/meta/llama-3.1-8b-instruct',
    'accounts/a/models/b',
  ]
  for (const id of ids) t.same(texts({ id }), [], id)
  for (const model of models) t.same(texts({ model }), [], model)
  t.same(texts({ provider: 'Google AI Studio' }), [])
  const entry = { token: 'x', logprob: -0.1, bytes: [1], top_logprobs: [{ token: 'y', logprob: -1 }] }
  t.same(texts({ choices: [{ logprobs: { content: [entry], refusal: null } }] }), [])
  const long = 'bob@example.com '.repeat(20)
  t.same(texts({ choices: [{ logprobs: { content: [{ ...entry, token: long }] } }] }), [long])
  t.same(texts({ choices: [{ message: { note: { token: 'x' } } }] }), ['note', 'x'])
})

t.test('a hundred thousand names change in linear time', async (t) => {
  const metadata: JsonObject = {}
  for (let i = 0; i < 100_000; i++) metadata[`n${i}@x.co`] = 1
  const walk = requestTexts({ ...chat(user('a')), metadata })
  for (const one of walk.texts) one.replace('[EMAIL_1]')
  walk.commit()
  const names = Object.keys(metadata)
  t.equal(names.length, 100_000)
  t.same([names[0], names[1], names.at(-1)], ['[EMAIL_1]', '[EMAIL_1]_2', '[EMAIL_1]_100000'])
})

t.test('long numeric ids of tool calls are ids, card numbers are not', async (t) => {
  const read = (id: string) => requestTexts({ messages: [{ role: 'tool', tool_call_id: id, content: 'x' }] })
  const isText = (id: string) => read(id).texts.some(({ text }) => text === id)
  for (const id of [
    'function-call-4855528385812660224',
    'call_-3825841568536541184',
    'call_12345678901234567',
  ]) {
    t.notOk(isText(id), id)
  }
  for (const id of ['function-call-4111111111111111', 'call_4111111111111111', '4855528385812660224']) {
    t.ok(isText(id), id)
  }
})

t.test('the id of a file may be a number after its prefix, in the places of file ids only', async (t) => {
  const isText = (id: string, body: JsonObject) => requestTexts(body).texts.some(({ text }) => text === id)
  const withFile: ((id: string) => JsonObject)[] = [
    (id) => chat(user([{ type: 'file', file: { file_id: id } }])),
    (id) => chat(user([{ type: 'document', source: { type: 'file', file_id: id } }])),
    (id) => ({ input: [{ role: 'user', content: [{ type: 'input_file', file_id: id }] }] }),
    (id) => ({ input: [{ role: 'user', content: [{ type: 'input_image', file_id: id }] }] }),
    (id) => ({
      input: [{ type: 'computer_call_output', output: { type: 'computer_screenshot', file_id: id } }],
    }),
    (id) => ({ tools: [{ type: 'image_generation', input_image_mask: { file_id: id } }] }),
    (id) => ({ tools: [{ type: 'code_interpreter', container: { type: 'auto', file_ids: [id] } }] }),
  ]
  for (const body of withFile) {
    for (const id of ['file-4111111111111111', 'file_4111111111111111', 'file-Ab4111111111111111'])
      t.notOk(isText(id, body(id)), JSON.stringify(body(id)))
    for (const id of [
      ...['4111111111111111', 'call_4111111111111111', 'file-4111-1111-1111-1111', 'file-536-22-1234'],
      ...['file-4111111111111111.pdf', 'file 4111111111111111', `file-${'1'.repeat(65)}`],
    ])
      t.ok(isText(id, body(id)), JSON.stringify(body(id)))
  }
  const id = 'file-4111111111111111'
  for (const body of [
    chat({ role: 'tool', tool_call_id: id, content: 'a' }),
    { ...chat(user('a')), metadata: { file_id: id } },
    tools({ properties: { file_id: { default: id } } }),
  ])
    t.ok(isText(id, body), JSON.stringify(body))
})

const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]

t.test('bytes in the places of both vocabularies are counted and left alone', async (t) => {
  const picture = withNumber([0xff], 300)
  for (const [what, body] of Object.entries({
    'the result of a picture tool': { output: [{ type: 'image_generation_call', result: picture }] },
    'a partial picture': { type: 'response.image_generation_call.partial_image', partial_image_b64: picture },
    'a picture of a code interpreter': {
      output: [
        {
          type: 'code_interpreter_call',
          outputs: [{ type: 'image', url: `data:image/png;base64,${picture}` }],
        },
      ],
    },
    'the same in an event': {
      type: 'response.output_item.done',
      item: {
        type: 'code_interpreter_call',
        outputs: [{ type: 'image', url: `data:image/png;base64,${picture}` }],
      },
    },
    'a picture in the source of a part': {
      content: [{ type: 'image', source: { type: 'url', url: `data:image/png;base64,${picture}` } }],
    },
    'a picture by its name': { data: [{ b64_json: picture }] },
    'a piece of sound': { type: 'response.output_audio.delta', delta: picture },
    'a file in any place': { anything: withNumber(PNG, 6000) },
  })) {
    const { texts, binaryParts } = responseTexts(body)
    t.same(
      texts.filter(({ text }) => text.includes('14155552671')),
      [],
      what,
    )
    t.equal(binaryParts, 1, what)
    const history = requestTexts({ model: 'm', input: [body] } as JsonObject)
    t.equal(history.binaryParts, 1, `${what} in a prompt`)
  }
})

t.test('what only looks like bytes is scanned', async (t) => {
  for (const body of [
    { output: [{ type: 'image_generation_call', result: '+14155552671' }] },
    { output: [{ type: 'other_call', result: withNumber([0xff], 300) }] },
    { anything: withNumber([0x01], 6000) },
    { anything: withNumber(PNG, 300) },
    { anything: `${withNumber(PNG, 6000)} +14155552671` },
    { type: 'response.output_text.delta', delta: withNumber([0xff], 300) },
    { b64_json: Buffer.from(`${'call me '.repeat(20)}+14155552671`).toString('base64') },
  ]) {
    const { texts } = responseTexts(body as JsonObject)
    t.ok(
      texts.some(({ text }) => text.includes('14155552671')),
      JSON.stringify(body).slice(0, 60),
    )
  }
})
