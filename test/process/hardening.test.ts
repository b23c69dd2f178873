// Raw requests over real sockets: what ambiguous, oversized, slow and hostile clients get.

import { connect, type Socket } from 'node:net'
import t from 'tap'
import { discard, startGateway } from './gateway.ts'
import { completion, json, startUpstream } from './upstream.ts'

const upstream = await startUpstream(json(completion('ok')))
const gateway = await startGateway({ upstreamUrl: upstream.baseUrl, config: { limits: { bodyBytes: 4096 } } })
t.teardown(async () => {
  await discard(gateway)
  await upstream.close()
})
const { key } = await gateway.createKey()
const port = Number(new URL(gateway.url).port)

function open(): Socket {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  return socket
}

/** Everything the gateway answers until it closes or `done` says it is enough. */
function exchange(request: string | Buffer, done: (text: string) => boolean = () => false): Promise<string> {
  return new Promise((resolve) => {
    const socket = open()
    let text = ''
    socket.on('data', (data) => {
      text += data.toString('latin1')
      if (done(text)) socket.destroy()
    })
    socket.on('close', () => resolve(text))
    socket.write(request)
  })
}

const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] })
const HEAD = `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost:${port}\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\n`
const LENGTH = `content-length: ${body.length}\r\n`
const CLOSE = 'connection: close\r\n'

