// Captured exchanges that are kept for another time than their entries.

import fc from 'fast-check'
import t, { type Test } from 'tap'
import { hashUser } from '../../src/audit/user-hash.ts'
import { verifyChain } from '../../src/audit/verify.ts'
import type { RetainRule } from '../../src/core/retention-section.ts'
import { retainedDays } from '../../src/store/log/text-expiry.ts'
import { DirectorySource } from '../../src/store/verification/directory.ts'
import { openAndVerify } from '../../src/store/verification/verification.ts'
import { requestDraft } from '../audit/drafts.ts'
import { DAY_MS, id, openTestLog, type TestClock, type TestLog, testClock } from './fixture.ts'

const EXCHANGE = '{"request":{"text":"hello"},"response":null}'
const LEGAL = { team: 'legal' }
const RULES: readonly RetainRule[] = [
  { labels: { team: 'legal', tier: 'gold' }, days: 90 },
  { labels: LEGAL, days: 2 },
]

const NONE = { type: 'request' }
const PERIODS: [what: string, labels: Record<string, string> | undefined, days: number][] = [
  ['no labels', undefined, 30],
  ['other labels', { team: 'search' }, 30],
  ['the labels of the second rule', { team: 'legal' }, 2],
  ['more labels than the rule', { team: 'legal', tier: 'iron' }, 2],
  ['the labels of both rules', { team: 'legal', tier: 'gold' }, 90],
]
for (const [what, labels, days] of PERIODS) {
  t.test(`an exchange of a key with ${what} is kept for ${days} days`, async (t) => {
    t.equal(retainedDays({ ...NONE, ...(labels && { labels }) }, RULES, 30), days)
  })
}

type Labels = Readonly<Record<string, string>>

const append = ({ log }: TestLog, n: number, labels: Labels | null, content: string | null = EXCHANGE) =>
  log.append(requestDraft({ id: id(n), ...(labels !== null && { labels }), has_user: true }), {
    ...(content !== null && { content }),
    user: { hash: hashUser(Buffer.alloc(32), 'ann'), clear: null },
  })

const opening = (t: Test, retain: readonly RetainRule[], retainDays = 30) => {
  const clock = testClock()
  const path = t.testdir()
  const open = () => openTestLog({ path, clock, retainMs: retainDays * DAY_MS, retain })
  return { clock, path, open }
}

const isErased = ({ log }: TestLog, n: number) => log.get(id(n))?.erased
const erasures = ({ log }: TestLog) =>
  log
    .records(0, 100_000)
    .map(({ bytes }) => JSON.parse(Buffer.from(bytes).toString()))
    .filter(({ type }) => type === 'erase')

const later = (opened: TestLog, clock: TestClock, days: number) => {
  clock.advance(days * DAY_MS)
  return opened.retention.tick()
}

t.test('exchanges of a label are erased early, with their users, and the log verifies', async (t) => {
  const { clock, path, open } = opening(t, RULES)
  const opened = open()
  await append(opened, 1, LEGAL)
  await append(opened, 2, null)
  await append(opened, 3, LEGAL, null)
  await later(opened, clock, 1)
  t.same(
    [1, 2].map((n) => isErased(opened, n)),
    [false, false],
  )
  await append(opened, 4, LEGAL)
  await later(opened, clock, 1.5)
  t.same(
    [1, 2, 4].map((n) => isErased(opened, n)),
    [true, false, false],
  )
  t.equal(opened.log.get(id(1))?.user, null)
  t.equal(opened.log.get(id(3))?.user, null)
  t.match(opened.log.get(id(2))?.user, /^[0-9a-f]{32}$/)
  t.match(erasures(opened), [{ selection: { older_than_days: 2 }, erased: 1, users: 2 }])
  await later(opened, clock, 0.1)
  t.equal(erasures(opened).length, 1, 'nothing is sealed when nothing is erased')
  await later(opened, clock, 1)
  t.equal(isErased(opened, 4), true)
  t.match(verifyChain(opened.log.records(0, 100)), { ok: true })
  t.same(opened.errors, [])
  await opened.close()
  const verdict = await openAndVerify(
    () => new DirectorySource(path),
    { keys: [], checkpoints: [] },
    () => {},
  )
  t.equal(verdict.ok, true)
})

