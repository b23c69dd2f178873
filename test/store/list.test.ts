// Pages of usage entries, by offset and by cursor.

import fc from 'fast-check'
import t, { type Test } from 'tap'
import type { RequestDraft } from '../../src/audit/entry.ts'
import { OUTCOMES } from '../../src/audit/entry-fields.ts'
import type { UsageFilter, UsagePage, UsageQuery } from '../../src/audit/usage-query.ts'
import { openEnvironment } from '../../src/store/environment/journaled.ts'
import { writeLogState } from '../../src/store/log/batch.ts'
import { listUsage, MAXIMUM_SCANNED_ROWS, readCursor, writeCursor } from '../../src/store/log/list.ts'
import type { UsageLog } from '../../src/store/log/log.ts'
import { packSummary, readU64, summaryOutcome, u64 } from '../../src/store/tables/layout.ts'
import { requestDraft } from '../audit/drafts.ts'
import { id, openTestLog, openTestStore, START_MS, testClock } from './fixture.ts'

/** The flags of a summary, and those that older releases wrote: blocked and personal data. */
const FLAGS_AT = 16
const FLAGS_OF_OLDER = 0b11

type List = (query: Parameters<UsageLog['list']>[0]) => Promise<UsagePage>

/** Returns all pages by cursor. */
async function walk(list: List, filter: UsageFilter, limit: number, offset = 0): Promise<UsagePage[]> {
  const pages = [await list({ limit, offset, filter })]
  for (;;) {
    const text = pages.at(-1)?.next_cursor
    if (text === undefined) return pages
    pages.push(await list({ limit, offset: 0, filter, cursor: text }))
  }
}

t.test('pages by cursor equal those by offset, filtered or not, while entries are appended', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.boolean(), { maxLength: 40 }),
      fc.integer({ min: 1, max: 12 }),
      fc.nat(15),
      fc.constantFrom<UsageFilter>({}, { blocked: true }, { blocked: false }, { keyId: 'nobody' }),
      async (calls, limit, offset, filter) => {
        const { store } = openTestStore(t, { path: t.testdir() })
        await Promise.all(calls.map((blocked, n) => store.log.append(requestDraft({ id: id(n), blocked }))))
        const all = await store.log.list({ limit: 1000, offset: 0, filter })
        let more = 1000
        const pages = await walk(
          async (query) => {
            const page = await store.log.list(query)
            await store.log.append(requestDraft({ id: id(more++), blocked: false }))
            return page
          },
          filter,
          limit,
          offset,
        )
        t.strictSame(
          pages.flatMap(({ logs }) => logs),
          all.logs.slice(offset),
        )
        const [first] = pages
        t.equal(first?.total, all.total)
        t.ok(pages.every((page) => page.total_is_lower_bound === undefined))
        t.ok(pages.every(({ logs, next_cursor }) => next_cursor === undefined || logs.length === limit))
        await store.close()
      },
    ),
    { numRuns: 25 },
  )
})

/** Only the list rows of a log, more than one request scans; their entries do not exist. */
async function manySummaries(t: Test, calls: number, blockedEvery: number): Promise<List> {
  const environment = openEnvironment(t.testdir())
  t.teardown(() => environment.close())
  const { tables } = environment
  await environment.transaction(() => {
    for (let n = 0; n < calls; n++) {
      const summary = {
        seq: n + 1,
        createdAtMs: START_MS,
        piiDetected: false,
        outcome: 'ok',
        keyId: 'k',
        model: 'm',
      } as const
      tables.requests.put(u64(n), packSummary({ ...summary, blocked: n % blockedEvery === 0 }))
    }
    writeLogState(tables, {
      log: 'l',
      seq: calls,
      hash: 'h',
      frontier: [],
      firstRequest: 0,
      nextRequest: calls,
    })
  })
  return (query) => listUsage(tables, query)
}

t.test('a list from a call on stays the same while others are appended, filtered or not', async (t) => {
  const { store } = openTestStore(t, { path: t.testdir() })
  const append = (n: number) => store.log.append(requestDraft({ id: id(n), blocked: n % 3 === 0 }))
  for (let n = 0; n < 8; n++) await append(n)
  const list = (query: Partial<UsageQuery>) => store.log.list({ limit: 100, offset: 0, ...query })
  for (const [index, filter] of [{}, { blocked: false }].entries()) {
    const { logs, total } = await list({ filter })
    await append(8 + index)
    const newest = logs[0]!.id
    t.strictSame(await list({ filter, newest }), { logs, total })
    t.strictSame((await list({ filter, newest, offset: 2, limit: 2 })).logs, logs.slice(2, 4))
    t.strictSame((await list({ filter, newest: id(0) })).total, filter.blocked === false ? 0 : 1)
  }
  for (const newest of ['', 'nobody', id(99)])
    await t.rejects(list({ newest }), { code: 'invalid_parameter', message: /newest must be the id/ })
})

