// Several processes on one folder: one holds the journal, and the others write through it.

import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { type Environment, openEnvironment } from '../../../src/store/journaled.ts'

const COUNT = Buffer.from('count')

function increment({ tables: { meta }, transaction }: Environment): Promise<number> {
  return transaction(() => {
    const next = Number(meta.get(COUNT)?.toString() ?? 0) + 1
    meta.put(COUNT, Buffer.from(String(next)))
    return next
  })
}

const bound = (environment: Environment): Environment => ({
  ...environment,
  tables: environment.tables,
  transaction: (write, bytes) => environment.transaction(write, bytes),
  refresh: () => environment.refresh(),
  close: () => environment.close(),
})

t.test('two writers lose no change, and each sees the rows of the other at once', async (t) => {
  // Longer than the address of a socket may be.
  const path = join(t.testdir(), 'a'.repeat(120), 'data')
  const first = bound(openEnvironment(path))
  t.equal(await increment(first), 1)
  const second = bound(openEnvironment(path))
  t.equal(await increment(second), 2)
  t.equal(first.tables.meta.get(COUNT)?.toString(), '2')
  const counts = await Promise.all(
    Array.from({ length: 200 }, (_, n) => increment(n % 2 === 0 ? first : second)),
  )
  t.equal(new Set(counts).size, 200, 'no count came twice')
  await increment(first)
  second.refresh()
  t.equal(second.tables.meta.get(COUNT)?.toString(), '203')
  t.equal(statSync(join(path, 'journal.sock')).mode & 0o777, 0o600)
  await first.close()
  t.equal(await increment(second), 204, 'the other one takes over')
  await second.close()
  const third = bound(openEnvironment(path))
  t.equal(third.tables.meta.get(COUNT)?.toString(), '204')
  await third.close()
})

t.test('a change that fails in another process is not written', async (t) => {
  const path = t.testdir()
  const first = bound(openEnvironment(path))
  await increment(first)
  const second = bound(openEnvironment(path))
  const failing = second.transaction(() => {
    second.tables.meta.put(COUNT, Buffer.from('wrong'))
    throw new Error('as planned')
  })
  await t.rejects(failing, { message: 'as planned' })
  t.equal(await increment(first), 2)
  await second.close()
  await first.close()
})

t.test('a process that takes a turn and says nothing, or nonsense, delays the others shortly', async (t) => {
  // Short enough for the address of a socket.
  const path = mkdtempSync(join(tmpdir(), 'sidegate-'))
  t.teardown(() => rmSync(path, { recursive: true }))
  const environment = bound(openEnvironment(path))
  await increment(environment)
  const silent = connect(join(path, 'journal.sock'))
  await once(silent, 'data')
  t.equal(await increment(environment), 2, 'its turn ends')
  const wrong = connect(join(path, 'journal.sock'))
  await once(wrong, 'data')
  wrong.write(Buffer.from([0, 0, 0, 5, 1, 2, 3, 4, 5]))
  const [reply] = (await once(wrong, 'data')) as [Buffer]
  t.match(reply.toString(), /a frame of the journal is cut/)
  t.equal(await increment(environment), 3)
  silent.destroy()
  wrong.destroy()
  await environment.close()
})
