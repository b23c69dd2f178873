// Full verification of a data directory: its findings, and its verdict while a gateway writes or
// prunes.

import { randomBytes } from 'node:crypto'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { NO_EVIDENCE } from '../../src/audit/survey.ts'
import { type Environment, openEnvironment } from '../../src/store/environment/journaled.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import { joinKey, packEntry, u64, unpackEntry } from '../../src/store/tables/layout.ts'
import { DirectorySource } from '../../src/store/verification/directory.ts'
import type { LogReader } from '../../src/store/verification/log-source.ts'
import { verifyLog } from '../../src/store/verification/verification.ts'
import { requestDraft } from '../audit/drafts.ts'
import { DAY_MS, type TestClock, testClock, until } from './fixture.ts'

const quiet = () => {}

/** A data directory that changes before each reading of its entries. */
class ChangingSource extends DirectorySource {
  before: () => Promise<void> = async () => {}

  override async read(reader: LogReader): Promise<string | null> {
    await this.before()
    return super.read(reader)
  }
}

const storeIn = (path: string, clock = testClock()): Store =>
  openStore({ path, clock, random: randomBytes, maxBytes: 1024 ** 3 })

const call = (store: Store, n: number) =>
  store.log.append(requestDraft({ id: `call-${n}` }), { content: `{"n":${n}}` })

/** Makes a data directory with `calls` calls. */
async function directory(t: Test, calls: number): Promise<string> {
  const path = join(t.testdir(), 'log')
  const store = storeIn(path)
  await Promise.all(Array.from({ length: calls }, (_, n) => call(store, n)))
  await store.close()
  return path
}

async function verdictOn(path: string) {
  const source = new DirectorySource(path)
  try {
    return await verifyLog(source, NO_EVIDENCE, quiet)
  } finally {
    await source.close()
  }
}

t.test('an intact data directory passes and reports its progress', async (t) => {
  const source = new DirectorySource(await directory(t, 1300))
  const fractions: number[] = []
  const verdict = await verifyLog(source, NO_EVIDENCE, (done) => fractions.push(done))
  await source.close()
  t.match(verdict, { ok: true, entries: 1301, beginning: 'genesis', findings: [] })
  t.ok(fractions.length >= 3 && fractions.every((done) => done >= 0 && done <= 1))
})

/** Replaces the stored form of one entry. */
const rewritten =
  (seq: number, change: (hash: string, bytes: Buffer) => Buffer) =>
  ({ tables }: Environment): void => {
    const { hash, bytes } = unpackEntry(seq, tables.entries.get(u64(seq)) as Buffer)
    tables.entries.put(u64(seq), change(hash, Buffer.from(bytes)))
  }
const ZEROS = `sha256:${'0'.repeat(64)}`
const SPACE = Buffer.from(' ')

/** Each change to a log of 1,100 calls, with the sequence number and reason of its only finding. */
const CHANGES: [string, (environment: Environment) => void, number | null, RegExp][] = [
  ['bytes', rewritten(700, (hash, bytes) => packEntry(hash, Buffer.concat([bytes, SPACE]))), 700, /hash/],
  ['a hash', rewritten(700, (_, bytes) => packEntry(ZEROS, bytes)), 700, /hash/],
  ['the newest hash', rewritten(1100, (_, bytes) => packEntry(ZEROS, bytes)), 1100, /hash/],
  ['an entry removed', ({ tables }) => tables.entries.remove(u64(600)), 600, /missing/],
  ['the first removed', ({ tables }) => tables.entries.remove(u64(0)), null, /log begins at 1/],
  ['the last removed', ({ tables }) => tables.entries.remove(u64(1100)), null, /entries end at 1099/],
  [
    'an extra row',
    ({ tables }) => tables.entries.put(joinKey(u64(600), SPACE), Buffer.alloc(40)),
    601,
    /missing/,
  ],
  ['an id', ({ tables }) => tables.ids.put(Buffer.from('call-3'), u64(9)), 4, /index/],
  ['an exchange', ({ tables }) => tables.content.put(u64(900), Buffer.alloc(40)), 900, /stored exchange/],
  ['an exchange removed', ({ tables }) => tables.content.remove(u64(900)), null, /first of entry 900/],
  [
    'an exchange added',
    ({ tables }) => tables.content.put(u64(0), Buffer.alloc(40)),
    null,
    /^1 exchanges are stored/,
  ],
  [
    'a node',
    ({ tables }) => tables.nodes.put(joinKey(Buffer.of(8), u64(1)), Buffer.alloc(32)),
    null,
    /^1 stored tree nodes/,
  ],
]

t.test('one change anywhere in a data directory is found, with the first bad sequence number', async (t) => {
  const path = await directory(t, 1100)
  for (const [name, change, seq, reason] of CHANGES) {
    const copy = `${path}-${name.replaceAll(' ', '-')}`
    cpSync(path, copy, { recursive: true })
    const environment = openEnvironment(copy)
    await environment.transaction(() => change(environment))
    await environment.close()
    t.match(await verdictOn(copy), { ok: false, findings: [{ seq, reason }] }, name)
  }
})

t.test('a log that grows during verification passes', async (t) => {
  const path = await directory(t, 700)
  const source = new DirectorySource(path)
  const store = storeIn(path)
  let isDone = false
  const verdict = verifyLog(source, NO_EVIDENCE, quiet).finally(() => {
    isDone = true
  })
  for (let n = 700; !isDone; n++) await call(store, n)
  t.match(await verdict, { ok: true, findings: [] })
  await source.close()
  await store.close()
})

const HOUR_MS = 3_600_000

/** Prunes the entries that are older than `days`. */
async function prune(path: string, clock: TestClock, days = 1): Promise<void> {
  let pruned = 0
  let watch = quiet
  const store = openStore({
    path,
    clock,
    random: randomBytes,
    maxBytes: 1024 ** 3,
    retention: { retainMs: days * DAY_MS, onPruned: (count) => (pruned += count) },
    every: (intervalMs, work) => {
      if (intervalMs === 1000) watch = work
      return quiet
    },
  })
  watch()
  // A start long after the newest entry doubts the clock for an hour.
  clock.advance(HOUR_MS)
  watch()
  await until(() => pruned > 0)
  await store.close()
}

t.test('a log that is pruned between survey and reading is verified again', async (t) => {
  const path = await directory(t, 1200)
  const clock = testClock()
  clock.advance(2 * DAY_MS)
  const source = new ChangingSource(path)
  let attempts = 0
  source.before = async () => {
    if (++attempts === 1) await prune(path, clock)
  }
  t.match(await verifyLog(source, NO_EVIDENCE, quiet), { ok: true, beginning: 'prune' })
  t.equal(attempts, 2)
  await source.close()
  t.match(await verdictOn(path), { ok: true, beginning: 'prune' })
})

t.test('a log that is pruned each time it is read gets no verdict', async (t) => {
  const path = join(t.testdir(), 'log')
  const clock = testClock()
  const store = storeIn(path, clock)
  for (let day = 0; day < 10; day++) {
    await call(store, day)
    clock.advance(DAY_MS)
  }
  await store.close()
  const source = new ChangingSource(path)
  source.before = async () => {
    await prune(path, clock, 9)
    clock.advance(DAY_MS)
  }
  await t.rejects(verifyLog(source, NO_EVIDENCE, quiet), {
    name: 'UnsteadyError',
    message: 'the log was pruned during each of 5 readings; verify a copy instead (sidegate audit compact)',
  })
  source.before = async () => {}
  t.match(await verifyLog(source, NO_EVIDENCE, quiet), { ok: true, beginning: 'prune' })
  await source.close()
})
