// End users of calls: found by filter, erased with their exchanges, and pruned with their entries.

import fc from 'fast-check'
import t from 'tap'
import { hashUser } from '../../src/audit/user-hash.ts'
import { verifyChain } from '../../src/audit/verify.ts'
import type { UsageLog } from '../../src/store/log/log.ts'
import { requestDraft } from '../audit/drafts.ts'
import { DAY_MS, id, openTestLog, openTestStore, testClock, until } from './fixture.ts'

const KEY = Buffer.alloc(32, 7)
const EXCHANGE = '{"request":{"text":"hello"},"response":null}'

interface UserCall {
  readonly user: string | null
  readonly clear?: boolean
  readonly captured?: boolean
  readonly model?: string
}

function append(log: UsageLog, { user, clear, captured = true, model = 'm' }: UserCall, n: number) {
  const draft = requestDraft({ id: id(n), model, ...(user !== null && { has_user: true as const }) })
  return log.append(draft, {
    ...(captured && { content: EXCHANGE }),
    user: user === null ? null : { hash: hashUser(KEY, user), clear: clear === true ? user : null },
  })
}

const idsOf = async (log: UsageLog, user: string, more = {}) =>
  (await log.list({ limit: 1000, offset: 0, user, ...more })).logs.map((entry) => entry.id)

t.test('a user is a hash, or clear text if that is stored, and null without one', async (t) => {
  const { store, reopen } = openTestStore(t, { userKey: KEY })
  await append(store.log, { user: 'ann' }, 1)
  await append(store.log, { user: 'ann', clear: true }, 2)
  await append(store.log, { user: null }, 3)
  t.equal(store.log.get(id(1))?.user, hashUser(KEY, 'ann').toString('hex'))
  t.match(store.log.get(id(1))?.user, /^[0-9a-f]{32}$/)
  t.equal(store.log.get(id(2))?.user, 'ann')
  t.equal(store.log.get(id(3))?.user, null)
  const { store: again } = await reopen()
  t.same(await idsOf(again.log, 'ann'), [id(2), id(1)])
})

t.test('the hash in the list finds a user too, unless a client names a user so', async (t) => {
  const { store } = openTestStore(t, { userKey: KEY })
  const hash = hashUser(KEY, 'ann').toString('hex')
  await append(store.log, { user: 'ann' }, 1)
  t.same(await idsOf(store.log, hash), [id(1)])
  await append(store.log, { user: hash }, 2)
  t.same(await idsOf(store.log, hash), [id(2)])
  const { store: keyless } = openTestStore(t, { path: t.testdir({ other: {} }) })
  t.same(await keyless.log.list({ limit: 1, offset: 0, user: 'ann' }), { logs: [], total: 0 })
  t.same(await keyless.log.erase({ user: 'ann' }, 'vera'), { erased: 0, entries: 0 })
})

t.test('erasing a user removes exchanges and names, and the entry does not say whose', async (t) => {
  const { store } = openTestStore(t, { userKey: KEY })
  await append(store.log, { user: 'ann' }, 1)
  await append(store.log, { user: 'ben' }, 2)
  await append(store.log, { user: 'ann', captured: false }, 3)
  t.same(await store.log.erase({ user: 'ann' }, 'vera'), { erased: 1, entries: 1 })
  t.match(store.log.get(id(1)), { user: null, erased: true })
  t.match(store.log.get(id(3)), { user: null, erased: false })
  t.match(store.log.get(id(2)), { user: hashUser(KEY, 'ben').toString('hex'), erased: false })
  t.same(await idsOf(store.log, 'ann'), [])
  t.same(await store.log.erase({ user: 'ann' }, 'vera'), { erased: 0, entries: 0 }, 'nothing is left')
  const entry = JSON.parse(Buffer.from(store.log.records(4, 1)[0]!.bytes).toString())
  t.match(entry, { type: 'erase', selection: { user: true }, erased: 1, users: 2 })
  t.match(verifyChain(store.log.records(0, 100)), { ok: true })
})

t.test('every other erasure removes the users of its calls', async (t) => {
  const { store, clock } = openTestStore(t, { userKey: KEY })
  await append(store.log, { user: 'ann' }, 1)
  await append(store.log, { user: 'ann', captured: false }, 2)
  t.same(await store.log.erase({ requestId: id(1) }, 'vera'), { erased: 1, entries: 1 })
  t.same(await idsOf(store.log, 'ann'), [id(2)])
  t.same(await store.log.erase({ beforeMs: clock.now() + DAY_MS }, 'vera'), { erased: 0, entries: 1 })
  t.same(await idsOf(store.log, 'ann'), [])
})

t.test('pruning removes the users of its calls, and leaves no row', async (t) => {
  const clock = testClock()
  const opened = openTestLog({ path: t.testdir(), clock, retainMs: DAY_MS })
  t.teardown(() => opened.close())
  for (let n = 0; n < 700; n++) await append(opened.log, { user: `u${n % 3}` }, n)
  clock.advance(2 * DAY_MS)
  await append(opened.log, { user: 'u0' }, 700)
  await opened.retention.tick()
  const { users, usercalls } = opened.environment.tables
  opened.environment.refresh()
  t.same([users.size, usercalls.size], [1, 1])
  t.same(opened.errors, [])
})

t.test('pages of a user have each call once, in order, with other filters', async (t) => {
  const anyCall = fc.record({
    user: fc.constantFrom(null, 'ann', 'ben'),
    captured: fc.boolean(),
    model: fc.constantFrom('m', 'n'),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyCall, { maxLength: 40 }),
      fc.integer({ min: 1, max: 7 }),
      fc.constantFrom(null, 'm'),
      async (calls, limit, model) => {
        const { store } = openTestStore(t, { path: t.testdir(), userKey: KEY })
        await Promise.all(calls.map((call, n) => append(store.log, call, n)))
        const expected = calls
          .flatMap((call, n) =>
            call.user === 'ann' && (model === null || call.model === model) ? [id(n)] : [],
          )
          .reverse()
        const filter = { model }
        const all = await store.log.list({ limit: 1000, offset: 0, user: 'ann', filter })
        t.same([all.total, all.logs.map((entry) => entry.id)], [expected.length, expected])
        const paged: string[] = []
        for (let offset = 0; offset < expected.length; offset += limit)
          paged.push(...(await idsOf(store.log, 'ann', { limit, offset, filter })))
        t.same(paged, expected)
        await store.close()
      },
    ),
    { numRuns: 25 },
  )
})

t.test('a user with more calls than one page is listed and erased whole', async (t) => {
  const { store } = openTestStore(t, { userKey: KEY })
  const calls = 1203
  await Promise.all(Array.from({ length: calls }, (_, n) => append(store.log, { user: 'ann' }, n)))
  const page = await store.log.list({ limit: 10, offset: 1195, user: 'ann' })
  t.match(page, { total: calls })
  t.equal(page.logs.length, 8)
  t.same(await store.log.erase({ user: 'ann' }, 'vera'), { erased: calls, entries: 2 })
  await until(() => true)
  t.same(await idsOf(store.log, 'ann'), [])
})
