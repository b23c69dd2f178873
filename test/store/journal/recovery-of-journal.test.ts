// What a process finds in the folder of a killed one: every acknowledged row, also after a kill
// during a write, and an error in place of rows whose bytes changed.

import { randomBytes } from 'node:crypto'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Environment, EnvironmentOptions } from '../../../src/store/environment/journaled.ts'
import { FRAME_HEADER_BYTES } from '../../../src/store/journal/frame.ts'
import { SEGMENT_HEADER_BYTES } from '../../../src/store/journal/segment-file.ts'
import { applied } from '../fixture.ts'
import {
  copyFolder,
  flipBit,
  holdWriteLock,
  openFor,
  segmentBytes,
  usedSegments,
  waitingFrames,
} from './killed-copy.ts'

const ROWS = 6
const KIB = 1024
const DAMAGE = { name: 'JournalDamageError' }

const keyOf = (n: number) => Buffer.from(`key ${n}`)
/** No byte is zero, so that zeros never repeat a row. */
const bytesFor = (n: number, bytes = 100) => Buffer.alloc(bytes, n + 1)

const put = ({ tables, transaction }: Environment, n: number, bytes?: number) =>
  transaction(() => tables.content.put(keyOf(n), bytesFor(n, bytes)))

/** Numbers of the rows that an environment has, each with its own value. */
const numbersIn = ({ tables }: Environment): number[] =>
  tables.content.rows().map(({ key, value }) => {
    const n = Number(key.toString().slice('key '.length))
    if (value.some((byte) => byte !== n + 1)) throw new Error(`row ${n} has another value`)
    return n
  })

const upTo = (end: number) => Array.from({ length: end }, (_, n) => n)

/** A folder whose database has row 0, and whose journal has the others, in a frame each. */
async function killedFolder(t: Test, rows = ROWS, bytes?: number, options?: EnvironmentOptions) {
  const path = t.testdir()
  const environment = openFor(t, path, options)
  await put(environment, 0)
  await applied(environment)
  const free = await holdWriteLock(t, path)
  for (let n = 1; n < rows; n++) await put(environment, n, bytes)
  const copy = copyFolder(t, path)
  await free()
  await environment.close()
  return copy
}

t.test('a row is there when the process is killed right after it was acknowledged', async (t) => {
  const path = t.testdir()
  const environment = openFor(t, path)
  await put(environment, 0)
  const first = copyFolder(t, path)
  t.equal(environment.journal()?.lagFrames, 1, 'the database does not have it')
  for (let n = 1; n < ROWS; n++) await put(environment, n)
  const second = copyFolder(t, path)
  await environment.close()
  t.strictSame(numbersIn(openFor(t, first)), [0], 'a reader sees it')
  t.strictSame(numbersIn(openFor(t, first, { takesJournal: true })), [0])
  t.strictSame(numbersIn(openFor(t, second, { takesJournal: true })), upTo(ROWS))
})

t.test('rows of several segments are there after a kill, and the next process continues', async (t) => {
  const path = await killedFolder(t, 9, 20 * KIB, { segmentBytes: 64 * KIB })
  t.ok(usedSegments(path).length >= 3, `${usedSegments(path).length} segments`)
  const reader = openFor(t, path)
  t.strictSame(numbersIn(reader), upTo(9), 'a reader sees them')
  const next = openFor(t, path)
  await put(next, 9)
  t.strictSame(numbersIn(next), upTo(10))
  reader.refresh()
  t.strictSame(numbersIn(reader), upTo(10))
  await next.close()
  t.strictSame(numbersIn(openFor(t, path, { takesJournal: true })), upTo(10))
})

t.test('a torn last frame is cut wherever the write ended', async (t) => {
  const killed = await killedFolder(t)
  const { file, from, to } = (await waitingFrames(killed)).at(-1) ?? { file: '', from: 0, to: 0 }
  const name = file.slice(killed.length)
  const whole = readFileSync(file)
  const cuts = [from, from + 1, from + FRAME_HEADER_BYTES - 1, from + FRAME_HEADER_BYTES, to - 40, to - 1]
  const tails = { zeros: Buffer.alloc(500), garbage: randomBytes(500) }
  for (const [kind, tail] of Object.entries(tails)) {
    for (const cut of cuts) {
      const path = copyFolder(t, killed)
      const torn = Buffer.concat([whole.subarray(0, cut), tail, Buffer.alloc(whole.length)])
      // The frame would be whole if garbage happened to repeat its byte.
      if (torn[cut] === whole[cut]) torn[cut] = (whole[cut] as number) ^ 1
      writeFileSync(join(path, name), torn.subarray(0, whole.length))
      const environment = openFor(t, path, { takesJournal: true })
      t.strictSame(numbersIn(environment), upTo(ROWS - 1), `${kind} from ${cut - from}`)
      await put(environment, ROWS)
      await environment.close()
      t.strictSame(numbersIn(openFor(t, path)), [...upTo(ROWS - 1), ROWS], 'later rows stay')
    }
  }
})