/** Requests that must not reach the upstream, and the status each gets; 0 is a closed connection. */
const REFUSED: [string, string, number[]][] = [
  ['two Host headers', `${HEAD}host: evil\r\n${LENGTH}${CLOSE}\r\n${body}`, [400]],
  ['no Host header', `POST /v1/chat/completions HTTP/1.1\r\n${LENGTH}${CLOSE}\r\n${body}`, [400]],
  ['an absolute target', `${HEAD.replace('POST /', 'POST http://evil/')}${LENGTH}${CLOSE}\r\n${body}`, [400]],
  ['an authority target', `CONNECT evil:443 HTTP/1.1\r\nhost: evil\r\n\r\n`, [0, 400]],
  ['an asterisk target', `OPTIONS * HTTP/1.1\r\nhost: localhost\r\n${CLOSE}\r\n`, [400]],
  ['HTTP/0.9', 'GET /v1/models\r\n\r\n', [400]],
  [
    'HTTP/1.0 with transfer-encoding',
    HEAD.replace('HTTP/1.1', 'HTTP/1.0') +
      `transfer-encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
    [400],
  ],
  ['HTTP/2.0 in the line', `${HEAD.replace('HTTP/1.1', 'HTTP/2.0')}${LENGTH}\r\n${body}`, [400]],
  ['gzip and chunked', `${HEAD}transfer-encoding: gzip, chunked\r\n${CLOSE}\r\n0\r\n\r\n`, [400]],
  [
    'chunked twice',
    `${HEAD}transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n${CLOSE}\r\n0\r\n\r\n`,
    [400],
  ],
  ['an unknown coding', `${HEAD}transfer-encoding: xchunked\r\n${CLOSE}\r\n`, [400]],
  ['both framings', `${HEAD}${LENGTH}transfer-encoding: chunked\r\n${CLOSE}\r\n0\r\n\r\n`, [400]],
  ['two lengths', `${HEAD}${LENGTH}content-length: 5\r\n${CLOSE}\r\n${body}`, [400]],
  ['a signed length', `${HEAD}content-length: +5\r\n${CLOSE}\r\n${body}`, [400]],
  ['a length in hex', `${HEAD}content-length: 0x10\r\n${CLOSE}\r\n${body}`, [400]],
  ['a space before the colon', `${HEAD}x-a : b\r\n${LENGTH}${CLOSE}\r\n${body}`, [400]],
  ['a folded header', `${HEAD}x-a: b\r\n c\r\n${LENGTH}${CLOSE}\r\n${body}`, [400]],
  ['a bare line feed in the head', `${HEAD.replace(/\r\n$/, '\n')}${LENGTH}${CLOSE}\r\n${body}`, [400]],
  ['a zero byte in a header', `${HEAD}x-a: b\0c\r\n${LENGTH}${CLOSE}\r\n${body}`, [400]],
  ['a head of 20 KiB', `${HEAD}x-a: ${'b'.repeat(20_000)}\r\n${LENGTH}${CLOSE}\r\n${body}`, [400]],
  [
    'a chunk size that is not hex',
    `${HEAD}transfer-encoding: chunked\r\n${CLOSE}\r\nzz\r\nhi\r\n0\r\n\r\n`,
    [400],
  ],
  [
    'no content-type',
    `${HEAD.replace('content-type: application/json\r\n', '')}${LENGTH}${CLOSE}\r\n${body}`,
    [415],
  ],
  [
    'another content-type',
    `${HEAD.replace('application/json', 'text/plain')}${LENGTH}${CLOSE}\r\n${body}`,
    [415],
  ],
  ['a compressed body', `${HEAD}content-encoding: gzip\r\n${LENGTH}${CLOSE}\r\n${body}`, [415]],
  ['a body too large by its length', `${HEAD}content-length: 5000\r\n${CLOSE}\r\n${'x'.repeat(5000)}`, [413]],
  [
    'a body too large by its bytes',
    `${HEAD}transfer-encoding: chunked\r\n${CLOSE}\r\n1388\r\n${'x'.repeat(5000)}\r\n0\r\n\r\n`,
    [413],
  ],
  ['a body that is not UTF-8', `${HEAD}content-length: 3\r\n${CLOSE}\r\n"\xff"`, [400]],
  ['an empty body', `${HEAD}content-length: 0\r\n${CLOSE}\r\n`, [400]],
  ['a method that is not answered', `${HEAD.replace('POST', 'PUT')}${LENGTH}${CLOSE}\r\n${body}`, [405]],
  ['a path with dots', `${HEAD.replace('/v1/chat', '/v1/../v1/chat')}${LENGTH}${CLOSE}\r\n${body}`, [404]],
  ['an encoded path', `${HEAD.replace('/v1/chat', '/v1%2fchat')}${LENGTH}${CLOSE}\r\n${body}`, [404]],
  ['no key', `${HEAD.replace(/authorization.*\r\n/, '')}${LENGTH}${CLOSE}\r\n${body}`, [401]],
  ['a key by another scheme', `${HEAD.replace('Bearer', 'Basic')}${LENGTH}${CLOSE}\r\n${body}`, [401]],
  ['not HTTP at all', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', [400]],
]

t.test('requests that could be read in two ways are not read at all', async (t) => {
  for (const [name, request, statuses] of REFUSED) {
    const before = upstream.received.length
    const answer = await exchange(Buffer.from(request, 'latin1'))
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0)
    t.ok(statuses.includes(status), `${name}: ${status}`)
    if (status > 0) t.match(answer, /"error":\{"message"/, `${name}: the error says what is wrong`)
    t.equal(upstream.received.length, before, `${name}: nothing was forwarded`)
  }
})

t.test('a second request smuggled behind a refused one is not answered', async (t) => {
  const smuggled = `GET /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n\r\n`
  const before = upstream.received.length
  const answer = await exchange(`${HEAD}${LENGTH}transfer-encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`)
  t.equal(answer.split('HTTP/1.1 ').length, 2)
  t.equal(upstream.received.length, before)
})

t.test('a faulty request behind another is no answer to that', async (t) => {
  const { answer } = upstream
  t.teardown(() => {
    upstream.answer = answer
  })
  upstream.answer = () => {}
  for (const fault of [`${HEAD}host: evil\r\n${LENGTH}\r\n${body}`, '\x16\x03\x01\r\n\r\n']) {
    const arrived = upstream.next()
    const socket = open()
    let text = ''
    socket.on('data', (data) => {
      text += data
    })
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.write(`${HEAD}${LENGTH}\r\n${body}`)
    await arrived
    socket.write(fault)
    await closed
    t.equal(text, '', fault.slice(0, 40))
  }
})

t.test('what is right still works, kept alive and pipelined', async (t) => {
  const one = `${HEAD}${LENGTH}\r\n${body}`
  const answer = await exchange(
    one + one,
    (text) => text.split('HTTP/1.1 200').length === 3 && text.endsWith('}'),
  )
  t.equal(answer.split('HTTP/1.1 200').length, 3)
  const chunked = `${HEAD}transfer-encoding: chunked\r\n${CLOSE}\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
  t.match(await exchange(chunked), /^HTTP\/1\.1 200/)
  t.match(
    await exchange(`${HEAD}expect: 100-continue\r\n${LENGTH}${CLOSE}\r\n${body}`),
    /100 Continue[\s\S]*HTTP\/1\.1 200/,
  )
})

t.test('a client that asks before it sends its body is told to only where somebody reads it', async (t) => {
  const ask = (headers: string) => exchange(`${headers}expect: 100-continue\r\n\r\n`)
  const stranger = await ask(HEAD.replace(key, 'sgate_live_x') + LENGTH)
  t.match(stranger, /^HTTP\/1\.1 401/)
  t.match(stranger, /connection: close/i, 'it may send the body all the same')
  t.match(await ask(`${HEAD}content-length: 4097\r\n`), /^HTTP\/1\.1 413/)
  t.match(await ask(HEAD.replace('application/json', 'text/plain') + LENGTH), /^HTTP\/1\.1 415/)
  t.match(await ask(HEAD.replace('/v1/chat/completions', '/v1/nothing') + LENGTH), /^HTTP\/1\.1 404/)

  const invited = await new Promise<string>((resolve) => {
    const socket = open()
    let text = ''
    let told = false
    socket.on('data', (data) => {
      text += data
      if (!told && text.includes('100 Continue\r\n\r\n')) socket.write(body)
      told ||= text.includes('100 Continue')
      // The connection goes on: a second request is answered on it.
      if (text.endsWith('}')) {
        if (text.split('HTTP/1.1 200').length === 3) socket.destroy()
        else socket.write(`${HEAD}${LENGTH}\r\n${body}`)
      }
    })
    socket.on('close', () => resolve(text))
    socket.write(`${HEAD}expect: 100-continue\r\n${LENGTH}\r\n`)
  })
  t.equal(invited.split('100 Continue').length, 2, 'once')
  t.equal(invited.split('HTTP/1.1 200').length, 3)
})

