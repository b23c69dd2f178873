// Containers of a provider, in which its tools run, belong to the key whose answer named them; so do
// items of responses, wherever a request names them.

import t from 'tap'
import { deploy } from './gateway.ts'
import {
  messageEvents,
  message as messageOf,
  streamed,
  streamedText,
  textBlock,
} from './messages-upstream.ts'
import { outputText, responseOf } from './responses-upstream.ts'
import { fetchInTime } from './until.ts'
import { type Answer, json } from './upstream.ts'

const { upstream, gateway, key } = await deploy(t)
const { key: otherKey } = await gateway.createKey('other')

async function post(by: string, path: string, body: object) {
  const before = upstream.received.length
  const response = await fetchInTime(`${gateway.url}/v1${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${by}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'test/model', ...body }),
  })
  const text = await response.text()
  return { status: response.status, text, isForwarded: upstream.received.length > before }
}

let made = 0
const respond = (by: string, body: object, items: object[] = [outputText('Hello.')], answer: object = {}) => {
  upstream.answer = json({ ...responseOf(...items), id: `resp_container${++made}`, ...answer })
  return post(by, '/responses', { input: 'hi', ...body })
}

const cited = (id: string) => ({
  ...outputText('a file'),
  content: [
    {
      type: 'output_text',
      text: 'a file',
      annotations: [
        { type: 'container_file_citation', container_id: id, file_id: 'cfile_1', filename: 'a.csv' },
      ],
    },
  ],
})
const interpreted = (id: string) => ({
  id: `ci_${id}`,
  type: 'code_interpreter_call',
  status: 'completed',
  container_id: id,
  code: '1 + 1',
  outputs: [],
})

/** Requests that name a container of responses, by where. */
const naming = (id: string): Record<string, object> => ({
  interpreter: { tools: [{ type: 'code_interpreter', container: id }] },
  'another case': { tools: [{ type: 'code_interpreter', Container: id }] },
  shell: { tools: [{ type: 'shell', environment: { type: 'container_reference', container_id: id } }] },
})
const repeating = (id: string): Record<string, object> => ({
  'a call': { input: [interpreted(id)] },
  'a quotation': { input: [cited(id)] },
})

t.test('a container of a response is there for the key whose call made it', async (t) => {
  const cases: [string, object[], object][] = [
    ['cntr_682e0e7318108198', [interpreted('cntr_682e0e7318108198')], {}],
    ['cntr_cited', [cited('cntr_cited')], {}],
    ['cntr_unkept', [interpreted('cntr_unkept')], { store: false }],
    ['cntr_shell', [{ type: 'shell_call', id: 'sh_1', environment: { container_id: 'cntr_shell' } }], {}],
  ]
  for (const [id, items, body] of cases) {
    t.equal((await respond(key, body, items)).status, 200, id)
    for (const [where, request] of Object.entries({ ...naming(id), ...repeating(id) })) {
      const own = await respond(key, request)
      t.match(own, { status: 200, isForwarded: true }, `${id}: ${where}`)
      const foreign = await respond(otherKey, request)
      t.match(foreign, { status: 404, isForwarded: false, text: /not found/ }, `${id}: ${where}`)
    }
  }
  for (const [where, request] of Object.entries(naming('cntr_unknown')))
    t.match(
      await respond(key, request),
      { status: 404, isForwarded: false, text: /Container with id/ },
      where,
    )
  for (const request of Object.values(repeating('cntr_unknown')))
    t.equal((await respond(key, request)).status, 200, 'one that no call made may be of another provider')
  t.equal(
    (await respond(key, { tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] })).status,
    200,
  )
})

t.test('a container of a background response belongs to its key once the response is read', async (t) => {
  await respond(key, { background: true }, [], { status: 'queued', usage: null })
  const id = `resp_container${made}`
  upstream.answer = json({ ...responseOf(interpreted('cntr_later')), id })
  const headers = { authorization: `Bearer ${key}` }
  t.equal((await fetchInTime(`${gateway.url}/v1/responses/${id}`, { headers })).status, 200)
  const request = naming('cntr_later')['interpreter']!
  t.equal((await respond(key, request)).status, 200)
  t.equal((await respond(otherKey, request)).status, 404)
})

t.test('an answer that quotes the container of another key does not take it over', async (t) => {
  await respond(key, {}, [interpreted('cntr_kept')])
  await respond(otherKey, {}, [cited('cntr_kept')])
  const request = naming('cntr_kept')['interpreter']!
  t.equal((await respond(otherKey, request)).status, 404)
  t.equal((await respond(key, request)).status, 200)
})

t.test('a container of a message is there for the key whose call made it', async (t) => {
  const ask = (by: string, body: object, answer: Answer = json(messageOf(textBlock('Hello.')))) => {
    upstream.answer = answer
    return post(by, '/messages', { max_tokens: 10, messages: [{ role: 'user', content: 'hi' }], ...body })
  }
  const container = (id: string) => ({ id, expires_at: '2030-01-01T00:00:00Z' })
  await ask(key, {}, json({ ...messageOf(textBlock('Hello.')), container: container('container_1') }))
  const events = messageEvents([streamedText('Hello.')]).map((event) =>
    event.includes('"message_delta"')
      ? event.replace('"delta":{', `"delta":{"container":${JSON.stringify(container('container_2'))},`)
      : event,
  )
  t.match(await ask(key, { stream: true }, streamed(events)), { text: /container_2/ })
  for (const id of ['container_1', 'container_2'])
    for (const body of [{ container: id }, { container: { id, skills: [] } }, { container: { Id: id } }]) {
      const what = JSON.stringify(body)
      t.match(await ask(otherKey, body), { status: 404, isForwarded: false, text: /not found/ }, what)
      t.match(await ask(key, body), { status: 200, isForwarded: true }, what)
    }
  t.equal((await ask(key, { Container: 'container_1' })).status, 400)
  t.match(await ask(key, { container: 'container_unknown' }), { status: 404, isForwarded: false })
  t.equal((await ask(key, { container: { skills: [] } })).status, 200)
  const tool = { type: 'tool_use', id: 'toolu_1', name: 'deploy', input: { container: 'nginx' } }
  t.equal((await ask(key, { messages: [{ role: 'assistant', content: [tool] }] })).status, 200, 'of a tool')
})

t.test('an item is looked up wherever a request refers to it', async (t) => {
  await respond(key, {}, [{ ...outputText('Hello.'), id: 'msg_mine' }])
  const message = (...content: object[]) => ({ type: 'message', role: 'user', content })
  const result = (...output: object[]) => ({ type: 'function_call_output', call_id: 'call_1', output })
  const requests = (id: string): Record<string, object> => ({
    content: { input: [message({ type: 'item_reference', id })] },
    'an id alone in content': { input: [message({ id })] },
    output: { input: [result({ type: 'item_reference', id })] },
    'an id alone in output': { input: [result({ id })] },
    variables: { prompt: { id: 'pmpt_1', variables: { a: { type: 'item_reference', id } } } },
    'another case': { input: [{ type: 'item_reference', Id: id }] },
    item_id: { input: [{ type: 'item_reference', item_id: id }] },
    'another case alone': { input: [{ ID: id }] },
  })
  for (const [where, request] of Object.entries(requests('msg_mine'))) {
    t.match(await respond(key, request), { status: 200, isForwarded: true }, where)
    t.match(await respond(otherKey, request), { status: 404, isForwarded: false }, `${where}: another key`)
  }
  for (const [where, request] of Object.entries(requests('msg_unknown')))
    t.match(await respond(key, request), { status: 404, isForwarded: false }, `${where}: unknown`)
  for (const request of [
    { prompt: { id: 'pmpt_1' } },
    {
      input: [
        { type: 'computer_call_output', call_id: 'c', acknowledged_safety_checks: [{ id: 'cu_sc_1' }] },
      ],
    },
    { tools: [{ type: 'function', name: 'f', parameters: { properties: { id: { type: 'string' } } } }] },
  ])
    t.equal((await respond(key, request)).status, 200, JSON.stringify(request))
})
