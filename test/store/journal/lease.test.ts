// Two environments on one folder: one holds the journal, the other one writes through it, and no
// change of either is lost.

import { once } from 'node:events'
import { existsSync, rmSync, statSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Environment } from '../../../src/store/environment/journaled.ts'
import { inTime } from '../../process/until.ts'
import { applied, until } from '../fixture.ts'
import { makeFolder, openFor } from './killed-copy.ts'

const COUNTER = Buffer.from('counter')
const SOCKET = 'journal.sock'
const INCREMENTS = 200
/** A turn without an answer ends after 200 ms; the rest is for a busy machine. */
const LONGEST_DELAY_MS = 2000

const put = ({ tables, transaction }: Environment, name: string) =>
  transaction(() => tables.content.put(Buffer.from(name), Buffer.from(name)))
const namesIn = ({ tables }: Environment) => tables.content.keys().map(String)
const countIn = ({ tables }: Environment) => Number(tables.counters.get(COUNTER)?.toString() ?? 0)

function increment(environment: Environment): Promise<number> {
  return environment.transaction(() => {
    const next = countIn(environment) + 1
    environment.tables.counters.put(COUNTER, Buffer.from(String(next)))
    return next
  })
}

/** The first environment holds the journal. */
async function openTwo(t: Test, path: string): Promise<[Environment, Environment]> {
  const first = openFor(t, path, { takesJournal: true })
  // The socket is there one turn of the event loop later.
  await until(() => existsSync(join(path, SOCKET)))
  return [first, openFor(t, path, { takesJournal: true })]
}

t.test('one of two environments holds the journal, and both see the rows of each other', async (t) => {
  const [first, second] = await openTwo(t, t.testdir())
  t.not(first.journal(), null)
  t.equal(second.journal(), null)
  await put(first, 'a')
  second.refresh()
  t.strictSame(namesIn(second), ['a'])
  await put(second, 'b')
  t.strictSame(namesIn(second), ['a', 'b'], 'its own row needs no refresh')
  first.refresh()
  t.strictSame(namesIn(first), ['a', 'b'])
  t.equal(second.journal(), null, 'the second one wrote through the first one')
  t.ok((first.journal()?.lagFrames ?? 0) > 0, 'before the database has the rows')
  await first.transaction(() => first.tables.content.remove(Buffer.from('b')))
  second.refresh()
  t.strictSame(namesIn(second), ['a'])
  await applied(first)
  second.refresh()
  t.strictSame(namesIn(second), ['a'], 'and after it has them')
})

t.test('a transaction of the second environment that throws stores nothing', async (t) => {
  const [first, second] = await openTwo(t, t.testdir())
  await put(first, 'a')
  const failing = second.transaction(() => {
    second.tables.content.put(Buffer.from('wrong'), Buffer.from('wrong'))
    second.tables.content.remove(Buffer.from('a'))
    throw new Error('planned')
  })
  const [, kept] = await Promise.all([t.rejects(failing, { message: 'planned' }), put(second, 'b')])
  t.equal(kept, undefined)
  for (const environment of [first, second]) {
    environment.refresh()
    t.strictSame(namesIn(environment), ['a', 'b'])
  }
  t.equal(await second.transaction(() => 'nothing to write'), 'nothing to write')
})

t.test('interleaved increments of two environments lose none', { timeout: 120_000 }, async (t) => {
  const path = t.testdir()
  const environments = await openTwo(t, path)
  const seen: number[] = []
  const count = async (environment: Environment) => {
    for (let n = 0; n < INCREMENTS; n++) {
      seen.push(await increment(environment))
      // Sometimes several wait together.
      if (n % 50 === 0) await nextTurn()
    }
  }
  await inTime('both count', Promise.all(environments.map(count)))
  t.equal(new Set(seen).size, 2 * INCREMENTS, 'no number came twice')
  for (const environment of environments) {
    environment.refresh()
    t.equal(countIn(environment), 2 * INCREMENTS)
    await environment.close()
  }
  t.equal(countIn(openFor(t, path)), 2 * INCREMENTS, 'after a restart')
})

t.test('increments that all wait at once lose none', { timeout: 120_000 }, async (t) => {
  const environments = await openTwo(t, t.testdir())
  const all = Array.from({ length: 2 * INCREMENTS }, (_, n) => increment(environments[n % 2] as Environment))
  const seen = await inTime('both count', Promise.all(all))
  t.equal(Math.max(...seen), 2 * INCREMENTS)
  t.equal(new Set(seen).size, 2 * INCREMENTS)
})

t.test('when the holder closes, the other one takes the journal', async (t) => {
  const path = t.testdir()
  const [first, second] = await openTwo(t, path)
  await put(first, 'a')
  await first.close()
  await inTime('the other one writes', put(second, 'b'))
  t.not(second.journal(), null)
  t.strictSame(namesIn(second), ['a', 'b'])
  const third = openFor(t, path)
  await put(third, 'c')
  t.equal(third.journal(), null)
  t.strictSame(namesIn(third), ['a', 'b', 'c'])
})

