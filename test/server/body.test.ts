// Reading JSON bodies from real connections: limits, media types, and clients that disconnect.

import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { BODY_LIMIT, readJsonBody } from '../../src/server/body.ts'

// Deadline of every wait in this file.
t.setTimeout(120_000)

/** Fields an error must have. */
const like = (fields: object) => fields as Error

const JSON_TYPE = 'content-type: application/json'
const LIMIT = 1000

/** Returns a request whose head has arrived, and the client's socket for the rest. */
async function open(t: Test, ...head: string[]): Promise<{ request: IncomingMessage; socket: Socket }> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.on('error', () => {})
  t.teardown(() => {
    socket.destroy()
    server.close()
    server.closeAllConnections()
  })
  const request = new Promise<IncomingMessage>((resolve) => server.once('request', resolve))
  socket.write(`${['POST / HTTP/1.1', 'host: localhost', ...head].join('\r\n')}\r\n\r\n`)
  return { request: await request, socket }
}

const chunk = (bytes: Buffer) => Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, CRLF])
const CRLF = Buffer.from('\r\n')
const LAST_CHUNK = '0\r\n\r\n'

t.test('only JSON media types are accepted', async (t) => {
  const accepted = [
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json ;charset=utf-8',
    'application/problem+json',
    'application/vnd.api+json;v=1',
  ]
  for (const type of accepted) {
    const { request, socket } = await open(t, `content-type: ${type}`, 'content-length: 2')
    socket.write('{}')
    t.equal(String(await readJsonBody(request, LIMIT)), '{}', type)
  }
  const refused = [
    'text/plain',
    'text/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=application/json',
    'text/plain; x=application/json',
    'application/jsonp',
    'application/json, text/plain',
    'application/json5',
    'application/+json',
    '*/*',
  ]
  for (const type of refused) {
    const { request } = await open(t, `content-type: ${type}`, 'content-length: 2')
    await t.rejects(readJsonBody(request, LIMIT), like({ code: 'unsupported_media_type' }), type)
  }
  const { request } = await open(t, 'content-length: 2')
  await t.rejects(readJsonBody(request, LIMIT), like({ code: 'unsupported_media_type' }), 'none')
})

const CODED: Record<string, (text: string) => Buffer> = {
  gzip: gzipSync,
  'X-GZIP': gzipSync,
  deflate: deflateSync,
  'deflate ': deflateRawSync,
  br: brotliCompressSync,
  zstd: zstdCompressSync,
}

t.test('a compressed body is decoded, in pieces of any size', async (t) => {
  const text = JSON.stringify({ text: 'é'.repeat(100) + Math.random() })
  for (const [coding, encode] of Object.entries(CODED)) {
    const bytes = encode(text)
    const { request, socket } = await open(
      t,
      JSON_TYPE,
      `content-encoding: ${coding}`,
      'transfer-encoding: chunked',
    )
    for (let at = 0; at < bytes.length; at += 7) socket.write(chunk(bytes.subarray(at, at + 7)))
    socket.write(LAST_CHUNK)
    t.equal(String(await readJsonBody(request, LIMIT)), text, coding)
  }
})

t.test('a compressed body keeps to the limit decoded, and must be whole', async (t) => {
  const refused = async (coding: string, bytes: Buffer, limit = LIMIT) => {
    const head = [`content-encoding: ${coding}`, `content-length: ${bytes.length}`]
    const { request, socket } = await open(t, JSON_TYPE, ...head)
    socket.write(bytes)
    return readJsonBody(request, limit).then(
      () => null,
      (error) => error.code,
    )
  }
  const long = 'x'.repeat(LIMIT + 1)
  const bomb = 'x'.repeat(8 * 1024 * 1024)
  for (const [coding, encode] of Object.entries(CODED)) {
    t.equal(await refused(coding, encode(long)), 'body_too_large', coding)
    t.equal(await refused(coding, encode(long.slice(1))), null, coding)
    t.equal(await refused(coding, encode(bomb), 32 * 1024 * 1024), 'body_too_large', `${coding}: a bomb`)
    t.equal(await refused(coding, encode(long.slice(1)).subarray(0, -9)), 'invalid_body', `${coding}: cut`)
  }
  for (const coding of ['gzip', 'br', 'zstd', 'deflate'])
    t.equal(await refused(coding, Buffer.from('{"a":"plain text"}')), 'invalid_body', coding)
})

t.test('a coding that is not known, and more than one, is refused', async (t) => {
  for (const encoding of ['gzip, br', 'identity, gzip', 'x', 'compress']) {
    const { request } = await open(t, JSON_TYPE, `content-encoding: ${encoding}`, 'content-length: 2')
    const error = like({
      code: 'unsupported_media_type',
      headers: { 'accept-encoding': 'gzip, deflate, br, zstd' },
    })
    await t.rejects(readJsonBody(request, LIMIT), error, encoding)
  }
  const { request, socket } = await open(t, JSON_TYPE, 'content-encoding: Identity', 'content-length: 2')
  socket.write('{}')
  t.equal(String(await readJsonBody(request, LIMIT)), '{}')
})

