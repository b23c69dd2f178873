import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ownKey, PSEUDONYM_KEY_FILE, readOwnKey, USER_KEY_FILE } from '../../src/store/files/own-key.ts'

t.test('a key is made once, random, for its owner alone', async (t) => {
  const folder = t.testdir()
  t.equal(readOwnKey(folder, USER_KEY_FILE), null)
  const key = ownKey(folder, USER_KEY_FILE)
  t.equal(key.length, 32)
  t.same(ownKey(folder, USER_KEY_FILE), key)
  t.same(readOwnKey(folder, USER_KEY_FILE), key)
  t.same(readdirSync(folder), [USER_KEY_FILE])
  t.notSame(ownKey(folder, PSEUDONYM_KEY_FILE), key)
  for (const name of [USER_KEY_FILE, PSEUDONYM_KEY_FILE])
    t.equal(statSync(join(folder, name)).mode & 0o777, 0o600)
  const other = t.testdir({ other: {} })
  t.notSame(ownKey(join(other, 'other'), USER_KEY_FILE), key)
})

t.test('a damaged key is an error that does not repeat it, and is not replaced', async (t) => {
  const folder = t.testdir()
  const file = join(folder, USER_KEY_FILE)
  for (const text of ['', 'ab'.repeat(31), `${'0g'.repeat(32)}\n`]) {
    writeFileSync(file, text)
    t.throws(() => ownKey(folder, USER_KEY_FILE), {
      message: /user-key does not hold 64 hexadecimal digits; restore it/,
    })
    t.equal(readFileSync(file, 'latin1'), text)
  }
})
