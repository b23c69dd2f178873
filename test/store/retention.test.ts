// Pruning: the remaining log verifies and matches earlier checkpoints, after an interruption at any
// point.

import { statSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { entryLine, readLine } from '../../src/audit/dump.ts'
import { type LogVerdict, LogVerifier } from '../../src/audit/log-verify.ts'
import { LogSurvey, NO_EVIDENCE } from '../../src/audit/survey.ts'
import type { UsageLog } from '../../src/store/log/log.ts'
import { requestDraft } from '../audit/drafts.ts'
import {
  beforeWrites,
  DAY_MS,
  id,
  openTestLog,
  START_MS,
  type TestClock,
  type TestLog,
  testClock,
} from './fixture.ts'

const HOUR_MS = 3_600_000
const MIB = 1024 ** 2
const RULE = { id: 'r', name: 'n', type: 'keyword_block', action: 'block', direction: 'request' as const }

const firstSeq = (log: UsageLog) => log.records(0, 1)[0]?.seq

/** Verifies through the lines of an export. */
function verify(log: UsageLog): LogVerdict {
  const lines = log.records(0, 1_000_000).map(entryLine)
  const entries = lines.map((line) => {
    const read = readLine(Buffer.from(line.trimEnd()))
    if (typeof read === 'string' || !('entry' in read)) throw new Error(String(read))
    return read.entry
  })
  const survey = new LogSurvey(NO_EVIDENCE)
  for (const { bytes } of entries) survey.addEntry(bytes)
  const verifier = new LogVerifier(survey)
  for (const entry of entries) verifier.push(entry, null)
  return verifier.finish()
}

/** Compares the indexes with the entries. */
async function checkIndexes(t: Test, { environment, log }: TestLog): Promise<void> {
  const entries = log.records(0, 1_000_000).map(({ bytes }) => JSON.parse(Buffer.from(bytes).toString()))
  const calls = entries.filter(({ type }) => type === 'request')
  const { logs, total } = await log.list({ limit: 1000, offset: 0 })
  t.equal(total, calls.length)
  t.same(
    logs.map((entry) => entry.seq),
    calls.map(({ seq }) => seq).reverse(),
  )
  const { ids, requests, content, security } = environment.tables
  t.equal(ids.count(), calls.length)
  t.equal(requests.count(), calls.length)
  t.equal(content.count(), calls.filter((call) => log.get(call.id)?.erased === false).length)
  const report = log.security({ days: 365, limit: 1000, offset: 0, nowMs: START_MS + 300 * DAY_MS })
  t.equal(report.total, 2 * calls.filter(({ blocked }) => blocked).length)
  t.equal(report.events.length, report.total)
  t.equal(security.count(), report.total)
}

async function call(log: UsageLog, clock: TestClock, n: number, bytes = 20): Promise<void> {
  const blocked = n % 3 === 0
  const created_at = new Date(clock.now()).toISOString()
  const changes = blocked ? { blocked, rules: [RULE] } : {}
  const content = JSON.stringify({ request: 'x'.repeat(bytes), response: null })
  await log.append(requestDraft({ id: id(n), key_id: `k${n % 2}`, created_at, ...changes }), { content })
}

t.test('pruning by age runs hourly and at start, and keeps young entries', async (t) => {
  const clock = testClock()
  const opened = openTestLog({ path: t.testdir(), clock })
  const { log, retention } = opened
  for (let day = 0; day < 40; day++) {
    await call(log, clock, day)
    clock.advance(DAY_MS)
  }
  await retention.tick()
  // Genesis, then a call a day: entry n + 1 was sealed on day n, and day 10 is 30 days ago.
  t.equal(firstSeq(log), 11)
  t.match(verify(log), { ok: true, firstSeq: 11, entries: 31, beginning: 'prune', findings: [] })
  await checkIndexes(t, opened)
  t.equal(log.get(id(9)), null)
  t.match(log.get(id(10)), { seq: 11, request: 'x'.repeat(20) })
  clock.advance(HOUR_MS - 1)
  await retention.tick()
  t.equal(log.head.seq, 41, 'not again within an hour')
  clock.advance(1)
  await retention.tick()
  t.equal(firstSeq(log), 12)
  await opened.close()
})

t.test('a start with a clock in another year prunes nothing until it is steady for an hour', async (t) => {
  const clock = testClock()
  const path = t.testdir()
  const first = openTestLog({ path, clock })
  for (let n = 0; n < 5; n++) await call(first.log, clock, n)
  await first.close()
  clock.advance(1200 * DAY_MS)
  const opened = openTestLog({ path, clock })
  await opened.retention.tick()
  t.equal(firstSeq(opened.log), 0)
  clock.advance(HOUR_MS - 1)
  await opened.retention.tick()
  t.equal(firstSeq(opened.log), 0)
  clock.advance(1)
  await opened.retention.tick()
  t.ok(firstSeq(opened.log)! > 0)
  await opened.close()
})

t.test('an idle log does not grow by pruning', async (t) => {
  const clock = testClock()
  const opened = openTestLog({ path: t.testdir(), clock })
  await call(opened.log, clock, 1)
  for (let n = 0; n < 100; n++) {
    clock.advance(DAY_MS)
    await opened.retention.tick()
  }
  t.ok(opened.log.head.seq <= 4, `${opened.log.head.seq}`)
  t.match(verify(opened.log), { ok: true })
  await opened.close()
})

t.test('a clock that was set back causes no loss of young entries', async (t) => {
  const clock = testClock()
  const opened = openTestLog({ path: t.testdir(), clock })
  const { log, retention } = opened
  await call(log, clock, 0)
  clock.advance(20 * DAY_MS)
  await call(log, clock, 1)
  clock.advance(-20 * DAY_MS)
  await call(log, clock, 2)
  clock.advance(31 * DAY_MS)
  await retention.tick()
  t.equal(firstSeq(log), 2, 'the third is as old as the first, and stays after the second')
  t.match(verify(log), { ok: true, beginning: 'prune' })
  await checkIndexes(t, opened)
  await opened.close()
})

t.test('entries sealed by a clock that was ahead are pruned with their neighbours', async (t) => {
  const clock = testClock()
  const opened = openTestLog({ path: t.testdir(), clock })
  const { log, retention } = opened
  const ahead = async (n: number) => {
    clock.advance(3650 * DAY_MS)
    await call(log, clock, n)
    clock.advance(-3650 * DAY_MS)
  }
  await ahead(0)
  await call(log, clock, 1)
  await ahead(2)
  clock.advance(25 * DAY_MS)
  await call(log, clock, 3)
  await ahead(4)
  clock.advance(6 * DAY_MS)
  await retention.tick()
  t.equal(firstSeq(log), 3, 'the entry before the young one is not known to be old')
  clock.advance(25 * DAY_MS)
  await call(log, clock, 5)
  await retention.tick()
  t.equal(firstSeq(log), 5)
  t.match(verify(log), { ok: true, beginning: 'prune' })
  await opened.close()
})

t.test('a pruning over several transactions can stop after any of them', async (t) => {
  for (const commits of [0, 1, 2, 3]) {
    const clock = testClock()
    const path = t.testdir()
    const filling = openTestLog({ path, clock })
    await Promise.all(Array.from({ length: 700 }, (_, n) => call(filling.log, clock, n)))
    clock.advance(31 * DAY_MS)
    await call(filling.log, clock, 700)
    await filling.close()

    let left = commits
    const cut = openTestLog({ path, clock })
    const hasPower = beforeWrites(t, () => {
      if (left-- <= 0) throw new Error('the power is gone')
    })
    await cut.retention.tick()
    t.equal(cut.errors.length, 1)
    hasPower()
    await cut.close()

    const again = openTestLog({ path, clock })
    t.match(verify(again.log), { ok: true, findings: [] }, `after ${commits} commits`)
    await checkIndexes(t, again)
    t.ok((firstSeq(again.log) ?? 0) < 701)
    await again.retention.tick()
    t.equal(firstSeq(again.log), 701)
    t.match(verify(again.log), { ok: true, beginning: 'prune' })
    await checkIndexes(t, again)
    await again.close()
  }
})

t.test('pruning by size keeps the store under its cap and refuses no call', async (t) => {
  const clock = testClock()
  const maxBytes = 16 * MIB
  const path = t.testdir()
  const opened = openTestLog({ path, clock, maxBytes })
  const { log, retention } = opened
  for (let n = 0; n < 2000; n += 4) {
    await Promise.all([0, 1, 2, 3].map((more) => call(log, clock, n + more, 25_000)))
    await retention.tick()
    clock.advance(1)
  }
  t.ok(statSync(join(path, 'data.mdb')).size <= maxBytes, 'the file as well')
  t.ok((firstSeq(log) ?? 0) > 1200)
  t.match(log.get(id(1999)), { erased: false, request: /^x+$/ })
  t.match(verify(log), { ok: true, beginning: 'prune', findings: [] })
  t.same(opened.errors, [])
  await opened.close()
})

t.test('exchanges are dropped when pruning is too slow and dropping is allowed', async (t) => {
  const clock = testClock()
  const maxBytes = 16 * MIB
  let dropped = 0
  const onContentDropped = () => dropped++
  const options = { path: t.testdir(), clock, maxBytes, whenFull: 'drop-content' as const, onContentDropped }
  const opened = openTestLog(options)
  const { log } = opened
  // No pruning runs.
  let n = 0
  while (dropped < 20) await call(log, clock, n++, 10_000)
  t.equal(log.available, true)
  t.match(log.get(id(n - 1)), { content_hash: null, request: null, erased: false })
  t.match(log.get(id(0)), { content_hash: /^sha256:/, erased: false })
  t.ok(log.measure().usedBytes < maxBytes)
  await opened.retention.tick()
  await call(log, clock, n, 10_000)
  t.match(log.get(id(n)), { content_hash: /^sha256:/, erased: false })
  t.equal(dropped, 20)
  t.match(verify(log), { ok: true })
  await opened.close()
})

t.test('a log with a gap is not pruned, and the error is reported', async (t) => {
  const clock = testClock()
  const opened = openTestLog({ path: t.testdir(), clock })
  for (let n = 0; n < 5; n++) await call(opened.log, clock, n)
  const { entries } = opened.environment.tables
  const [, second] = entries.keys()
  await opened.environment.transaction(() => entries.remove(second as Buffer))
  clock.advance(31 * DAY_MS)
  await call(opened.log, clock, 6)
  await opened.retention.tick()
  t.match(opened.errors, [{ message: 'entry 1 of the log is missing' }])
  t.equal(firstSeq(opened.log), 0)
  await opened.retention.tick()
  t.equal(opened.errors.length, 1, 'no immediate retry')
  await opened.close()
})

type Step =
  | { readonly kind: 'calls'; readonly count: number }
  | { readonly kind: 'wait'; readonly hours: number }
  | { readonly kind: 'erase'; readonly key: string }
  | { readonly kind: 'prune' }
  | { readonly kind: 'reopen' }

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.integer({ min: 1, max: 20 }).map((count) => ({ kind: 'calls' as const, count })),
  },
  // May be negative.
  {
    weight: 3,
    arbitrary: fc.integer({ min: -200, max: 700 }).map((hours) => ({ kind: 'wait' as const, hours })),
  },
  { weight: 2, arbitrary: fc.constantFrom('k0', 'k1').map((key) => ({ kind: 'erase' as const, key })) },
  { weight: 3, arbitrary: fc.constant({ kind: 'prune' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'reopen' as const }) },
)

t.test('an honest log verifies after any prunes and erasures, and its indexes match', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { minLength: 5, maxLength: 25 }), async (steps) => {
      const clock = testClock()
      const path = t.testdir()
      let opened = openTestLog({ path, clock })
      let n = 0
      for (const step of steps) {
        if (step.kind === 'calls') for (let i = 0; i < step.count; i++) await call(opened.log, clock, n++)
        else if (step.kind === 'wait') clock.advance(step.hours * HOUR_MS)
        else if (step.kind === 'erase') await opened.log.erase({ keyId: step.key }, 'vera')
        else if (step.kind === 'prune') await opened.retention.tick()
        else {
          await opened.close()
          opened = openTestLog({ path, clock })
        }
      }
      const verdict = verify(opened.log)
      t.match(verdict, { ok: true, findings: [] })
      t.not(verdict.beginning, 'unanchored')
      await checkIndexes(t, opened)
      t.same(opened.errors, [])
      await opened.close()
    }),
    { numRuns: 30 },
  )
})