t.test('no transaction fails while the journal changes hands', { timeout: 120_000 }, async (t) => {
  const path = t.testdir()
  let acknowledged = 0
  const failures: string[] = []
  let [holder, other] = await openTwo(t, path)
  const [reader] = [openFor(t, path)]
  for (let round = 0; round < 6; round++) {
    const [closing, writing] = [holder, other]
    const write = async (environment: Environment, writes: number) => {
      for (let n = 0; n < writes; n++) {
        try {
          await increment(environment)
          acknowledged++
        } catch (error) {
          failures.push(`round ${round}: ${(error as Error).message}`)
        }
      }
    }
    await inTime('a round', write(closing, 3))
    // Transactions that were accepted before the close keep the holder busy.
    const last = Array.from({ length: 5 }, () => write(closing, 1))
    const changing = [write(writing, 10), ...last, closing.close()]
    await inTime('a change', Promise.all(changing))
    holder = writing
    other = openFor(t, path)
  }
  t.strictSame(failures, [])
  reader.refresh()
  t.equal(countIn(reader), acknowledged)
})

t.test('a folder whose path is longer than the address of a socket works', async (t) => {
  const path = join(t.testdir(), 'a'.repeat(100), 'b'.repeat(100))
  const [first, second] = await openTwo(t, path)
  await put(first, 'a')
  await put(second, 'b')
  t.equal(second.journal(), null)
  t.strictSame(namesIn(first), ['a', 'b'])
})

t.test('only the owner can connect to the socket, from its first moment', async (t) => {
  const path = t.testdir()
  const umask = process.umask(0)
  t.teardown(() => process.umask(umask))
  const environment = openFor(t, path, { takesJournal: true })
  const mode = () => statSync(join(path, SOCKET), { throwIfNoEntry: false })?.mode ?? 0
  t.equal(mode() & 0o077, 0, 'when it is made')
  await put(environment, 'a')
  t.equal(mode() & 0o777, 0o600)
})

async function connectTo(t: Test, path: string): Promise<Socket> {
  const socket = connect(join(path, SOCKET))
  t.teardown(() => socket.destroy())
  socket.on('error', () => {})
  await inTime('the connection', once(socket, 'connect'))
  return socket
}

t.test(
  'a connection that never answers delays the others by less than seconds',
  { timeout: 120_000 },
  async (t) => {
    const path = makeFolder(t)
    const [first, second] = await openTwo(t, path)
    await put(first, 'a')
    const silent = await connectTo(t, path)
    await inTime('its turn', once(silent, 'data'))
    for (const [environment, name] of [
      [first, 'b'],
      [second, 'c'],
    ] as const) {
      const startMs = performance.now()
      await put(environment, name)
      const delayMs = performance.now() - startMs
      t.ok(delayMs < LONGEST_DELAY_MS, `${name} took ${Math.round(delayMs)} ms`)
    }
    first.refresh()
    t.strictSame(namesIn(first), ['a', 'b', 'c'])
  },
)

t.test('writes of the holder wait for one of many connections that never answer', async (t) => {
  const path = makeFolder(t)
  const [first, second] = await openTwo(t, path)
  const silent = await Promise.all(Array.from({ length: 10 }, () => connectTo(t, path)))
  await inTime('the first turn', once(silent[0]!, 'data'))
  for (const name of ['a', 'b', 'c']) {
    const startMs = performance.now()
    await put(first, name)
    t.ok(performance.now() - startMs < LONGEST_DELAY_MS, name)
  }
  await put(second, 'd')
  first.refresh()
  t.strictSame(namesIn(first), ['a', 'b', 'c', 'd'], 'and the others get their turn')
})

t.test('a socket that was removed is made again', async (t) => {
  const path = makeFolder(t)
  const [first, second] = await openTwo(t, path)
  await put(second, 'a')
  rmSync(join(path, SOCKET))
  first.tick(performance.now())
  await put(second, 'b')
  first.refresh()
  t.strictSame(namesIn(first), ['a', 'b'])
})

t.test('nothing is read of a connection before its turn', async (t) => {
  const path = makeFolder(t)
  const [first] = await openTwo(t, path)
  const silent = await connectTo(t, path)
  await inTime('its turn', once(silent, 'data'))
  const early = await connectTo(t, path)
  early.write(Buffer.alloc(16 * 1024 ** 2))
  await nextTurn()
  await nextTurn()
  t.ok(early.writableLength > 8 * 1024 ** 2, 'the system holds a little')
  early.destroy()
  await put(first, 'a')
  t.strictSame(namesIn(first), ['a'])
})

t.test('a connection that ends in its turn delays the others not at all', async (t) => {
  const path = makeFolder(t)
  const [first, second] = await openTwo(t, path)
  const silent = await connectTo(t, path)
  await inTime('its turn', once(silent, 'data'))
  silent.write(Buffer.from([0, 0, 1]))
  silent.destroy()
  await inTime('both write', Promise.all([put(first, 'a'), put(second, 'b')]), LONGEST_DELAY_MS)
  second.refresh()
  t.strictSame(namesIn(second), ['a', 'b'])
})

t.test('bytes that are no rows are refused, and the next ones are written', async (t) => {
  const path = makeFolder(t)
  const [first, second] = await openTwo(t, path)
  for (const message of [
    [0, 0, 0, 3, 1, 2, 3],
    [0, 0, 0, 30, ...Array(30).fill(255)],
    [255, 255, 255, 255],
  ]) {
    const wrong = await connectTo(t, path)
    await inTime('its turn', once(wrong, 'data'))
    wrong.write(Buffer.from(message))
    await inTime('the connection ends', once(wrong, 'close'))
  }
  await put(second, 'a')
  await put(first, 'b')
  t.strictSame(namesIn(first), ['a', 'b'])
})
