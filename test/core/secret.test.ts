import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { fileSecret, fixedSecret } from '../../src/core/secret.ts'

t.test(
  'a changed file is read again, and the last value stays while the file is missing or empty',
  async (t) => {
    const file = join(t.testdir({ secret: 'one\n' }), 'secret')
    let nowMs = 0
    const secret = fileSecret(file, { now: () => nowMs, monotonic: () => nowMs })
    t.equal(secret.current(), 'one')
    writeFileSync(file, 'two')
    t.equal(secret.current(), 'one', 'read at most once a second')
    nowMs = 1000
    t.equal(secret.current(), 'two')
    rmSync(file)
    nowMs = 2000
    t.equal(secret.current(), 'two')
    writeFileSync(file, '\n')
    nowMs = 3000
    t.equal(secret.current(), 'two', 'an empty file is not a value')
    writeFileSync(file, 'x'.repeat(1024 * 1024 + 1))
    nowMs = 4000
    t.equal(secret.current(), 'two', 'nor is a large one')
    t.throws(
      () => fileSecret(file, { now: () => nowMs, monotonic: () => nowMs }),
      /larger than 1048576 bytes/,
    )
  },
)

t.test('an unusable value does not replace a usable one, and each change is reported once', async (t) => {
  const file = join(t.testdir({ secret: 'one\n' }), 'secret')
  let nowMs = 0
  const clock = { now: () => nowMs, monotonic: () => nowMs }
  const reported: (string | null)[] = []
  const secret = fileSecret(file, clock, (value) => (value.includes(' ') ? 'holds a space' : null))
  secret.onTurn((problem) => reported.push(problem))
  const after = (change: () => void): string => {
    change()
    nowMs += 1000
    return secret.current()
  }
  const steps: [change: () => void, value: string, expected: readonly (string | null)[]][] = [
    [() => {}, 'one', []],
    [() => writeFileSync(file, 't wo'), 'one', ['holds a space']],
    [() => writeFileSync(file, 't w o'), 'one', []],
    [() => rmSync(file), 'one', ['ENOENT']],
    [() => writeFileSync(file, ''), 'one', ['the file is empty']],
    [() => writeFileSync(file, 'two'), 'two', [null]],
  ]
  for (const [change, value, expected] of steps) {
    const before = reported.length
    t.equal(after(change), value)
    t.same(reported.slice(before), expected)
  }
  after(() => rmSync(file))
  after(() => writeFileSync(file, 'two'))
  t.same(reported.slice(4), ['ENOENT', null], 'the same value again ends the problem')
})

t.test('an unreadable or empty file is an error at first', async (t) => {
  const folder = t.testdir({ empty: ' \n' })
  const clock = { now: () => 0, monotonic: () => 0 }
  t.throws(() => fileSecret(join(folder, 'none'), clock), { code: 'ENOENT' })
  t.throws(() => fileSecret(join(folder, 'empty'), clock), /empty/)
  t.equal(fixedSecret('x').current(), 'x')
})
