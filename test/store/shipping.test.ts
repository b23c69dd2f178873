// What a hub has of a log: pruning keeps what no hub has, and a new log says what the old one left.

import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { entryLine, readLine } from '../../src/audit/dump.ts'
import { LogVerifier } from '../../src/audit/log-verify.ts'
import { LogSurvey, NO_EVIDENCE } from '../../src/audit/survey.ts'
import type { UsageLog } from '../../src/store/log/log.ts'
import type { LogShipping, ShippingTerms } from '../../src/store/log/shipping.ts'
import { succeedStore } from '../../src/store/opening/quarantine.ts'
import { requestDraft } from '../audit/drafts.ts'
import { DAY_MS, entriesOf, id, openTestStore, START_MS, type TestStore, until } from './fixture.ts'

const MIB = 1024 ** 2
const SECOND_MS = 1000
const TERMS: ShippingTerms = { sendsContent: true, sendsClear: false, onUnshippable: 'block' }

interface Options {
  readonly path?: string
  readonly onUnshippable?: ShippingTerms['onUnshippable']
  readonly whenFull?: 'refuse' | 'drop-content'
}

function open(t: Test, { onUnshippable = 'block', ...options }: Options = {}) {
  const shipping = { ...TERMS, onUnshippable }
  const retention = { retainMs: 10 * DAY_MS }
  const opened = openTestStore(t, { maxBytes: 8 * MIB, retention, shipping, ...options })
  return { ...opened, log: opened.store.log, shipping: opened.store.shipping! }
}

const oldest = (log: UsageLog) => log.records(0, 1)[0]!.seq

/** A hub takes entries up to this one. */
const take = (shipping: LogShipping, seq: number) => shipping.took({ seq, hash: shipping.hashOf(seq)! })

const call = (log: UsageLog, n: number, bytes = 25_000) =>
  log.append(requestDraft({ id: id(n) }), {
    content: JSON.stringify({ request: 'x'.repeat(bytes), response: null }),
  })

/** Calls until one is refused. @returns the error */
async function fill({ log, tick }: Pick<TestStore, 'tick'> & { log: UsageLog }, calls: number, from = 0) {
  for (let n = from; n < from + calls; n += 4) {
    try {
      await Promise.all([0, 1, 2, 3].map((more) => call(log, n + more)))
    } catch (error) {
      return error
    }
    if (n % 100 === 0) tick(SECOND_MS)
  }
  return null
}

function verify(log: UsageLog) {
  const survey = new LogSurvey(NO_EVIDENCE)
  const records = log.records(0, 100_000)
  for (const { bytes } of records) survey.addEntry(bytes)
  const verifier = new LogVerifier(survey)
  for (const record of records) {
    const read = readLine(Buffer.from(entryLine(record).trimEnd()))
    if (typeof read === 'string' || !('entry' in read)) throw new Error(String(read))
    verifier.push(read.entry, null)
  }
  return verifier.finish()
}

t.test('age prunes entries that a hub has, and no others', async (t) => {
  for (const onUnshippable of ['block', 'continue'] as const) {
    const { log, shipping, clock, tick } = open(t, {
      onUnshippable,
      path: t.testdir({ [onUnshippable]: {} }),
    })
    for (let n = 0; n < 20; n++) await call(log, n, 10)
    take(shipping, 12)
    const later = () => {
      clock.advance(DAY_MS / 2)
      tick(SECOND_MS)
    }
    for (let day = 0; day < 12; day += 0.5) later()
    await until(() => oldest(log) === 13, later)
    t.match(entriesOf(log, 'prune').at(-1), { first_seq: 13, reason: 'age', unshipped: undefined })
    take(shipping, shipping.newest)
    await until(() => oldest(log) > 20, later)
    t.match(verify(log), { ok: true, findings: [] })
  }
})

