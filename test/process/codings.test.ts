// Compressed prompts and answers through the whole gateway.

import { gunzipSync, gzipSync } from 'node:zlib'
import t from 'tap'
import { openGateway, prompt } from './gateway.ts'
import { fetchInTime } from './until.ts'
import { completion, json, startUpstream } from './upstream.ts'

const upstream = await startUpstream()
t.teardown(() => upstream.close())
const gateway = await openGateway(t, {
  upstreamUrl: upstream.baseUrl,
  config: { passThrough: [{ path: '/v1/files', methods: ['POST'] }], limits: { bodyBytes: 1024 * 1024 } },
})
const { key } = await gateway.createKey()

const post = (path: string, body: Buffer, coding = 'gzip') =>
  fetchInTime(`${gateway.url}${path}`, {
    method: 'POST',
    body,
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'content-encoding': coding,
    },
  })

t.test('a compressed prompt is scanned and forwarded as plain JSON', async (t) => {
  upstream.answer = json(completion('ok'))
  const answer = await post('/v1/chat/completions', gzipSync(JSON.stringify(prompt('ask ann@example.com'))))
  t.equal(answer.status, 200)
  const received = upstream.received.at(-1)!
  t.equal(received.headers['content-encoding'], undefined)
  t.equal(received.body, JSON.stringify(prompt('ask [EMAIL_1]')))
})

t.test('a bomb is refused with 413 while it is read', async (t) => {
  const count = upstream.received.length
  const answer = await post('/v1/chat/completions', gzipSync(Buffer.alloc(64 * 1024 * 1024)))
  t.equal(answer.status, 413)
  t.match(await answer.json(), { error: { code: 'body_too_large', message: /limits\.bodyBytes/ } })
  t.equal((await post('/v1/chat/completions', Buffer.from('{}'))).status, 400)
  t.equal((await post('/v1/chat/completions', Buffer.from('{}'), 'lzma')).status, 415)
  t.equal(upstream.received.length, count)
})

t.test('a compressed answer is scanned', async (t) => {
  upstream.answer = (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
    response.end(gzipSync(JSON.stringify(completion('ask bob@example.org'))))
  }
  const answer = await gateway.chat(key, prompt('hi'))
  t.match(await answer.json(), { choices: [{ message: { content: 'ask [EMAIL_1]' } }] })
  t.equal(answer.headers.get('content-encoding'), null)
})

t.test('a body that passes unscanned keeps its coding', async (t) => {
  upstream.answer = (response, { headers, bytes }) => {
    response.setHeader('content-type', 'text/plain')
    response.end(headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : 'plain')
  }
  t.equal(await (await post('/v1/files', gzipSync('a file'))).text(), 'a file')
})