t.test('a filter scans a limited number of calls and reports it', async (t) => {
  const calls = MAXIMUM_SCANNED_ROWS * 2 + 50_000
  const list = await manySummaries(t, calls, 1000)
  const filter = { blocked: true }
  const first = await list({ limit: 10, offset: 0, filter })
  t.match(first, { total: 100, total_is_lower_bound: true, next_cursor: String })
  const pages = await walk(list, filter, 1000)
  t.strictSame(
    pages.map(({ total, total_is_lower_bound }) => [total, total_is_lower_bound]),
    [
      [100, true],
      [200, true],
      [250, undefined],
    ],
  )
  const small = await walk(list, filter, 60)
  t.equal(small.at(-1)?.total, 250)
  t.equal(small.at(-1)?.next_cursor, undefined)

  t.test('the cursor continues an offset beyond the scan', async (t) => {
    const passed = await list({ limit: 10, offset: 150, filter })
    t.match(passed, { logs: [], total: 100, total_is_lower_bound: true })
    t.match(readCursor(passed.next_cursor ?? ''), {
      skip: 50,
      seen: 100,
      next: calls - MAXIMUM_SCANNED_ROWS - 1,
    })
  })
  t.test('without a filter the total is always exact', async (t) => {
    const page = await list({ limit: 10, offset: calls - 5 })
    t.strictSame(page, { logs: [], total: calls })
    t.match(await list({ limit: 10, offset: 0 }), { total: calls, next_cursor: String })
  })
})

t.test('a tool is a filter by its whole name, with others and by cursor', async (t) => {
  const { log, close } = openTestLog({ path: t.testdir(), clock: testClock() })
  t.teardown(close)
  for (let n = 0; n < 40; n++) {
    const names = ['bash', 'bash_history', 'read'].slice(n % 3, (n % 3) + 1)
    const tools = names.map((name) => ({ called: 1, defined: true, name, refused: 0 }))
    await log.append(requestDraft({ id: id(n), ...(n % 4 !== 0 && { tools }) }))
  }
  const pages = await walk((query) => log.list({ ...query, tool: 'bash' }), {}, 3)
  const logs = pages.flatMap((page) => page.logs)
  t.equal(logs.length, 10)
  t.ok(logs.every(({ tools }) => tools?.[0]?.name === 'bash'))
  t.equal((await log.list({ limit: 1, offset: 0, tool: 'bas' })).total, 0)
})

t.test('upstream, rule, kind and label are filters by whole values, also together', async (t) => {
  const { log, close } = openTestLog({ path: t.testdir(), clock: testClock() })
  t.teardown(close)
  const rule = (name: string) => ({
    id: name,
    name,
    type: 'pii',
    action: 'redact',
    direction: 'request' as const,
  })
  const drafts: Partial<RequestDraft>[] = [
    {
      upstream: 'openai',
      rules: [rule('redact'), rule('no-aurora')],
      labels: { team: 'search', tier: 'gold' },
    },
    { upstream: 'openai-eu', rules: [rule('redact "all"')], labels: { team: 'gold' } },
    { pii: [{ kind: 'email', direction: 'request', count: 2 }], labels: { email: 'redact' } },
    { upstream: 'email', model: 'openai', labels: { 'a=b': 'c=d' } },
  ]
  for (const [n, draft] of drafts.entries()) await log.append(requestDraft({ id: id(n), ...draft }))
  const rows: [Partial<UsageQuery>, number[]][] = [
    [{ upstream: 'openai' }, [0]],
    [{ upstream: 'open' }, []],
    [{ rule: 'redact' }, [0]],
    [{ rule: 'redact "all"' }, [1]],
    [{ kind: 'email' }, [2]],
    [{ direction: 'request' }, [0, 1, 2].reverse()],
    [{ direction: 'response' }, []],
    [{ withEvents: true }, [0, 1, 2].reverse()],
    [{ withEvents: true, kind: 'email' }, [2]],
    [{ label: 'team=search' }, [0]],
    [{ label: 'tier=search' }, []],
    [{ label: 'team=gold' }, [1]],
    [{ label: '__proto__=x' }, []],
    [{ label: 'a=b=c=d' }, [3]],
    [{ label: 'a=b=c' }, []],
    [{ label: '=' }, []],
    [{ upstream: 'openai', rule: 'no-aurora', label: 'tier=gold' }, [0]],
    [{ upstream: 'openai', rule: 'no-aurora', kind: 'email' }, []],
  ]
  for (const [query, found] of rows) {
    const { logs } = await log.list({ limit: 10, offset: 0, ...query })
    t.strictSame(
      logs.map((one) => one.id),
      found.map(id),
      JSON.stringify(query),
    )
  }
})

