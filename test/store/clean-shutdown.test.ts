// The clean-shutdown mark: it spares one inspection of an unchanged store.

import { copyFileSync, readFileSync, renameSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { markCleanShutdown, takeCleanShutdownMark } from '../../src/store/files/clean-shutdown.ts'
import { inspectStore } from '../../src/store/opening/inspection.ts'

/**
 * A folder with a damaged database file: an inspection finds it, unless a mark spares the
 * inspection.
 */
function damaged(t: Test): { path: string; file: string } {
  const path = t.testdir({ 'data.mdb': 'no database' })
  return { path, file: join(path, 'data.mdb') }
}

t.test('a mark spares exactly one inspection', async (t) => {
  const { path } = damaged(t)
  t.match(await inspectStore(path), { state: 'damaged' })
  markCleanShutdown(path)
  t.match(await inspectStore(path), { state: 'sound' })
  t.match(await inspectStore(path), { state: 'damaged' }, 'the mark is used up')
})

t.test('a file changed since its mark is inspected', async (t) => {
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
  t.equal(touched(byte), false, 'one byte changed')
  const deceived = (file: string) => {
    byte(file)
    utimesSync(file, new Date(0), new Date(0))
  }
  t.equal(touched(deceived), false, 'one byte changed, and the file times set back')
  const replaced = (file: string) => {
    copyFileSync(file, `${file}.copy`)
    renameSync(`${file}.copy`, file)
  }
  t.equal(touched(replaced), false, 'replaced by a copy')
  t.equal(
    touched((file) => writeFileSync(file, readFileSync(file))),
    false,
    'rewritten with the same bytes',
  )
})

t.test('a missing or foreign mark does not count', async (t) => {
  const { path } = damaged(t)
  t.equal(takeCleanShutdownMark(path), false)
  writeFileSync(join(path, 'closed'), 'yes')
  t.equal(takeCleanShutdownMark(path), false)
})
