// Erasure of captured exchanges.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { verifyChain } from '../../src/audit/verify.ts'
import type { Environment } from '../../src/store/environment/journaled.ts'
import { ERASE_SLICE_ROWS, type EraseSelection } from '../../src/store/log/erase.ts'
import type { UsageLog } from '../../src/store/log/log.ts'
import type { Table } from '../../src/store/tables/table.ts'
import { requestDraft } from '../audit/drafts.ts'
import { altered, applied, id, openTestStore, START_MS } from './fixture.ts'

const exchange = (text: string) => JSON.stringify({ request: { text }, response: null })
const MINUTE_MS = 60_000

interface TestCall {
  readonly key: string
  readonly minutes: number
  readonly captured: boolean
}

function append(log: UsageLog, call: TestCall, n: number): Promise<unknown> {
  const created_at = new Date(START_MS + call.minutes * MINUTE_MS).toISOString()
  const draft = requestDraft({ id: id(n), key_id: call.key, created_at })
  return log.append(draft, call.captured ? { content: exchange(`text ${n}`) } : {})
}

const eraseEntries = (log: UsageLog) =>
  log
    .records(0, 100_000)
    .map(({ bytes }) => JSON.parse(Buffer.from(bytes).toString()))
    .filter(({ type }) => type === 'erase')

t.test('an order of a hub is sealed by the last entry, also when nothing is erased', async (t) => {
  const { store } = openTestStore(t)
  for (let n = 0; n < 3; n++) await append(store.log, { key: 'k', minutes: 0, captured: true }, n)
  await store.log.append(requestDraft({ id: id(9), key_id: 'k' }), {
    user: { hash: Buffer.alloc(16, 1), clear: null },
  })
  await store.log.erase({ userHash: Buffer.alloc(16, 1) }, 'gateway', 4)
  await store.log.erase({ userHash: Buffer.alloc(16, 1) }, 'gateway', 4)
  await store.log.erase({ keyId: 'unknown' }, 'gateway', 5)
  await store.log.erase({ requestId: 'unknown' }, 'gateway', 6)
  await store.log.erase({ beforeMs: START_MS + MINUTE_MS }, 'gateway', 7)
  t.match(eraseEntries(store.log), [
    { selection: { user: true }, erased: 0, users: 1, order: 4 },
    { selection: { user: true }, erased: 0, order: 4 },
    { selection: { key_id: 'unknown' }, erased: 0, order: 5 },
    { selection: { request_id: 'unknown' }, erased: 0, order: 6 },
    { erased: 3, order: 7 },
  ])
})

t.test('of several slices only the last one has the order', async (t) => {
  const { store } = openTestStore(t)
  const calls = Array.from({ length: ERASE_SLICE_ROWS + 1 }, (_, n) =>
    append(store.log, { key: 'k', minutes: 0, captured: true }, n),
  )
  await Promise.all(calls)
  await store.log.erase({ keyId: 'k' }, 'gateway', 4)
  const said = eraseEntries(store.log).map(({ erased, order }) => ({ erased, order }))
  t.strictSame(said, [
    { erased: ERASE_SLICE_ROWS, order: undefined },
    { erased: 1, order: 4 },
  ])
})

t.test('erasing one call removes its exchange, keeps its entry and is sealed', async (t) => {
  const { store } = openTestStore(t)
  const call = { key: 'k', minutes: 0, captured: true }
  await append(store.log, call, 1)
  await append(store.log, call, 2)
  t.match(store.log.get(id(1)), { erased: false, request: { text: 'text 1' } })
  t.same(await store.log.erase({ requestId: id(1) }, 'vera'), { erased: 1, entries: 1 })
  t.match(store.log.get(id(1)), {
    request: null,
    response: null,
    erased: true,
    content_hash: /^sha256:/,
  })
  t.match(store.log.get(id(2)), { erased: false, request: { text: 'text 2' } })
  t.match(eraseEntries(store.log), [{ seq: 3, selection: { request_id: id(1) }, erased: 1 }])
  t.same(
    await store.log.erase({ requestId: id(1) }, 'vera'),
    { erased: 0, entries: 0 },
    'nothing left to erase or to seal',
  )
  t.equal(await store.log.erase({ requestId: id(9) }, 'vera'), null)
  for (const odd of ['', '\0', 'x'.repeat(100_000)])
    t.equal(await store.log.erase({ requestId: odd }, 'vera'), null)
  t.match(verifyChain(store.log.records(0, 100)), { ok: true, checked: 4 })
})

t.test('a key without calls has nothing to erase, and an unknown key is not found', async (t) => {
  const { store } = openTestStore(t)
  const { record } = await store.keys.create('app', 'vera')
  t.same(await store.log.erase({ keyId: record.id }, 'vera'), { erased: 0, entries: 0 })
  for (const keyId of ['app', '', 'x'.repeat(100_000)])
    t.equal(await store.log.erase({ keyId }, 'vera'), null)
})

t.test('a call without an exchange has nothing to erase', async (t) => {
  const { store } = openTestStore(t)
  await append(store.log, { key: 'k', minutes: 0, captured: false }, 1)
  t.same(await store.log.erase({ requestId: id(1) }, 'vera'), { erased: 0, entries: 0 })
  t.match(store.log.get(id(1)), { erased: false, content_hash: null })
})

