// Segments after a write failed on a full disk, and segments whose rows were erased: what is void
// or removed does not come back.

import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  appendFileSync,
  closeSync,
  openSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Environment } from '../../../src/store/environment/journaled.ts'
import { freeBytesOf } from '../../../src/store/files/disk-space.ts'
import { encodeRows, sealFrame } from '../../../src/store/journal/frame.ts'
import { listSegments } from '../../../src/store/journal/journal-reader.ts'
import { JournalWriter } from '../../../src/store/journal/journal-writer.ts'
import { SUB_DATABASES } from '../../../src/store/tables/sub-databases.ts'
import { applied, until } from '../fixture.ts'
import { copyFolder, holdWriteLock, makeFolder, openFor, usedSegments, waitingFrames } from './killed-copy.ts'

const KIB = 1024
const MIB = 1024 ** 2
const CONTENT = SUB_DATABASES.indexOf('content')

/** Mounts a small disk; null where that is not allowed. */
function mountSmallDisk(t: Test, mebibytes: number): string | null {
  const path = makeFolder(t)
  try {
    const options = `size=${mebibytes}m,mode=700`
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', path], { stdio: 'ignore' })
  } catch {
    return null
  }
  t.teardown(() => execFileSync('umount', [path]))
  return path
}

const key = (name: string) => Buffer.from(name)
const namesIn = ({ tables }: Environment) => tables.content.keys().map(String)
const put = ({ tables, transaction }: Environment, name: string, value = randomBytes(100)) =>
  transaction(() => tables.content.put(key(name), value))

/** Fills a disk to its last page. */
function fill(disk: string): void {
  for (const bytes of [MIB, 4 * KIB]) {
    try {
      for (;;) appendFileSync(join(disk, 'ballast'), Buffer.alloc(bytes))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    }
  }
}

/** Removes what `fill` wrote. Resolves when the system counts the space as free. */
async function empty(disk: string): Promise<void> {
  rmSync(join(disk, 'ballast'))
  await until(() => (freeBytesOf(disk) ?? 0) > 4 * MIB)
}

/** A store whose database has free pages, and one segment that takes disk space when written. */
async function makeSparse(t: Test, path: string): Promise<void> {
  const environment = openFor(t, path, { segmentBytes: MIB })
  await put(environment, 'large', randomBytes(12 * MIB))
  await applied(environment)
  await environment.transaction(() => environment.tables.content.remove(key('large')))
  await put(environment, 'kept')
  await environment.close()
  for (const name of listSegments(path)) rmSync(join(path, name))
  writeFileSync(join(path, 'journal-1'), '', { mode: 0o600 })
  truncateSync(join(path, 'journal-1'), 4 * MIB)
}

t.test('after a write failed on a full disk, its rows stay void and later rows are kept', async (t) => {
  const disk = mountSmallDisk(t, 64)
  if (disk === null) {
    t.pass('a full disk', { skip: 'NOT RUN: mounting a tmpfs needs root' })
    return
  }
  const path = join(disk, 'data')
  await makeSparse(t, path)
  const environment = openFor(t, path, { segmentBytes: MIB })
  await put(environment, 'first')
  await applied(environment)
  const free = await holdWriteLock(t, path)
  await put(environment, 'second')
  fill(disk)
  await t.rejects(put(environment, 'failed', randomBytes(300 * KIB)), { code: 'ENOSPC' })
  const failed = usedSegments(path).at(-1)?.file ?? ''
  t.equal(failed, join(path, 'journal-1'))
  const written = readFileSync(failed)
  await t.rejects(put(environment, 'failed again'), { code: 'ENOSPC' }, 'no segment can be made')
  t.strictSame(namesIn(environment), ['first', 'kept', 'second'])

  await empty(disk)
  await put(environment, 'third')
  await put(environment, 'fourth')
  t.ok(readFileSync(failed).equals(written), 'the segment is not written again')
  t.ok(usedSegments(path).length === 2 && usedSegments(path).at(-1)?.file !== failed, 'but another one')
  const all = ['first', 'fourth', 'kept', 'second', 'third']
  t.strictSame(namesIn(environment), all)
  const killed = copyFolder(t, path)
  await free()
  await applied(environment)
  t.strictSame(namesIn(environment), all)
  await environment.close()
  const restarted = openFor(t, path, { takesJournal: true })
  t.strictSame(namesIn(restarted), all, 'after a restart')
  await restarted.close()
  t.strictSame(namesIn(openFor(t, killed)), all, 'for a reader after a kill')
  t.strictSame(namesIn(openFor(t, killed, { takesJournal: true })), all, 'after a kill')
})