t.test('a head that never ends is closed within its time', async (t) => {
  const socket = open()
  socket.write('POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n')
  const started = performance.now()
  const drip = setInterval(() => socket.write('x-a: b\r\n'), 500)
  let answer = ''
  socket.on('data', (data) => {
    answer += data
  })
  await new Promise((resolve) => socket.once('close', resolve))
  clearInterval(drip)
  t.ok(performance.now() - started < 14_000)
  t.match(answer, /^HTTP\/1\.1 408/)
})

t.test('fuzzed bytes never take the process down', async (t) => {
  const valid = Buffer.from(`${HEAD}${LENGTH}${CLOSE}\r\n${body}`)
  let seed = 7
  const random = (below: number) => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
    return seed % below
  }
  for (let round = 0; round < 20; round++) {
    await Promise.all(
      Array.from({ length: 10 }, () => {
        const bytes = Buffer.from(valid)
        for (let i = 0; i <= random(6); i++) bytes[random(bytes.length)] = random(256)
        return exchangeShort(bytes.subarray(0, random(2) === 0 ? bytes.length : random(bytes.length) + 1))
      }),
    )
  }
  t.equal((await fetch(`${gateway.opsUrl}/livez`)).status, 200)
  t.equal(gateway.child.exitCode, null)
})

/** Sends, ends its side, and reads what comes. */
function exchangeShort(bytes: Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    const socket = open()
    socket.on('close', () => resolve())
    socket.on('data', () => {})
    socket.end(bytes)
  })
}

t.test(
  'numbers that a double cannot hold arrive as they were sent, and are read like any other',
  async (t) => {
    const schema = '{"minimum":-9223372036854775808,"maximum":9223372036854775807}'
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: `{"model":"a","messages":[{"role":"user","content":"hi"}],"seed":9007199254740993,"x":[4111111111111111,${schema}]}`,
    })
    t.equal(response.status, 200)
    const { body } = upstream.received.at(-1) ?? { body: '' }
    t.match(body, '"seed":9007199254740993')
    t.match(body, schema)
    t.match(body, '"[CREDIT_CARD_1]"')
  },
)

t.test('prompts that readers could disagree about', async (t) => {
  const message = '[{"role":"user","content":"hi"}]'
  const cases: [string, string, string][] = [
    ['the same key twice', `{"model":"a","model":"b","messages":${message}}`, 'invalid_body'],
    ['a key in other case', `{"model":"a","messages":${message},"Messages":[]}`, 'invalid_body'],
    ['a prototype', `{"model":"a","messages":${message},"__proto__":{"x":1}}`, 'invalid_body'],
    [
      'too deep',
      `{"model":"a","messages":${message},"x":${'['.repeat(70)}${']'.repeat(70)}}`,
      'invalid_body',
    ],
    ['half a pair', `{"model":"a","messages":[{"role":"user","content":"\\ud800"}]}`, 'invalid_body'],
    ['token ids', `{"model":"a","messages":[{"role":"user","content":[1,2,3]}]}`, 'invalid_body'],
    ['another upstream', `{"model":"a","messages":${message},"base_url":"http://evil"}`, 'invalid_body'],
    ['trailing text', `{"model":"a","messages":${message}}{}`, 'invalid_body'],
  ]
  for (const [name, text, code] of cases) {
    const before = upstream.received.length
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: text,
    })
    t.equal(response.status, 400, name)
    t.match(await response.json(), { error: { code } }, name)
    t.equal(upstream.received.length, before, name)
  }
})

t.test('only allowed headers cross', async (t) => {
  upstream.answer = (response) => {
    response.writeHead(200, {
      'content-type': 'application/json',
      'set-cookie': 'a=b',
      server: 'upstream',
      'alt-svc': 'h3=":443"',
      'strict-transport-security': 'max-age=1',
      'x-powered-by': 'x',
    })
    response.end(JSON.stringify(completion('ok')))
  }
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      cookie: 'c=d',
      'x-internal': 'secret',
      traceparent: '00-1-2-01',
    },
    body,
  })
  await response.text()
  for (const name of ['set-cookie', 'server', 'alt-svc', 'strict-transport-security', 'x-powered-by'])
    t.notOk(response.headers.has(name), name)
  const sent = upstream.received.at(-1)?.headers ?? {}
  t.equal(sent.traceparent, '00-1-2-01')
  for (const name of ['cookie', 'x-internal']) t.notOk(name in sent, name)
  t.notMatch(JSON.stringify(sent), key)
})