t.test('a store full of entries that no hub has refuses calls, and takes them once a hub has', async (t) => {
  const { log, shipping, clock, tick } = open(t)
  const error: unknown = await fill({ log, tick }, 500)
  t.match(error, { code: 'audit_unavailable', status: 503, message: /no hub has.*fleet\.onUnshippable/ })
  t.match(log.writability.state, /entries that no hub has/)
  t.equal(log.writable, true, 'changes are taken: a key can be revoked')
  t.equal(oldest(log), 0)
  t.same(entriesOf(log, 'prune'), [])
  take(shipping, shipping.newest)
  await until(
    () => log.available,
    () => {
      clock.advance(SECOND_MS)
      tick(SECOND_MS)
    },
  )
  await call(log, 5000)
  t.ok(oldest(log) > 0)
  t.notOk('unshipped' in entriesOf(log, 'prune')[0]!)
  t.match(verify(log), { ok: true })
})

t.test('`continue` prunes what no hub has, and seals how many', async (t) => {
  const { log, shipping, tick } = open(t, { onUnshippable: 'continue' })
  for (let n = 10_000; n < 10_010; n++) await call(log, n)
  take(shipping, 4)
  const pruned = new Map<unknown, { first_seq: number; unshipped: number }>()
  for (let from = 0; from < 500; from += 100) {
    t.equal(await fill({ log, tick }, 100, from), null)
    for (const entry of entriesOf(log, 'prune')) pruned.set(entry['seq'], entry as never)
  }
  t.ok(pruned.size > 1)
  const lost = [...pruned.values()].reduce((sum, { unshipped }) => sum + unshipped, 0)
  t.equal(lost, shipping.first - 5)
  t.equal(shipping.unshipped, shipping.newest + 1 - shipping.first)
  const { before } = shipping.read(shipping.first, true)!
  t.match(before, { hash: /^sha256:/, frontier: [/./] })
  t.equal(shipping.moveTo(5), true)
  t.same(shipping.read(shipping.first, true)!.before, before)
  t.match(verify(log), { ok: true, beginning: 'prune', findings: [] })
})

t.test('near the limit exchanges are dropped before calls are refused', async (t) => {
  const { log, tick } = open(t, { whenFull: 'drop-content' })
  t.equal(await fill({ log, tick }, 340), null)
  t.equal(oldest(log), 0)
  t.match(log.get(id(339)), { content_hash: null })
})

t.test('what a hub has survives a restart, and a hub without the log gets its beginning', async (t) => {
  const { log, shipping, store, path, clock } = open(t)
  for (let n = 0; n < 5; n++) await call(log, n, 10)
  take(shipping, 3)
  await shipping.save()
  t.equal(shipping.unshipped, 2)
  t.equal(shipping.oldestUnshippedMs, START_MS)
  await store.close()
  const { store: next } = openTestStore(t, { path, testClock: clock, shipping: TERMS })
  t.same([next.shipping!.next, next.shipping!.unshipped], [4, 2])
  t.equal(next.shipping!.moveTo(0), true)
  t.equal(next.shipping!.read(0, true)!.before, null)
  t.equal(next.shipping!.next, 0)
  t.equal(next.shipping!.read(6, true), null)
})

t.test('a new log ships from its beginning, and says what the old one left', async (t) => {
  const { log, shipping, store, path } = open(t)
  for (let n = 0; n < 5; n++) await call(log, n, 10)
  take(shipping, 3)
  await shipping.save()
  const ended = { log: shipping.log, seq: 5, reason: 'copied', actor: 'vera' }
  await store.close()
  await succeedStore(path, ended, START_MS, randomBytes)
  const second = open(t, { path })
  t.same([second.shipping.next, second.shipping.first], [0, 0])
  const left = [{ log: ended.log, head: 5, shipped: 3 }]
  t.same(second.shipping.leftBehind, left)
  take(second.shipping, 0)
  await second.shipping.save()
  await second.store.close()
  const third = open(t, { path })
  t.same(third.shipping.leftBehind, left)
})

t.test('nothing is left by an old log that a hub has as a whole', async (t) => {
  const { shipping, store, path } = open(t)
  take(shipping, 0)
  await shipping.save()
  const ended = { log: shipping.log, seq: 0, reason: 'copied', actor: 'vera' }
  await store.close()
  await succeedStore(path, ended, START_MS, randomBytes)
  t.same(open(t, { path }).shipping.leftBehind, [])
})
