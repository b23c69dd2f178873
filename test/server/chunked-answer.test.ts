// Answers that are made while they are sent: to clients that read, read slowly, stop or leave.

import type { Socket } from 'node:net'
import t, { type Test } from 'tap'
import { respondChunks } from '../../src/server/chunked-answer.ts'
import { eventually, inTime, until } from '../process/until.ts'
import { pausedClient } from './paused-client.ts'

// Deadline of every wait in this file.
t.setTimeout(120_000)

const CHUNK = 'x'.repeat(64 * 1024)

/** Serves one answer of these chunks; the client has sent its request. */
async function answer(t: Test, chunks: AsyncIterable<string>, stallMs?: number) {
  const { socket, response } = await pausedClient(t)
  const ended = respondChunks(response, 200, { 'x-more': 'y' }, { type: 'text/plain', chunks }, stallMs)
  return { socket, response, ended }
}

async function textOf(socket: Socket): Promise<string> {
  let text = ''
  for await (const piece of socket) text += piece
  return text
}

/** Yields chunks for ever. */
class Endless {
  asked = 0
  ended = false
  readonly #chunk: string

  constructor(chunk: string) {
    this.#chunk = chunk
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string, void, undefined> {
    try {
      for (;;) {
        this.asked++
        yield this.#chunk
      }
    } finally {
      this.ended = true
    }
  }
}

t.test('a client that reads gets every chunk, and empty ones are not sent', async (t) => {
  async function* chunks() {
    yield 'a\n'
    yield ''
    yield 'Zoë\n'
  }
  const { socket, ended } = await answer(t, chunks())
  const text = await inTime('the answer', textOf(socket))
  await inTime('the end', ended)
  t.match(text, /^HTTP\/1\.1 200 OK\r\n/)
  t.match(text, /content-type: text\/plain\r\n(?:.*\r\n)*x-more: y\r\n/)
  t.match(text, /cache-control: no-store/)
  t.ok(text.endsWith('\r\n\r\n2\r\na\n\r\n5\r\nZoë\n\r\n0\r\n\r\n'))
})

t.test('a client that does not read is asked for no more chunks, and dropped', async (t) => {
  const chunks = new Endless(CHUNK)
  const { response, ended } = await answer(t, chunks, 200)
  await inTime('the end', ended)
  t.ok(response.destroyed)
  t.notOk(response.writableFinished)
  t.ok(chunks.ended)
  // The buffers of the kernel hold some megabytes.
  t.ok(chunks.asked < 500, `${chunks.asked} chunks`)
})

t.test('a client that pauses for less than the limit goes on reading', async (t) => {
  const chunks = new Endless(CHUNK)
  const { socket, response } = await answer(t, chunks, 60_000)
  const full = await eventually('full buffers', () => response.writableNeedDrain && chunks.asked, Boolean)
  socket.resume()
  await until('more chunks', () => chunks.asked > Number(full) + 100)
  socket.destroy()
  await until('the end of the chunks', () => chunks.ended)
})

t.test('chunks end when the client leaves, also while there is no next one', async (t) => {
  let returned = false
  const chunks: AsyncIterable<string> = {
    [Symbol.asyncIterator]: () => ({
      next: () => new Promise(() => {}),
      return: async () => {
        returned = true
        return { done: true, value: undefined }
      },
    }),
  }
  const { socket, ended } = await answer(t, chunks)
  socket.destroy()
  await inTime('the end', ended)
  t.ok(returned)
})

t.test('an answer whose chunks fail has no end', async (t) => {
  async function* chunks() {
    yield 'a\n'
    throw new Error('pruned')
  }
  const { socket, ended } = await answer(t, chunks())
  const text = textOf(socket).catch(() => 'broken off')
  await t.rejects(inTime('the end', ended), { message: 'pruned' })
  t.notMatch(await inTime('the answer', text), /0\r\n\r\n$/)
})

t.test('other work has its turn between any two chunks', async (t) => {
  const chunks = new Endless('')
  const { socket, ended } = await answer(t, chunks)
  for (let turn = 0; turn < 100; turn++) {
    const before = chunks.asked
    await new Promise((resolve) => setImmediate(resolve))
    t.ok(chunks.asked - before <= 2)
  }
  socket.destroy()
  await inTime('the end', ended)
})
