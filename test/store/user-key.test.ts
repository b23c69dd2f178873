import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ownUserKey, readUserKey, USER_KEY_FILE } from '../../src/store/files/user-key.ts'

t.test('a key is made once, random, for its owner alone', async (t) => {
  const folder = t.testdir()
  t.equal(readUserKey(folder), null)
  const key = ownUserKey(folder)
  t.equal(key.length, 32)
  t.same(ownUserKey(folder), key)
  t.same(readUserKey(folder), key)
  t.same(readdirSync(folder), [USER_KEY_FILE])
  t.equal(statSync(join(folder, USER_KEY_FILE)).mode & 0o777, 0o600)
  const other = t.testdir({ other: {} })
  t.notSame(ownUserKey(join(other, 'other')), key)
})

t.test('a damaged key is an error that does not repeat it, and is not replaced', async (t) => {
  const folder = t.testdir()
  const file = join(folder, USER_KEY_FILE)
  for (const text of ['', 'ab'.repeat(31), `${'0g'.repeat(32)}\n`]) {
    writeFileSync(file, text)
    t.throws(() => ownUserKey(folder), {
      message: /user-key does not hold 64 hexadecimal digits; restore it/,
    })
    t.equal(readFileSync(file, 'latin1'), text)
  }
})
