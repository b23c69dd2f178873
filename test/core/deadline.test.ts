// Two pieces of work side by side.

import t from 'tap'
import { settledWith } from '../../src/core/deadline.ts'

const TOLD = 'told'

/** What has settled so far, in order. */
function watch(promise: Promise<unknown>, log: string[]): void {
  promise.then(
    (value) => log.push(`resolved ${value}`),
    (error) => log.push(`rejected ${error.message}`),
  )
}

for (const how of ['resolve', 'reject'] as const) {
  t.test(`the result waits for the other, which may ${how}`, async (t) => {
    const other = Promise.withResolvers<void>()
    const log: string[] = []
    watch(settledWith(Promise.resolve(TOLD), other.promise), log)
    await new Promise(setImmediate)
    t.strictSame(log, [])
    if (how === 'resolve') other.resolve()
    else other.reject(new Error('other'))
    await new Promise(setImmediate)
    t.strictSame(log, ['resolved told'])
  })
}

t.test('a failure waits for the other, too', async (t) => {
  const other = Promise.withResolvers<void>()
  const log: string[] = []
  watch(settledWith(Promise.reject(new Error('first')), other.promise), log)
  await new Promise(setImmediate)
  t.strictSame(log, [])
  other.resolve()
  await new Promise(setImmediate)
  t.strictSame(log, ['rejected first'])
})

t.test("a failure of the other before the first has ended is nobody's", async (t) => {
  const first = Promise.withResolvers<string>()
  const result = settledWith(first.promise, Promise.reject(new Error('other')))
  await new Promise(setImmediate)
  first.resolve(TOLD)
  t.equal(await result, TOLD)
})