t.test('a writer that goes through a full holder learns that the disk is full', async (t) => {
  const disk = mountSmallDisk(t, 32)
  if (disk === null) {
    t.pass('a full disk', { skip: 'NOT RUN: mounting a tmpfs needs root' })
    return
  }
  const path = join(disk, 'data')
  const holder = openFor(t, path, { segmentBytes: MIB })
  await put(holder, 'first')
  const other = openFor(t, path)
  await put(other, 'second')
  fill(disk)
  await t.rejects(put(holder, 'third'), { code: 'ENOSPC' })
  await t.rejects(put(other, 'fourth'), { message: /disk full/ })
  await t.rejects(put(other, 'fourth'), { code: 'ENOSPC' }, 'with the code that callers look for')
  await empty(disk)
  // Until the database is written again, its last failure counts.
  await applied(holder)
  await put(other, 'fifth')
  t.strictSame(namesIn(holder), ['fifth', 'first', 'second'])
  await other.close()
  await holder.close()
})

t.test('a whole frame whose write was reported as failed is void once another one was written', async (t) => {
  const path = t.testdir()
  const environment = openFor(t, path)
  await put(environment, 'first')
  await applied(environment)
  const free = await holdWriteLock(t, path)
  await put(environment, 'second')
  const killed = copyFolder(t, path)
  await free()
  await environment.close()
  // Frame 3 reaches the disk in the first segment; its number is used again in the next segment.
  const [{ file, to } = { file: '', to: 0 }] = await waitingFrames(killed)
  const frameOf = (name: string) =>
    encodeRows([{ table: CONTENT, key: key(name), value: Buffer.alloc(9, 1) }])
  const parts = frameOf('void')
  sealFrame(parts, 3)
  const voided = Buffer.concat(parts)
  const handle = openSync(file, 'r+')
  writeSync(handle, voided, 0, voided.length, to)
  closeSync(handle)
  const other = makeFolder(t)
  const writer = new JournalWriter(other, { frame: 3, ordinal: 1, offset: 0 }, MIB)
  const third = await writer.append(frameOf('third'))
  const fourth = await writer.append(frameOf('fourth'))
  t.same([third.frame.number, fourth.frame.number], [3, 4])
  writeFileSync(join(killed, 'journal-2'), readFileSync(third.file))
  await writer.close(4)
  const expected = ['first', 'fourth', 'second', 'third']
  t.strictSame(namesIn(openFor(t, killed)), expected)
  t.strictSame(namesIn(openFor(t, killed, { takesJournal: true })), expected)
})

const isIn = (path: string, marker: Buffer) =>
  listSegments(path).some((name) => readFileSync(join(path, name)).includes(marker))

/** Calls `tick` as if seconds passed, until no segment has the bytes. */
async function tickUntilErased(path: string, environment: Environment, marker: Buffer): Promise<void> {
  let nowMs = 0
  await until(
    () => !isIn(path, marker),
    () => {
      nowMs += 1000
      environment.tick(nowMs)
    },
  )
}

t.test('the bytes of a removed row leave the journal of a store without other writes', async (t) => {
  const path = t.testdir()
  const environment = openFor(t, path)
  const marker = randomBytes(32)
  await put(environment, 'secret', marker)
  await environment.transaction(() => environment.tables.content.remove(key('secret')))
  t.ok(isIn(path, marker), 'they were in it')
  await applied(environment)
  await t.resolves(tickUntilErased(path, environment, marker))
  await environment.close()
  t.notOk(isIn(path, marker))
})

t.test('the bytes of a removed row leave the journal of a store with other writes', async (t) => {
  const path = t.testdir()
  const environment = openFor(t, path)
  const marker = randomBytes(32)
  await put(environment, 'secret', marker)
  await environment.transaction(() => environment.tables.content.remove(key('secret')))
  const stop = new AbortController()
  const writing = (async () => {
    for (let n = 0; n < 1000 && !stop.signal.aborted; n++) {
      await put(environment, `row ${n % 10}`)
      await pause(20)
    }
  })()
  await t.resolves(tickUntilErased(path, environment, marker))
  stop.abort()
  await writing
  t.equal(environment.tables.content.get(key('secret')), undefined)
})

t.test('closing leaves no bytes of rows in the journal', async (t) => {
  const path = t.testdir()
  const environment = openFor(t, path)
  const marker = randomBytes(32)
  await put(environment, 'secret', marker)
  await environment.close()
  t.notOk(isIn(path, marker))
  t.strictSame(usedSegments(path), [])
  t.ok(openFor(t, path).tables.content.get(key('secret'))?.equals(marker))
})

t.test('bytes that a killed process left in the journal are erased by the next one', async (t) => {
  const path = t.testdir()
  const first = openFor(t, path)
  const marker = randomBytes(32)
  await put(first, 'secret', marker)
  const killed = copyFolder(t, path)
  await first.close()
  const next = openFor(t, killed, { takesJournal: true })
  t.ok(next.tables.content.get(key('secret'))?.equals(marker))
  await until(() => !isIn(killed, marker))
  t.pass('the segment is overwritten')
})
