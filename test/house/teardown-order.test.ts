// The order in which a test ends.

import { existsSync } from 'node:fs'
import t, { type Test } from 'tap'

/** Whether the folder of each ended test was there at its teardown. */
const found: boolean[] = []

function openFolder(t: Test): void {
  const folder = t.testdir({ file: 'x' })
  t.teardown(() => found.push(existsSync(folder)))
}

t.test('a test and a test within it make folders', async (t) => {
  openFolder(t)
  await t.test('the inner one', async (t) => openFolder(t))
})

t.test('a folder is removed after the teardowns of its test', async (t) => {
  t.strictSame(found, [true, true])
})