t.test('an erasure larger than one transaction is sealed in slices', async (t) => {
  const { store, clock, reopen } = openTestStore(t)
  const calls = ERASE_SLICE_ROWS * 2 + 7
  const call = { key: 'k', minutes: 0, captured: true }
  await Promise.all(Array.from({ length: calls }, (_, n) => append(store.log, call, n)))
  clock.advance(MINUTE_MS)
  t.same(await store.log.erase({ beforeMs: clock.now() }, 'vera'), { erased: calls, entries: 3 })
  t.same(
    eraseEntries(store.log).map(({ erased }) => erased),
    [ERASE_SLICE_ROWS, ERASE_SLICE_ROWS, 7],
  )
  const { store: again } = await reopen()
  t.match(again.log.get(id(calls - 1)), { erased: true })
  t.match(verifyChain(again.log.records(0, 10_000)), { ok: true })
})

t.test('erasing few calls among many does not read the exchanges between them', async (t) => {
  let most = 0
  const noted = <Found>(found: Found, rows: number): Found => {
    most = Math.max(most, rows)
    return found
  }
  const wrap = (real: Environment) => {
    const { content } = real.tables
    const counted: Table = {
      get: (key) => content.get(key),
      peek: (key) => content.peek(key),
      put: (key, value) => content.put(key, value),
      remove: (key) => content.remove(key),
      rows: (range) => content.rows(range),
      keys: (range) => {
        const found = content.keys(range)
        return noted(found, found.length)
      },
      count: (range) => {
        const found = content.count(range)
        return noted(found, found)
      },
      size: 0,
    }
    return altered(real, { tables: { ...real.tables, content: counted } })
  }
  const { store } = openTestStore(t, { wrap })
  const calls = 3000
  const keyOf = (n: number) => (n === 0 || n === calls - 1 ? 'rare' : 'busy')
  await Promise.all(
    Array.from({ length: calls }, (_, n) =>
      append(store.log, { key: keyOf(n), minutes: 0, captured: true }, n),
    ),
  )
  t.same(await store.log.erase({ keyId: 'rare' }, 'vera'), { erased: 2, entries: 1 })
  t.ok(most < calls / 2, `${most} exchanges read at once`)
})

t.test('the space of erased exchanges is reused', async (t) => {
  const { store, path } = openTestStore(t)
  const large = exchange('secret'.repeat(20_000))
  const round = async (from: number) => {
    for (let n = from; n < from + 20; n++)
      await store.log.append(requestDraft({ id: id(n) }), { content: large })
    await store.log.erase({ beforeMs: START_MS + MINUTE_MS }, 'vera')
    await applied(store)
  }
  const fileBytes = () => readFileSync(join(path, 'data.mdb')).length
  const emptyBytes = fileBytes()
  await round(0)
  const sizes: number[] = []
  for (let n = 1; n <= 6; n++) {
    await round(n * 20)
    sizes.push(fileBytes() - emptyBytes)
  }
  const roundBytes = 20 * large.length
  t.ok(Math.max(...sizes) < 3 * roundBytes, `the file grows by ${sizes} for rounds of ${roundBytes}`)
})

const anyCall: fc.Arbitrary<TestCall> = fc.record({
  key: fc.constantFrom('k1', 'k2'),
  minutes: fc.nat(60),
  captured: fc.boolean(),
})
const anySelection: fc.Arbitrary<EraseSelection> = fc.oneof(
  fc.nat(20).map((n) => ({ requestId: id(n) })),
  fc.constantFrom('k1', 'k2', 'k3').map((keyId) => ({ keyId })),
  fc.nat(60).map((minutes) => ({ beforeMs: START_MS + minutes * MINUTE_MS })),
)

t.test('exactly the selected exchanges are erased, and the entries count them', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyCall, { maxLength: 20 }),
      fc.array(anySelection, { maxLength: 4 }),
      async (calls, selections) => {
        const { store } = openTestStore(t, { path: t.testdir() })
        for (const [n, call] of calls.entries()) await append(store.log, call, n)
        const left = new Map(calls.entries())
        for (const selection of selections) {
          const hit = [...left].filter(([n, { key, minutes, captured }]) => {
            if (!captured) return false
            if ('requestId' in selection) return selection.requestId === id(n)
            if ('keyId' in selection) return selection.keyId === key
            return 'beforeMs' in selection && START_MS + minutes * MINUTE_MS < selection.beforeMs
          })
          for (const [n] of hit) left.delete(n)
          const known =
            ('requestId' in selection && store.log.get(selection.requestId) !== null) ||
            ('keyId' in selection && calls.some(({ key }) => key === selection.keyId)) ||
            'beforeMs' in selection
          const expected = { erased: hit.length, entries: Math.min(1, hit.length) }
          t.same(await store.log.erase(selection, 'vera'), known ? expected : null)
        }
        for (const [n, { captured }] of calls.entries()) {
          const detail = store.log.get(id(n))
          t.equal(detail?.erased, captured && !left.has(n))
          t.equal(detail?.request === null, !captured || !left.has(n))
        }
        t.match(verifyChain(store.log.records(0, 1000)), { ok: true })
        await store.close()
      },
    ),
    { numRuns: 25 },
  )
})
