// The mark of a clean end: it spares one look at a store that nobody has touched since, and no other.

import { copyFileSync, readFileSync, renameSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { markCleanShutdown, takeCleanShutdownMark } from '../../src/store/folder/clean-shutdown.ts'
import { inspectStore } from '../../src/store/folder/inspection.ts'

/** A folder whose database file is damaged: a look at it says so, and only a mark can printLine otherwise. */
function damaged(t: Test): { path: string; file: string } {
  const path = t.testdir({ 'data.mdb': 'no database' })
  return { path, file: join(path, 'data.mdb') }
}

t.test('a store with its mark is not looked at, once', async (t) => {
  const { path } = damaged(t)
  t.match(await inspectStore(path), { state: 'damaged' })
  markCleanShutdown(path)
  t.match(await inspectStore(path), { state: 'sound' })
  t.match(await inspectStore(path), { state: 'damaged' }, 'whoever dies after that leaves none')
})

t.test('a file that was touched since is looked at', async (t) => {
  const touched = (touch: (file: string) => void) => {
    const { path, file } = damaged(t)
    markCleanShutdown(path)
    touch(file)
    return takeCleanShutdownMark(path)
  }
  t.equal(
    touched(() => {}),
    true,
  )
  const byte = (file: string) => writeFileSync(file, 'No database')
  t.equal(touched(byte), false, 'a byte')
  const deceived = (file: string) => {
    byte(file)
    utimesSync(file, new Date(0), new Date(0))
  }
  t.equal(touched(deceived), false, 'a byte, and the time of the file set')
  const replaced = (file: string) => {
    copyFileSync(file, `${file}.copy`)
    renameSync(`${file}.copy`, file)
  }
  t.equal(touched(replaced), false, 'a copy in its place')
  t.equal(
    touched((file) => writeFileSync(file, readFileSync(file))),
    false,
    'the same bytes, written again',
  )
})

t.test('a folder without a mark, and one with something else in its place', async (t) => {
  const { path } = damaged(t)
  t.equal(takeCleanShutdownMark(path), false)
  writeFileSync(join(path, 'closed'), 'yes')
  t.equal(takeCleanShutdownMark(path), false)
})
