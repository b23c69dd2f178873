// Ambiguous, oversized, slow and hostile requests over raw sockets.

import t from 'tap'
import { headOf, openSocket, readSocket } from './client.ts'
import { prompt } from './gateway.ts'
import { deployProgram } from './gateway-process.ts'
import { fetchInTime } from './until.ts'
import { completion, json, silent, stream } from './upstream.ts'

const { upstream, gateway, key } = await deployProgram(t, json(completion('ok')), {
  config: { limits: { bodyBytes: 4096 } },
})

/**
 * Sends bytes; returns what the gateway answers until the connection closes or the text is enough.
 */
function exchange(request: string | Uint8Array, isEnough?: (text: string) => boolean): Promise<string> {
  const socket = openSocket(gateway)
  socket.write(request)
  return readSocket(socket, isEnough)
}

const body = JSON.stringify(prompt('hi'))
const HEAD = headOf(key)
const LENGTH = `content-length: ${body.length}\r\n`
const CLOSE = 'connection: close\r\n'

/** Requests that must not reach the upstream, with allowed statuses; 0 is a closed connection. */
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
    'a chunk size that is not hexadecimal',
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
  [
    'a body that is not in its coding',
    `${HEAD}content-encoding: gzip\r\n${LENGTH}${CLOSE}\r\n${body}`,
    [400],
  ],
  [
    'a body too large by its declared length',
    `${HEAD}content-length: 5000\r\n${CLOSE}\r\n${'x'.repeat(5000)}`,
    [413],
  ],
  [
    'a body too large by its bytes',
    `${HEAD}transfer-encoding: chunked\r\n${CLOSE}\r\n1388\r\n${'x'.repeat(5000)}\r\n0\r\n\r\n`,
    [413],
  ],
  ['a body that is not UTF-8', `${HEAD}content-length: 3\r\n${CLOSE}\r\n"\xff"`, [400]],
  ['an empty body', `${HEAD}content-length: 0\r\n${CLOSE}\r\n`, [400]],
  [
    'a method that the path does not allow',
    `${HEAD.replace('POST', 'PUT')}${LENGTH}${CLOSE}\r\n${body}`,
    [405],
  ],
  ['a path with dots', `${HEAD.replace('/v1/chat', '/v1/../v1/chat')}${LENGTH}${CLOSE}\r\n${body}`, [400]],
  ['an encoded path', `${HEAD.replace('/v1/chat', '/v1%2fchat')}${LENGTH}${CLOSE}\r\n${body}`, [404]],
  ['no key', `${HEAD.replace(/authorization.*\r\n/, '')}${LENGTH}${CLOSE}\r\n${body}`, [401]],
  ['a key in another scheme', `${HEAD.replace('Bearer', 'Basic')}${LENGTH}${CLOSE}\r\n${body}`, [401]],
  ['not HTTP at all', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', [400]],
]

t.test('an ambiguous or malformed request is refused and never forwarded', async (t) => {
  for (const [name, request, statuses] of REFUSED) {
    const before = upstream.received.length
    const answer = await exchange(Buffer.from(request, 'latin1'))
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0)
    t.ok(statuses.includes(status), `${name}: ${status}`)
    if (status > 0) t.match(answer, /"error":\{"message"/, `${name}: the answer has an error`)
    t.equal(upstream.received.length, before, `${name}: nothing was forwarded`)
  }
})

t.test('a second request smuggled after a refused one is not answered', async (t) => {
  const smuggled = `GET /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n\r\n`
  const before = upstream.received.length
  const answer = await exchange(`${HEAD}${LENGTH}transfer-encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`)
  t.equal(answer.split('HTTP/1.1 ').length, 2)
  t.equal(upstream.received.length, before)
})

t.test('a malformed request closes the connection without an answer to the request before it', async (t) => {
  const { answer } = upstream
  t.teardown(() => {
    upstream.answer = answer
  })
  upstream.answer = silent
  for (const fault of [`${HEAD}host: evil\r\n${LENGTH}\r\n${body}`, '\x16\x03\x01\r\n\r\n']) {
    const arrived = upstream.next()
    const socket = openSocket(gateway)
    const answered = readSocket(socket)
    socket.write(`${HEAD}${LENGTH}\r\n${body}`)
    await arrived
    socket.write(fault)
    t.equal(await answered, '', fault.slice(0, 40))
  }
})