t.test('what stopped a call is a filter: a limit, model or tool refused it, or its content', async (t) => {
  const { log, close } = openTestLog({ path: t.testdir(), clock: testClock() })
  t.teardown(close)
  const drafts: Partial<RequestDraft>[] = [
    {},
    { outcome: 'rate_limited', error_code: 'rate_limited' },
    { outcome: 'blocked', blocked: true, error_code: 'model_not_allowed' },
    { outcome: 'blocked', blocked: true, error_code: 'blocked_by_policy' },
    { outcome: 'client_aborted', blocked: true, error_code: 'response_blocked_by_policy' },
    { outcome: 'client_aborted' },
  ]
  for (const [n, draft] of drafts.entries()) await log.append(requestDraft({ id: id(n), ...draft }))
  for (const [stopped, found] of [
    ['refused', [2, 1]],
    ['blocked', [4, 3]],
  ] as const) {
    const pages = await walk((query) => log.list({ ...query, stopped }), {}, 1)
    t.strictSame(
      pages.flatMap(({ logs }) => logs.map((one) => [one.id, one.stopped])),
      found.map((n) => [id(n), stopped]),
    )
    const unflagged = await log.list({ limit: 1, offset: 0, stopped, filter: { blocked: false } })
    t.equal(unflagged.total, stopped === 'refused' ? 1 : 0)
  }
})

t.test('an outcome is a filter, by offset and by cursor, also for rows of older releases', async (t) => {
  const { environment, log, close } = openTestLog({ path: t.testdir(), clock: testClock() })
  t.teardown(close)
  for (let n = 0; n < 4 * OUTCOMES.length; n++) {
    const outcome = OUTCOMES[n % OUTCOMES.length]!
    await log.append(requestDraft({ id: id(n), outcome, blocked: outcome === 'blocked' }))
  }
  const check = async () => {
    for (const [index, outcome] of OUTCOMES.entries()) {
      const expected = [3, 2, 1, 0].map((round) => round * OUTCOMES.length + index + 1)
      for (const limit of [3, 10]) {
        const pages = await walk((query) => log.list({ ...query, outcomes: [outcome] }), {}, limit)
        t.strictSame(
          pages.flatMap(({ logs }) => logs.map(({ seq }) => seq)),
          expected,
        )
        t.ok(pages.every(({ total, logs }) => total === 4 && logs.every((one) => one.outcome === outcome)))
      }
      const both = await log.list({ limit: 1, offset: 1, outcomes: [outcome], filter: { blocked: true } })
      t.equal(both.total, outcome === 'blocked' ? 4 : 0, 'together with another filter')
    }
  }
  t.equal((await log.list({ limit: 1, offset: 0, outcomes: ['ok', 'overloaded'] })).total, 8)
  await check()
  const { tables } = environment
  await environment.transaction(() => {
    for (const { key, value } of tables.requests.rows()) {
      if (readU64(key) % 3 === 0) continue
      const older = Buffer.from(value)
      older[FLAGS_AT]! &= FLAGS_OF_OLDER
      t.equal(summaryOutcome(older), null)
      tables.requests.put(key, older)
    }
  })
  await check()
})

t.test('a cursor to pruned or future entries is harmless', async (t) => {
  const { store } = openTestStore(t)
  await Promise.all(Array.from({ length: 10 }, (_, n) => store.log.append(requestDraft({ id: id(n) }))))
  await store.log.dropOldest(6)
  const seqs = async (next: number, filter: UsageFilter = {}) => {
    const page = await store.log.list({
      limit: 3,
      offset: 0,
      filter,
      cursor: writeCursor({ next, skip: 0, seen: 0 }),
    })
    return page.logs.map(({ seq }) => seq)
  }
  for (const filter of [{}, { blocked: false }]) {
    t.strictSame(await seqs(2, filter), [])
    t.strictSame(await seqs(6, filter), [7, 6])
    t.strictSame(await seqs(1e14, filter), [10, 9, 8])
  }
})

t.test('only texts that a page returned are cursors', async (t) => {
  const cursor = { next: 5, skip: 0, seen: 12 }
  t.strictSame(readCursor(writeCursor(cursor)), cursor)
  for (const text of ['', '5', 'x'.repeat(1000), Buffer.from('1:-5:0:0').toString('base64url')]) {
    t.equal(readCursor(text), null)
  }
})
