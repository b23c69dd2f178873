import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { SignInJournal } from '../../src/server/sign-in-journal.ts'

const ADDRESS = '192.0.2.1'

/** A journal of a log that keeps its entries in an array. */
function setUp() {
  let nowMs = 0
  const entries: Record<string, unknown>[] = []
  const journal = new SignInJournal({
    log: {
      change: async (make: any) => {
        entries.push(make().draft)
        await turn()
        return undefined as never
      },
    },
    logger: { info() {}, warn() {} },
    metrics: { signIns: { inc() {} } } as any,
    clock: { now: () => nowMs, monotonic: () => nowMs } as any,
  })
  const wait = (ms: number) => {
    nowMs += ms
  }
  return { journal, entries, wait }
}

t.test('a flood of throttled sign-ins makes a bounded number of entries and hides no guess', async (t) => {
  const { journal, entries } = setUp()
  for (let n = 0; n < 500; n++) await journal.failed(ADDRESS, 'throttled', 'token')
  t.equal(entries.length, 10)
  await journal.failed(ADDRESS, 'wrong_token', 'token')
  t.match(entries.at(-1), { type: 'sign_in', result: 'wrong_token', actor: 'unknown', omitted: 490 })
})

t.test('failures without an entry count in the next one', async (t) => {
  const { journal, entries, wait } = setUp()
  for (let n = 0; n < 12; n++) await journal.failed(ADDRESS, 'wrong_token', 'token')
  t.equal(entries.length, 10)
  wait(6000)
  await journal.failed(ADDRESS, 'wrong_token', 'token')
  t.match(entries.at(-1), { omitted: 2 })
  await journal.succeeded(ADDRESS, 'admin', 'token')
  t.match(entries.at(-1), { result: 'ok', actor: 'admin', omitted: 0 })
})