t.test('a file that ends in its last frame is cut there', async (t) => {
  const path = await killedFolder(t)
  const { file, to } = (await waitingFrames(path)).at(-1) ?? { file: '', to: 0 }
  writeFileSync(file, readFileSync(file).subarray(0, to - 10))
  t.strictSame(numbersIn(openFor(t, path, { takesJournal: true })), upTo(ROWS - 1))
})

/** Checks that no process takes the journal, and that none changes it. */
async function requireDamage(t: Test, path: string, what: string): Promise<void> {
  await t.test(what, async (t) => {
    const before = segmentBytes(path)
    t.throws(() => openFor(t, path, { takesJournal: true }), DAMAGE, 'it cannot be taken')
    t.throws(() => {
      const environment = openFor(t, path)
      environment.initialize(() => environment.tables.meta.put(keyOf(0), keyOf(0)))
    }, DAMAGE)
    // A reader may see the damage when it opens the folder.
    const writes = async () => put(openFor(t, path), 99)
    await t.rejects(writes(), DAMAGE, 'the first transaction fails')
    await t.rejects(writes(), DAMAGE, 'and so does the next')
    const after = segmentBytes(path)
    t.strictSame([...after.keys()], [...before.keys()])
    t.ok(
      [...before].every(([name, bytes]) => after.get(name)?.equals(bytes)),
      'no byte is changed',
    )
  })
}

t.test('a flipped bit in a frame before others is damage', async (t) => {
  const path = await killedFolder(t)
  const frames = await waitingFrames(path)
  for (const index of [0, 2, frames.length - 2]) {
    const { file, from, to } = frames[index] as { file: string; from: number; to: number }
    for (const [part, at] of Object.entries({
      magic: from,
      length: from + 7,
      number: from + 15,
      end: to - 1,
    })) {
      const restore = flipBit(file, at * 8 + 3)
      await requireDamage(t, path, `the ${part} of frame ${index}`)
      restore()
    }
  }
  t.strictSame(numbersIn(openFor(t, path, { takesJournal: true })), upTo(ROWS), 'with the bit, all is there')
})

t.test('a flipped bit in a frame is damage when the next segment follows', async (t) => {
  const path = await killedFolder(t, 9, 20 * KIB, { segmentBytes: 64 * KIB })
  const first = usedSegments(path)[0]?.file
  const last = (await waitingFrames(path)).filter(({ file }) => file === first).at(-1)
  flipBit(last?.file ?? '', (last?.to ?? 0) * 8 - 1)
  await requireDamage(t, path, 'the last frame of the first segment')
})

t.test('a flipped bit in the header of a segment with frames is damage', async (t) => {
  const path = await killedFolder(t)
  const [segment] = usedSegments(path)
  for (let at = 0; at < SEGMENT_HEADER_BYTES; at += 3) {
    const restore = flipBit(segment?.file ?? '', at * 8 + (at % 8))
    await requireDamage(t, path, `byte ${at} of the header`)
    restore()
  }
  t.strictSame(numbersIn(openFor(t, path, { takesJournal: true })), upTo(ROWS))
})

t.test('a lost header of any of several segments is damage', async (t) => {
  const path = await killedFolder(t, 9, 20 * KIB, { segmentBytes: 64 * KIB })
  for (const { ordinal, file } of usedSegments(path)) {
    const restore = flipBit(file, 40)
    await requireDamage(t, path, `the header of segment ${ordinal}`)
    restore()
  }
  t.strictSame(numbersIn(openFor(t, path, { takesJournal: true })), upTo(9))
})

t.test('a lost header before a frame of several megabytes is damage', async (t) => {
  const path = await killedFolder(t, 2, 3 * KIB * KIB)
  const { file } = usedSegments(path).at(-1) ?? { file: '' }
  const restore = flipBit(file, 40)
  await requireDamage(t, path, 'the header before a large frame')
  restore()
  t.strictSame(numbersIn(openFor(t, path, { takesJournal: true })), [0, 1])
})

t.test('frames that the database has are not written to it again', async (t) => {
  const killed = await killedFolder(t)
  const replayed = copyFolder(t, killed)
  const environment = openFor(t, replayed, { takesJournal: true })
  t.strictSame(numbersIn(environment), upTo(ROWS))
  const again = copyFolder(t, replayed)
  t.strictSame(await waitingFrames(again), [])
  t.strictSame(numbersIn(openFor(t, again, { takesJournal: true })), upTo(ROWS))
  // The newest database with the oldest journal, as if the journal had never been overwritten.
  const removed = [1, 2]
  await environment.transaction(() => {
    for (const n of removed) environment.tables.content.remove(keyOf(n))
  })
  await environment.close()
  cpSync(join(replayed, 'data.mdb'), join(killed, 'data.mdb'))
  t.strictSame(numbersIn(openFor(t, killed, { takesJournal: true })), [0, 3, 4, 5])
})