t.test('a body over the limit is refused, by its content-length or while it is read', async (t) => {
  for (const length of [0, 1, LIMIT - 1, LIMIT]) {
    const { request, socket } = await open(t, JSON_TYPE, `content-length: ${length}`)
    socket.write(Buffer.alloc(length, 'x'))
    t.equal((await readJsonBody(request, LIMIT)).length, length)
  }
  const announced = await open(t, JSON_TYPE, `content-length: ${LIMIT + 1}`)
  announced.socket.write(Buffer.alloc(LIMIT + 1))
  await t.rejects(
    readJsonBody(announced.request, LIMIT, { setBy: BODY_LIMIT }),
    like({ code: 'body_too_large', message: /1000 bytes \(limits\.bodyBytes\)/ }),
  )
  const whole = await open(t, JSON_TYPE, 'transfer-encoding: chunked')
  whole.socket.write(chunk(Buffer.alloc(LIMIT, 'x')))
  whole.socket.write(LAST_CHUNK)
  t.equal((await readJsonBody(whole.request, LIMIT)).length, LIMIT)
  const chunked = await open(t, JSON_TYPE, 'transfer-encoding: chunked')
  chunked.socket.write(chunk(Buffer.alloc(LIMIT)))
  chunked.socket.write(chunk(Buffer.alloc(1)))
  chunked.socket.write(LAST_CHUNK)
  await t.rejects(readJsonBody(chunked.request, LIMIT), like({ code: 'body_too_large' }))
})

t.test('a body that is too large is refused even if the rest never arrives', async (t) => {
  const { request, socket } = await open(t, JSON_TYPE, `content-length: ${LIMIT + 1}`)
  const read = readJsonBody(request, LIMIT)
  socket.write('x')
  await t.rejects(read, like({ code: 'body_too_large' }))
})

t.test('a refused body is read for a limited time only', async (t) => {
  const { request, socket } = await open(t, JSON_TYPE, `content-length: ${2 ** 40}`)
  const piece = Buffer.alloc(1024 * 1024)
  let written = 0
  const pour = () => {
    if (socket.destroyed) return
    written += piece.length
    socket.write(piece, pour)
  }
  pour()
  await t.rejects(readJsonBody(request, LIMIT), like({ code: 'body_too_large' }))
  t.ok(written < 1024 ** 3, `${written} bytes`)
})

t.test('a client that disconnects gets bad_request', async (t) => {
  for (const head of ['content-length: 10', 'transfer-encoding: chunked']) {
    const { request, socket } = await open(t, JSON_TYPE, head)
    const read = readJsonBody(request, LIMIT)
    socket.destroy()
    await t.rejects(read, like({ code: 'bad_request' }), head)
  }
  const { request, socket } = await open(t, JSON_TYPE, `content-length: ${LIMIT + 1}`)
  const read = readJsonBody(request, LIMIT)
  socket.destroy()
  await t.rejects(read, like({ code: 'body_too_large' }), 'its content-length was too large already')
})

t.test('the body is the same for any chunks', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.uint8Array({ minLength: 1, maxLength: 100 }), { maxLength: 9 }),
      async (pieces) => {
        const { request, socket } = await open(t, JSON_TYPE, 'transfer-encoding: chunked')
        for (const piece of pieces) socket.write(chunk(Buffer.from(piece)))
        socket.write(LAST_CHUNK)
        const body = await readJsonBody(request, LIMIT)
        return body.equals(Buffer.concat(pieces))
      },
    ),
    { numRuns: 30 },
  )
})

t.test(
  'bytes are reserved before they are stored: all with content-length, else chunk by chunk',
  async (t) => {
    const kept: number[] = []
    const keep = (bytes: number) => void kept.push(bytes)
    const announced = await open(t, JSON_TYPE, 'content-length: 4')
    const reading = readJsonBody(announced.request, LIMIT, { reserve: keep })
    t.same(kept, [4])
    announced.socket.write('{   ')
    await reading
    t.same(kept, [4])
    const chunked = await open(t, JSON_TYPE, 'transfer-encoding: chunked')
    chunked.socket.write(chunk(Buffer.from('{}')))
    chunked.socket.write(LAST_CHUNK)
    await readJsonBody(chunked.request, LIMIT, { reserve: keep })
    t.same(kept, [4, 2])
  },
)

t.test('an error of reserve ends the reading', async (t) => {
  const full = () => {
    throw new Error('full')
  }
  const announced = await open(t, JSON_TYPE, 'content-length: 4')
  announced.socket.write('{   ')
  await t.rejects(readJsonBody(announced.request, LIMIT, { reserve: full }), like({ message: 'full' }))
  const chunked = await open(t, JSON_TYPE, 'transfer-encoding: chunked')
  for (const piece of ['{', '}', ' ']) chunked.socket.write(chunk(Buffer.from(piece)))
  chunked.socket.write(LAST_CHUNK)
  await t.rejects(readJsonBody(chunked.request, LIMIT, { reserve: full }), like({ message: 'full' }))
})

t.test('a body in very many chunks takes no more memory than its bytes', async (t) => {
  setFlagsFromString('--expose-gc')
  const gc: () => void = runInNewContext('gc')
  const count = 20_000
  const { request, socket } = await open(t, JSON_TYPE, 'transfer-encoding: chunked')
  const read = readJsonBody(request, count)
  const pieces: WeakRef<Buffer>[] = []
  const arrived = new Promise<void>((resolve) =>
    request.on('data', (piece: Buffer) => {
      pieces.push(new WeakRef(piece))
      if (pieces.length === count) resolve()
    }),
  )
  const sent = Buffer.from(Array.from({ length: count }, (_, index) => index % 251))
  socket.write(Buffer.concat([...sent].map((byte) => chunk(Buffer.from([byte])))))
  await arrived
  // A weak reference is kept until the end of the turn.
  await new Promise(setImmediate)
  gc()
  const kept = pieces.filter((piece) => piece.deref() !== undefined).length
  t.ok(kept < 2000, `${kept} chunks of one byte, each of which takes hundreds`)
  socket.write(LAST_CHUNK)
  t.ok((await read).equals(sent))
})
