import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { fileSecret, fixedSecret } from '../../src/core/secret.ts'

t.test('a file is followed, and a gap bridged', async (t) => {
  const file = join(t.testdir({ secret: 'one\n' }), 'secret')
  let nowMs = 0
  const secret = fileSecret(file, { now: () => nowMs, monotonic: () => nowMs })
  t.equal(secret.current(), 'one')
  writeFileSync(file, 'two')
  t.equal(secret.current(), 'one', 'not looked at twice a second')
  nowMs = 1000
  t.equal(secret.current(), 'two')
  rmSync(file)
  nowMs = 2000
  t.equal(secret.current(), 'two')
  writeFileSync(file, '\n')
  nowMs = 3000
  t.equal(secret.current(), 'two', 'an empty file is no secret')
})

t.test('what cannot be read at first is an error', async (t) => {
  const folder = t.testdir({ empty: ' \n' })
  const clock = { now: () => 0, monotonic: () => 0 }
  t.throws(() => fileSecret(join(folder, 'none'), clock), { code: 'ENOENT' })
  t.throws(() => fileSecret(join(folder, 'empty'), clock), /empty/)
  t.equal(fixedSecret('x').current(), 'x')
})