t.test('an exchange kept for longer keeps its entry, and others expire behind it', async (t) => {
  const { clock, open } = opening(t, [{ labels: LEGAL, days: 5 }], 2)
  const opened = open()
  await append(opened, 1, null)
  await append(opened, 2, LEGAL)
  await append(opened, 3, null)
  await later(opened, clock, 3)
  t.equal(opened.log.get(id(1)), null, 'pruned')
  t.same(
    [2, 3].map((n) => isErased(opened, n)),
    [false, true],
  )
  await later(opened, clock, 3)
  t.same(
    [2, 3].map((n) => opened.log.get(id(n))),
    [null, null],
  )
  t.same(opened.errors, [])
  await opened.close()
})

t.test('expiry continues after a restart, and begins anew with other rules', async (t) => {
  const { clock, path, open } = opening(t, RULES)
  const first = open()
  for (let n = 0; n < 600; n++) await append(first, n, n % 2 === 0 ? LEGAL : { team: 'search' })
  await later(first, clock, 3)
  t.equal(
    erasures(first).reduce((sum, { erased }) => sum + erased, 0),
    300,
  )
  await first.close()
  const second = open()
  await second.retention.tick()
  t.equal(
    erasures(second).reduce((sum, { erased }) => sum + erased, 0),
    300,
  )
  await second.close()
  const retain = [{ labels: { team: 'search' }, days: 1 }]
  const third = openTestLog({ path, clock, retainMs: 30 * DAY_MS, retain })
  await third.retention.tick()
  t.equal(
    erasures(third).reduce((sum, { erased }) => sum + erased, 0),
    600,
  )
  await third.close()
})

t.test('an entry of a clock that was ahead delays no other', async (t) => {
  const { clock, open } = opening(t, RULES)
  const opened = open()
  clock.advance(400 * DAY_MS)
  await append(opened, 1, LEGAL)
  clock.advance(-400 * DAY_MS)
  await append(opened, 2, LEGAL)
  await later(opened, clock, 3)
  t.same(
    [1, 2].map((n) => isErased(opened, n)),
    [true, true],
  )
  await opened.close()
})

t.test('at any time exactly the exchanges whose time is over are gone', async (t) => {
  const anyLabels = fc.constantFrom<Labels | null>(null, { team: 'search' }, LEGAL, {
    ...LEGAL,
    tier: 'gold',
  })
  const anyStep = fc.record({ labels: anyLabels, days: fc.nat(20) })
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { maxLength: 12 }), async (steps) => {
      const clock = testClock()
      const path = t.testdir()
      const retain = [
        { labels: { team: 'legal', tier: 'gold' }, days: 40 },
        { labels: LEGAL, days: 3 },
      ]
      const opened = openTestLog({ path, clock, retainMs: 10 * DAY_MS, retain })
      const calls: { readonly sealedMs: number; readonly labels: Labels | null }[] = []
      for (const { labels, days } of steps) {
        calls.push({ sealedMs: clock.now(), labels })
        await append(opened, calls.length, labels)
        await later(opened, clock, days + 0.5)
        for (const [index, { sealedMs, labels: had }] of calls.entries()) {
          const kept = retainedDays({ ...NONE, ...(had !== null && { labels: had }) }, retain, 10)
          const isOver = clock.now() - sealedMs > kept * DAY_MS
          const entry = opened.log.get(id(index + 1))
          t.equal(entry === null || entry.erased, isOver)
        }
      }
      t.same(opened.errors, [])
      await opened.close()
    }),
    { numRuns: 15 },
  )
})
