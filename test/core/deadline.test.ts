import t from 'tap'
import { settledWith } from '../../src/core/deadline.ts'

const RESULT = 'result'

/** Logs how the promise settles. */
function watch(promise: Promise<unknown>, log: string[]): void {
  promise.then(
    (value) => log.push(`resolved ${value}`),
    (error) => log.push(`rejected ${error.message}`),
  )
}

for (const how of ['resolve', 'reject'] as const) {
  t.test(`settledWith waits for the other promise to ${how}`, async (t) => {
    const other = Promise.withResolvers<void>()
    const log: string[] = []
    watch(settledWith(Promise.resolve(RESULT), other.promise), log)
    await new Promise(setImmediate)
    t.strictSame(log, [])
    if (how === 'resolve') other.resolve()
    else other.reject(new Error('other'))
    await new Promise(setImmediate)
    t.strictSame(log, ['resolved result'])
  })
}

t.test('settledWith waits for the other promise before it rejects', async (t) => {
  const other = Promise.withResolvers<void>()
  const log: string[] = []
  watch(settledWith(Promise.reject(new Error('first')), other.promise), log)
  await new Promise(setImmediate)
  t.strictSame(log, [])
  other.resolve()
  await new Promise(setImmediate)
  t.strictSame(log, ['rejected first'])
})

t.test('a rejection of the other promise is ignored', async (t) => {
  const first = Promise.withResolvers<string>()
  const result = settledWith(first.promise, Promise.reject(new Error('other')))
  await new Promise(setImmediate)
  first.resolve(RESULT)
  t.equal(await result, RESULT)
})
