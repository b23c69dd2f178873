// The database: opening, transactions, ranges, size.

import { linkSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openEnvironment } from '../../src/store/environment/journaled.ts'
import { applied, openTestStore } from './fixture.ts'

t.test('only the owner can read folder and files', async (t) => {
  const path = join(t.testdir(), 'a', 'data.d')
  openTestStore(t, { path })
  t.equal(statSync(path).mode & 0o777, 0o700)
  for (const file of ['data.mdb', 'lock.mdb']) t.equal(statSync(join(path, file)).mode & 0o777, 0o600, file)
})

t.test('an unusable folder gives a clear error', async (t) => {
  const path = join(t.testdir({ file: 'x' }), 'file')
  t.throws(() => openTestStore(t, { path }), {
    name: 'StoreOpenError',
    message: /data directory .*file cannot be opened/,
  })
})

t.test('a foreign or truncated file gives a clear error', async (t) => {
  const { store, path } = openTestStore(t)
  await store.close()
  const file = join(path, 'data.mdb')
  const good = readFileSync(file)
  const broken: [string, Buffer][] = [
    ['text', Buffer.from('this is not a database'.repeat(1000))],
    ['nothing', Buffer.alloc(0)],
    ['one byte', Buffer.from('x')],
    ['the first page only', good.subarray(0, 4096)],
    ['zeros', Buffer.alloc(good.length)],
    [
      'a second page of zeros',
      Buffer.concat([good.subarray(0, 4096), Buffer.alloc(4096), good.subarray(8192)]),
    ],
  ]
  for (const [name, bytes] of broken) {
    writeFileSync(file, bytes)
    t.throws(() => openEnvironment(path), { name: 'StoreOpenError', message: /data\.mdb is/ }, name)
  }
  writeFileSync(file, good)
  await openEnvironment(path).close()
})

t.test('a newer layout is refused and not changed', async (t) => {
  const path = t.testdir()
  const environment = openEnvironment(path)
  await environment.transaction(() => environment.tables.meta.put(Buffer.from('layout'), Buffer.from('4')))
  await environment.close()
  t.throws(() => openEnvironment(path), { name: 'StoreOpenError', message: /layout 4 .*reads layout 3/ })
})

t.test('a transaction that throws stores nothing', async (t) => {
  const environment = openEnvironment(t.testdir())
  t.teardown(() => environment.close())
  const { meta } = environment.tables
  const key = Buffer.from('key')
  const failed = environment.transaction(() => {
    meta.put(key, Buffer.from('value'))
    t.equal(meta.get(key)?.toString(), 'value', 'its own reads see it')
    throw new Error('no')
  })
  const other = environment.transaction(() => meta.put(Buffer.from('other'), Buffer.from('kept')))
  await t.rejects(failed, { message: 'no' })
  await other
  t.equal(meta.get(key), undefined)
  t.equal(meta.get(Buffer.from('other'))?.toString(), 'kept')
})

t.test('writes to a deleted file are refused, because they would be lost', async (t) => {
  const path = t.testdir()
  const environment = openEnvironment(path)
  t.teardown(() => environment.close())
  const { meta } = environment.tables
  const write = () => environment.transaction(() => meta.put(Buffer.from('key'), Buffer.from('value')))
  const file = join(path, 'data.mdb')
  renameSync(file, `${file}.moved`)
  await write()
  t.pass('a moved file still works')
  linkSync(`${file}.moved`, file)
  rmSync(`${file}.moved`)
  await write()
  rmSync(file)
  await t.rejects(write(), { message: /^data\.mdb was deleted/ })
  writeFileSync(file, '')
  await t.rejects(write(), { message: /^data\.mdb was deleted/ }, 'another in its place is not it')
})

t.test('writing outside a transaction throws', async (t) => {
  const environment = openEnvironment(t.testdir())
  t.teardown(() => environment.close())
  t.throws(
    () => environment.tables.meta.put(Buffer.from('key'), Buffer.from('value')),
    /inside a transaction/,
  )
  t.throws(() => environment.tables.meta.remove(Buffer.from('key')), /inside a transaction/)
})

t.test('ranges honour bounds, direction and limit', async (t) => {
  const environment = openEnvironment(t.testdir())
  t.teardown(() => environment.close())
  const { requests } = environment.tables
  const key = (n: number) => Buffer.from([0, n])
  await environment.transaction(() => {
    for (let n = 0; n < 10; n++) requests.put(key(n), Buffer.from([n]))
  })
  const numbers = (range: Parameters<typeof requests.rows>[0]) =>
    requests.rows(range).map(({ value }) => value[0])
  t.strictSame(numbers({}), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  t.strictSame(numbers({ start: key(3), end: key(6) }), [3, 4, 5])
  t.strictSame(numbers({ start: key(2), reverse: true }), [2, 1, 0])
  t.strictSame(numbers({ start: key(2), reverse: true, limit: 2 }), [2, 1])
  t.strictSame(requests.keys({ start: key(8) }), [key(8), key(9)])
  t.equal(requests.count(), 10)
  t.equal(requests.count({ start: key(3), end: key(6) }), 3)
})

t.test('the used size grows with stored rows and shrinks with removed ones', async (t) => {
  const environment = openEnvironment(t.testdir())
  t.teardown(() => environment.close())
  const { content } = environment.tables
  const { meta } = environment.tables
  await environment.transaction(() => meta.put(Buffer.from('first'), Buffer.alloc(1)))
  await applied(environment)
  const empty = environment.size()
  await environment.transaction(() => content.put(Buffer.from('key'), Buffer.alloc(200_000, 1)))
  await applied(environment)
  const filled = environment.size()
  t.ok(filled.usedBytes >= empty.usedBytes + 200_000)
  t.ok(filled.fileBytes >= filled.usedBytes)
  await environment.transaction(() => content.remove(Buffer.from('key')))
  await environment.transaction(() => content.put(Buffer.from('key'), Buffer.alloc(1)))
  await applied(environment)
  t.ok(environment.size().usedBytes < empty.usedBytes + 100_000)
  t.ok(environment.size().fileBytes >= filled.fileBytes, 'the file keeps its pages')
})
