import { mock } from 'node:test'
import t from 'tap'
import type { Dispatcher } from 'undici'
import { AttemptError, PendingResponse, upstreamError } from '../../src/upstream/response.ts'

/** undici's side of one dispatch: notes what is asked of it. */
class Connection {
  readonly response = new PendingResponse(null)
  readonly asked: string[] = []
  /** What the socket holds while it is paused; comes in as soon as it is resumed. */
  readonly held: string[] = []
  readonly #controller = {
    pause: () => this.asked.push('pause'),
    resume: () => {
      this.asked.push('resume')
      for (const text of this.held.splice(0)) this.send(text)
    },
    abort: (reason: Error) => {
      this.asked.push('abort')
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

const text = async (piece: Promise<Buffer | null>) => (await piece)?.toString() ?? null

t.test('pieces are read in order, whether they wait for the reader or it for them', async (t) => {
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

t.test('what arrived before the end or the failure is read before it', async (t) => {
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

t.test('informational responses are not the answer', async (t) => {
  const connection = new Connection()
  connection.informational()
  connection.start(200)
  t.equal((await connection.response.started).status, 200)
})

t.test('a reader that lags pauses the upstream once there is much, and reading lets it go on', async (t) => {
  const connection = new Connection().start()
  const piece = 'x'.repeat(16 * 1024)
  for (let i = 0; i < 4; i++) connection.send(piece)
  t.same(connection.asked, [], '64 KiB may wait')
  connection.send('y')
  t.same(connection.asked, ['pause'])
  t.equal((await text(connection.response.read()))?.length, 4 * piece.length + 1)
  t.same(connection.asked, ['pause', 'resume'])
})

t.test('what resuming brings in at once may pause the upstream again', async (t) => {
  const connection = new Connection().start()
  const much = 'x'.repeat(70 * 1024)
  connection.send(much)
  connection.held.push(much)
  await connection.response.read()
  t.same(connection.asked, ['pause', 'resume', 'pause'])
  await connection.response.read()
  t.same(connection.asked, ['pause', 'resume', 'pause', 'resume'], 'and it is resumed again')
})

t.test('failures are told apart, and tell nothing of the network', async (t) => {
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
  t.equal(new AttemptError(new TypeError('x')).code, 'TypeError', 'errors without a code go by their name')
})

t.test('aborting', async (t) => {
  const early = new Connection()
  early.response.abort()
  await t.rejects(early.response.started, { name: 'AttemptError' }, 'does not wait for a connection')
  early.begin()
  t.same(early.asked, ['abort'], 'and a connection that comes is not used')

  const running = new Connection().start()
  running.send('dropped')
  running.response.abort()
  running.response.abort()
  t.same(running.asked, ['abort'])
  await t.rejects(running.response.read(), { code: 'upstream_unavailable' })

  const over = new Connection().start()
  over.response.onResponseEnd()
  over.response.abort()
  t.same(over.asked, [], 'is harmless when it is over')
})

t.test('what is discarded and does not end gives its connection up', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const endless = new Connection().start()
  endless.response.discard()
  const ended = new Connection().start()
  ended.response.discard()
  ended.response.onResponseEnd()
  mock.timers.tick(999)
  t.same(endless.asked, ['resume'])
  mock.timers.tick(1)
  t.same(endless.asked, ['resume', 'abort'])
  t.same(ended.asked, ['resume'])
})

t.test('what is discarded is not kept, and not read on for ever', async (t) => {
  const connection = new Connection().start()
  for (let i = 0; i < 5; i++) connection.send('x'.repeat(16 * 1024))
  connection.response.discard()
  t.same(connection.asked, ['pause', 'resume'])
  connection.send('x'.repeat(64 * 1024))
  t.same(connection.asked, ['pause', 'resume'])
  connection.send('x')
  t.same(connection.asked, ['pause', 'resume', 'abort'])
})