t.test('bytes after a request that closes the connection do not destroy the answer', async (t) => {
  const { answer } = upstream
  t.teardown(() => {
    upstream.answer = answer
  })
  const one = `${HEAD}${LENGTH}${CLOSE}\r\n${body}`
  const old = HEAD.replace('HTTP/1.1', 'HTTP/1.0')
  const streaming = JSON.stringify(prompt('hi', { stream: true }))
  const requests: [string, string][] = [
    ['a call', one],
    ['a call of HTTP/1.0', `${old}${LENGTH}\r\n${body}`],
    ['a stream', `${HEAD}content-length: ${streaming.length}\r\n${CLOSE}\r\n${streaming}`],
    ['a refused call', one.replace(key, 'sgate_live_x')],
    [
      'a chunked call',
      `${HEAD}transfer-encoding: chunked\r\n${CLOSE}\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
    ],
  ]
  const tails: [string, string][] = [
    ['a line end', '\r\n'],
    ['a letter', 'x'],
    ['a second request', one],
    ['no HTTP', '\x16\x03\x01\r\n\r\n'],
    ['a megabyte', 'y'.repeat(1024 * 1024)],
  ]
  for (const [what, request] of requests) {
    upstream.answer = what === 'a stream' ? stream(['ok']) : answer
    const wanted = what === 'a refused call' ? 401 : 200
    for (const [tail, bytes] of tails) {
      const before = upstream.received.length
      const text = await exchange(Buffer.from(request + bytes, 'latin1'))
      t.equal(text.split('HTTP/1.').length, 2, `${what}, ${tail}: one answer`)
      t.match(text, new RegExp(`^HTTP/1\\.1 ${wanted} `), `${what}, ${tail}`)
      t.ok(upstream.received.length - before <= 1, `${what}, ${tail}: the rest is not a call`)
    }
  }
  const arrived = upstream.next()
  const socket = openSocket(gateway)
  const answered = readSocket(socket)
  socket.write(one)
  await arrived
  for (let piece = 0; piece < 20; piece++) socket.write('later')
  t.match(await answered, /^HTTP\/1\.1 200 [\s\S]*\}$/, 'bytes that come while the answer is made')
})

t.test('pipelined, chunked and announced requests are answered', async (t) => {
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

t.test('a client that expects 100-continue gets it only when its body will be read', async (t) => {
  const ask = (headers: string) => exchange(`${headers}expect: 100-continue\r\n\r\n`)
  const stranger = await ask(HEAD.replace(key, 'sgate_live_x') + LENGTH)
  t.match(stranger, /^HTTP\/1\.1 401/)
  t.match(stranger, /connection: close/i, 'the client may still send the body')
  t.match(await ask(`${HEAD}content-length: 4097\r\n`), /^HTTP\/1\.1 413/)
  t.match(await ask(HEAD.replace('application/json', 'text/plain') + LENGTH), /^HTTP\/1\.1 415/)
  t.match(await ask(HEAD.replace('/v1/chat/completions', '/v1/nothing') + LENGTH), /^HTTP\/1\.1 404/)

  const socket = openSocket(gateway)
  let isInvited = false
  socket.write(`${HEAD}expect: 100-continue\r\n${LENGTH}\r\n`)
  const invited = await readSocket(socket, (text) => {
    if (!isInvited && text.includes('100 Continue\r\n\r\n')) {
      isInvited = true
      socket.write(body)
    }
    // The connection stays open: a second request is answered on it.
    const answers = text.split('HTTP/1.1 200').length - 1
    if (answers === 1 && text.endsWith('}')) socket.write(`${HEAD}${LENGTH}\r\n${body}`)
    return answers === 2 && text.endsWith('}')
  })
  t.equal(invited.split('100 Continue').length, 2, 'once')
  t.equal(invited.split('HTTP/1.1 200').length, 3)
})

t.test('a head that never ends gets 408 within its time limit', async (t) => {
  const socket = openSocket(gateway)
  socket.write('POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n')
  const started = performance.now()
  const drip = setInterval(() => socket.write('x-a: b\r\n'), 500)
  const answer = await readSocket(socket).finally(() => clearInterval(drip))
  t.ok(performance.now() - started < 14_000)
  t.match(answer, /^HTTP\/1\.1 408/)
})

t.test('random bytes never end the process', async (t) => {
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
        const socket = openSocket(gateway)
        socket.end(bytes.subarray(0, random(2) === 0 ? bytes.length : random(bytes.length) + 1))
        return readSocket(socket)
      }),
    )
  }
  t.equal((await fetchInTime(`${gateway.opsUrl}/livez`)).status, 200)
  t.equal(gateway.child.exitCode, null)
})

t.test('numbers that a double cannot hold are scanned and forwarded unchanged', async (t) => {
  const schema = '{"minimum":-9223372036854775808,"maximum":9223372036854775807}'
  const response = await fetchInTime(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: `{"model":"a","messages":[{"role":"user","content":"hi"}],"seed":9007199254740993,"x":[4111111111111111,${schema}]}`,
  })
  t.equal(response.status, 200)
  const { body } = upstream.received.at(-1) ?? { body: '' }
  t.match(body, '"seed":9007199254740993')
  t.match(body, schema)
  t.match(body, '"[CREDIT_CARD_1]"')
})

t.test('a prompt that two JSON readers could read differently is refused', async (t) => {
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
    const response = await fetchInTime(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: text,
    })
    t.equal(response.status, 400, name)
    t.match(await response.json(), { error: { code } }, name)
    t.equal(upstream.received.length, before, name)
  }
})

t.test('only allowed headers pass to the upstream and back', async (t) => {
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
  const response = await fetchInTime(`${gateway.url}/v1/chat/completions`, {
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
