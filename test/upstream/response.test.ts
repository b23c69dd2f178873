import { mock } from 'node:test'
import t from 'tap'
import type { Dispatcher } from 'undici'
import { AttemptError, PendingResponse, upstreamError } from '../../src/upstream/response.ts'

/** Fake of undici's side of one dispatch. Records what the handler requests. */
class Connection {
  readonly response = new PendingResponse(null)
  readonly requests: string[] = []
  /** Data that the socket buffers while paused and delivers on resume. */
  readonly buffered: string[] = []
  readonly #controller = {
    pause: () => this.requests.push('pause'),
    resume: () => {
      this.requests.push('resume')
      for (const text of this.buffered.splice(0)) this.send(text)
    },
    abort: (reason: Error) => {
      this.requests.push('abort')
      this.response.onResponseError(this.#controller, reason)
    },
  } as unknown as Dispatcher.DispatchController

  start(status = 200, headers = {}): this {
    this.response.onRequestStart(this.#controller)
    this.response.onResponseStart(this.#controller, status, headers)
    return this
  }

  send(text: string): void {
    this.response.onResponseData(this.#controller, Buffer.from(text))
  }

  fail(code: string): void {
    this.response.onResponseError(this.#controller, Object.assign(new Error('socket 10.0.0.7'), { code }))
  }

  begin(): void {
    this.response.onRequestStart(this.#controller)
  }

  informational(): void {
    this.response.onRequestStart(this.#controller)
    this.response.onResponseStart(this.#controller, 103, { link: 'x' })
  }
}

const text = async (chunk: Promise<Buffer | null>) => (await chunk)?.toString() ?? null

t.test('chunks are read in order, whether they or the reader arrive first', async (t) => {
  const connection = new Connection().start(201, { 'x-a': 'b' })
  const response = await connection.response.started
  t.match(response, { status: 201, headers: { 'x-a': 'b' } })
  const waiting = text(response.read())
  connection.send('one ')
  t.equal(await waiting, 'one ')
  connection.send('two ')
  connection.send('three')
  t.equal(await text(response.read()), 'two three')
  const end = text(response.read())
  connection.response.onResponseEnd()
  t.equal(await end, null)
  t.equal(await text(response.read()), null, 'and again')
})

t.test('chunks that arrived before the end or a failure are read first', async (t) => {
  const ended = new Connection().start()
  ended.send('all')
  ended.response.onResponseEnd()
  t.equal(await text(ended.response.read()), 'all')
  t.equal(await text(ended.response.read()), null)
  const failed = new Connection().start()
  failed.send('some')
  failed.fail('UND_ERR_SOCKET')
  t.equal(await text(failed.response.read()), 'some')
  await t.rejects(failed.response.read(), { code: 'upstream_unavailable' })
})

t.test('informational responses are skipped', async (t) => {
  const connection = new Connection()
  connection.informational()
  connection.start(200)
  t.equal((await connection.response.started).status, 200)
})

t.test('more than 64 KiB in the queue pause the upstream, and reading resumes it', async (t) => {
  const connection = new Connection().start()
  const chunk = 'x'.repeat(16 * 1024)
  for (let i = 0; i < 4; i++) connection.send(chunk)
  t.same(connection.requests, [], '64 KiB do not')
  connection.send('y')
  t.same(connection.requests, ['pause'])
  t.equal((await text(connection.response.read()))?.length, 4 * chunk.length + 1)
  t.same(connection.requests, ['pause', 'resume'])
})

t.test('data delivered during resume may pause the upstream again', async (t) => {
  const connection = new Connection().start()
  const much = 'x'.repeat(70 * 1024)
  connection.send(much)
  connection.buffered.push(much)
  await connection.response.read()
  t.same(connection.requests, ['pause', 'resume', 'pause'])
  await connection.response.read()
  t.same(connection.requests, ['pause', 'resume', 'pause', 'resume'], 'and it is resumed again')
})

t.test('timeouts have their own code, and no error contains an address', async (t) => {
  for (const [code, expected] of [
    ['UND_ERR_HEADERS_TIMEOUT', 'upstream_timeout'],
    ['UND_ERR_BODY_TIMEOUT', 'upstream_timeout'],
    ['UND_ERR_CONNECT_TIMEOUT', 'upstream_unavailable'],
    ['ECONNRESET', 'upstream_unavailable'],
  ] as const) {
    const before = new Connection()
    before.begin()
    before.fail(code)
    await t.rejects(before.response.started, { name: 'AttemptError', code })
    const during = new Connection().start()
    const reading = during.response.read()
    during.fail(code)
    await t.rejects(reading, { code: expected })
    const error = upstreamError(new AttemptError(Object.assign(new Error('socket 10.0.0.7'), { code })))
    t.notMatch(error.message, /10\.0\.0\.7/)
  }
  t.equal(
    new AttemptError(new TypeError('x')).code,
    'TypeError',
    'an error without a code has its name as code',
  )
})

t.test(
  'abort rejects a call without a connection, closes one in flight and ignores one that ended',
  async (t) => {
    const early = new Connection()
    early.response.abort()
    await t.rejects(early.response.started, { name: 'AttemptError' }, 'without waiting for a connection')
    early.begin()
    t.same(early.requests, ['abort'], 'a connection that comes later is aborted')

    const running = new Connection().start()
    running.send('dropped')
    running.response.abort()
    running.response.abort()
    t.same(running.requests, ['abort'])
    await t.rejects(running.response.read(), { code: 'upstream_unavailable' })

    const over = new Connection().start()
    over.response.onResponseEnd()
    over.response.abort()
    t.same(over.requests, [], 'no effect after the end')
  },
)

t.test('a discarded response is aborted after a second', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const endless = new Connection().start()
  endless.response.discard()
  const ended = new Connection().start()
  ended.response.discard()
  ended.response.onResponseEnd()
  mock.timers.tick(999)
  t.same(endless.requests, ['resume'])
  mock.timers.tick(1)
  t.same(endless.requests, ['resume', 'abort'])
  t.same(ended.requests, ['resume'])
})

t.test('a discarded response is not stored, and aborted after 64 KiB', async (t) => {
  const connection = new Connection().start()
  for (let i = 0; i < 5; i++) connection.send('x'.repeat(16 * 1024))
  connection.response.discard()
  t.same(connection.requests, ['pause', 'resume'])
  connection.send('x'.repeat(64 * 1024))
  t.same(connection.requests, ['pause', 'resume'])
  connection.send('x')
  t.same(connection.requests, ['pause', 'resume', 'abort'])
})
