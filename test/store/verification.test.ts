// A log checked by two threads: the same verdict as by one where all is in order, and none where it is not, or where the
// two did not read the same.

import { randomBytes } from 'node:crypto'
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { type KnownBefore, NOTHING_KNOWN } from '../../src/audit/survey.ts'
import { joinKey, packEntry, u64, unpackEntry } from '../../src/store/layout.ts'
import { type Environment, openEnvironment } from '../../src/store/lmdb.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import { DirectorySource } from '../../src/store/verification/directory.ts'
import { ExportSource } from '../../src/store/verification/exportfile.ts'
import type { LogPlace, LogReader } from '../../src/store/verification/log-source.ts'
import { verifyByOne, verifyByTwo, verifyLog } from '../../src/store/verification/verification.ts'
import { requestDraft } from '../audit/drafts.ts'
import { anyEdits, edited } from '../audit/edits.ts'
import { anyStep, LOG, newSigner, TestLog } from '../audit/logs.ts'
import { type TestClock, testClock } from './fixture.ts'

const quiet = () => {}
const DAY_MS = 86_400_000

/** Read by the other thread where this says. */
class ElsewhereSource extends DirectorySource {
  override readonly place: LogPlace
  /** Called before this thread reads. */
  before: () => Promise<void> | void = () => {}

  constructor(path: string, elsewhere = path) {
    super(path)
    this.place = { kind: 'directory', path: elsewhere }
  }

  override async read(reader: LogReader, fromSeq?: number): Promise<string | null> {
    await this.before()
    return super.read(reader, fromSeq)
  }
}

function storeIn(path: string, clock = testClock()): Store {
  return openStore({ path, clock, random: randomBytes, maxBytes: 1024 ** 3 })
}

const call = (store: Store, n: number) =>
  store.log.append(requestDraft({ id: `call-${n}` }), { content: `{"n":${n}}` })

/** A data directory with this many calls. */
async function directory(t: Test, calls: number): Promise<string> {
  const path = join(t.testdir(), 'log')
  const store = storeIn(path)
  await Promise.all(Array.from({ length: calls }, (_, n) => call(store, n)))
  await store.close()
  return path
}

/** A copy in which something is different. */
async function changed(path: string, name: string, change: (environment: Environment) => void) {
  const copy = `${path}-${name}`
  cpSync(path, copy, { recursive: true })
  const environment = openEnvironment(copy)
  await environment.transaction(() => change(environment))
  await environment.close()
  return copy
}

const byTwo = async (source: DirectorySource | ExportSource, known: KnownBefore = NOTHING_KNOWN) => {
  const verdict = await verifyByTwo(source, known, quiet)
  await source.close()
  return verdict
}

const byOne = async (source: DirectorySource | ExportSource, known: KnownBefore = NOTHING_KNOWN) => {
  const verdict = await verifyByOne(source, known, quiet)
  await source.close()
  return verdict
}

t.test('a data directory in order', async (t) => {
  const path = await directory(t, 1300)
  const told: number[] = []
  const source = new DirectorySource(path)
  const verdict = await verifyByTwo(source, NOTHING_KNOWN, (done) => told.push(done))
  t.match(verdict, { ok: true, entries: 1301, beginning: 'genesis', findings: [] })
  t.ok(told.length >= 3 && told.every((done) => done >= 0 && done <= 1))
  await source.close()
  t.strictSame(verdict, await byOne(new DirectorySource(path)))
})

/** Puts another hash or other bytes in the place of an entry. */
const rewritten =
  (seq: number, change: (hash: string, bytes: Buffer) => Buffer) =>
  ({ tables }: Environment): void => {
    const { hash, bytes } = unpackEntry(seq, tables.entries.get(u64(seq)) as Buffer)
    tables.entries.put(u64(seq), change(hash, Buffer.from(bytes)))
  }
const ZEROS = `sha256:${'0'.repeat(64)}`
const SPACE = Buffer.from(' ')

/** What is changed, and what is found where one of the two reads what was not: by the chain's reader, by the tree's. */
const CHANGES: [string, (environment: Environment) => void, RegExp | null, RegExp | null][] = [
  ['bytes', rewritten(700, (hash, bytes) => packEntry(hash, Buffer.concat([bytes, SPACE]))), null, null],
  ['a hash', rewritten(700, (_, bytes) => packEntry(ZEROS, bytes)), null, null],
  ['the newest hash', rewritten(1100, (_, bytes) => packEntry(ZEROS, bytes)), null, null],
  ['an entry gone', ({ tables }) => tables.entries.remove(u64(600)), null, null],
  ['the first gone', ({ tables }) => tables.entries.remove(u64(0)), null, null],
  ['the last gone', ({ tables }) => tables.entries.remove(u64(1100)), null, null],
  ['a row more', ({ tables }) => tables.entries.put(joinKey(u64(600), SPACE), Buffer.alloc(40)), null, null],
  ['an id', ({ tables }) => tables.ids.put(Buffer.from('call-3'), u64(9)), /its id leads elsewhere/, /^$/],
  ['an exchange', ({ tables }) => tables.content.put(u64(900), Buffer.alloc(40)), /not the one/, /^$/],
  ['an exchange gone', ({ tables }) => tables.content.remove(u64(900)), /exchanges are gone/, /^$/],
  [
    'a node',
    ({ tables }) => tables.nodes.put(joinKey(Buffer.of(8), u64(1)), Buffer.alloc(32)),
    /^$/,
    /1 nodes/,
  ],
]

t.test('what is not in order is said as one says it, or left to one', async (t) => {
  const path = await directory(t, 1100)
  for (const [name, change, byChain, byTree] of CHANGES) {
    const copy = await changed(path, name.replaceAll(' ', '-'), change)
    const alone = await byOne(new DirectorySource(copy))
    t.equal(alone.ok, false, name)
    const together = await byTwo(new DirectorySource(copy))
    if (together !== null) t.strictSame(together, alone, name)
    const sides = [
      [new ElsewhereSource(copy, path), byChain],
      [new ElsewhereSource(path, copy), byTree],
    ] as const
    for (const [source, expected] of sides) {
      const verdict = await byTwo(source)
      if (expected === null) t.equal(verdict, null, `${name}: by one of the two`)
      else t.match(verdict?.findings.map(({ reason }) => reason).join(), expected, name)
    }
  }
})

t.test(
  'a log that grows while it is read is checked as far as it had grown when the one came to its end',
  async (t) => {
    const path = await directory(t, 700)
    const source = new ElsewhereSource(path)
    const store = storeIn(path)
    source.before = async () => {
      for (let n = 700; n < 1400; n += 100)
        await Promise.all(Array.from({ length: 100 }, (_, m) => call(store, n + m)))
    }
    t.match(await byTwo(source), { ok: true, entries: 1401, findings: [] })
    const busy = new DirectorySource(path)
    const verdict = verifyByTwo(busy, NOTHING_KNOWN, quiet)
    let isDone = false
    void verdict.then(() => {
      isDone = true
    })
    let n = 1400
    while (!isDone) await call(store, n++)
    t.match(await verdict, { ok: true, findings: [] })
    await busy.close()
    await store.close()
  },
)

/** Prunes what is older than that many days. */
async function prune(path: string, clock: TestClock, days = 1): Promise<void> {
  const gone = Promise.withResolvers<number>()
  let watch = quiet
  const store = openStore({
    path,
    clock,
    random: randomBytes,
    maxBytes: 1024 ** 3,
    retention: { retainMs: days * DAY_MS, onPruned: (count) => count > 0 && gone.resolve(count) },
    every: (intervalMs, work) => {
      if (intervalMs === 1000) watch = work
      return quiet
    },
  })
  watch()
  await gone.promise
  await store.close()
}

t.test('a log that is pruned between the two, or while it is read', async (t) => {
  const path = await directory(t, 1200)
  const clock = testClock()
  const pruned = `${path}-pruned`
  cpSync(path, pruned, { recursive: true })
  clock.advance(2 * DAY_MS)
  await prune(pruned, clock)
  t.match(await byTwo(new DirectorySource(pruned)), { ok: true, beginning: 'prune' })
  t.equal(await byTwo(new ElsewhereSource(path, pruned)), null)
  t.equal(await byTwo(new ElsewhereSource(pruned, path)), null)
  const source = new ElsewhereSource(path)
  let attempts = 0
  source.before = async () => {
    if (++attempts === 1) await prune(path, clock)
  }
  t.match(await byOne(source), { ok: true, beginning: 'prune' })
  t.equal(attempts, 2, 'survey and check are done again')
})

t.test('a log that is pruned each time it is read is not said to be another than was sealed', async (t) => {
  const path = join(t.testdir(), 'log')
  const clock = testClock()
  const store = storeIn(path, clock)
  for (let day = 0; day < 10; day++) {
    await call(store, day)
    clock.advance(DAY_MS)
  }
  await store.close()
  const source = new ElsewhereSource(path)
  source.before = async () => {
    await prune(path, clock, 9)
    clock.advance(DAY_MS)
  }
  await t.rejects(verifyByOne(source, NOTHING_KNOWN, quiet), {
    name: 'UnsteadyError',
    message: 'the log was pruned each of the 5 times it was read; check a copy (sidegate audit compact)',
  })
  source.before = quiet
  t.match(await verifyByOne(source, NOTHING_KNOWN, quiet), { ok: true, beginning: 'prune' })
  await source.close()
})

t.test('without a second reader there is no verdict by two, and one by one', async (t) => {
  const path = await directory(t, 30)
  class LongSource extends ElsewhereSource {
    override get entries(): number {
      return 1_000_000
    }
  }
  const source = new LongSource(path, join(path, 'nothing', 'here'))
  t.equal(await verifyByTwo(source, NOTHING_KNOWN, quiet), null)
  t.match(await verifyLog(source, NOTHING_KNOWN, quiet), { ok: true, entries: 31 })
  await source.close()
})

t.test('a reader that fails leaves no other behind', async (t) => {
  const source = new ElsewhereSource(await directory(t, 30))
  source.before = () => {
    throw new Error('no')
  }
  await t.rejects(verifyByTwo(source, NOTHING_KNOWN, quiet), { message: 'no' })
  await source.close()
})

t.test('any export is checked by two as by one, if it is', async (t) => {
  const file = join(t.testdir(), 'export.jsonl')
  const signer = newSigner()
  const verdicts = async (dump: string | Buffer, known: KnownBefore) => {
    writeFileSync(file, dump)
    return [await byTwo(new ExportSource(file), known), await byOne(new ExportSource(file), known)] as const
  }
  const elsewhere = new TestLog(LOG, signer)
  const key = { name: null, key: signer.verifier.key }
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { maxLength: 30 }), fc.boolean(), async (steps, isKeyed) => {
      const log = TestLog.of(steps, signer)
      const kept = [elsewhere.checkpoint(), log.checkpoint()].map((note) => ({ note, source: 'kept' }))
      const [two, one] = await verdicts(log.dump, { keys: isKeyed ? [key] : [], kept })
      t.strictSame(two, one)
      return two?.findings.length === 0
    }),
    { numRuns: 6 },
  )
  const log = TestLog.of([{ kind: 'entry', draft: requestDraft() }, { kind: 'checkpoint' }], signer)
  const dump = Buffer.from(log.dump)
  await fc.assert(
    fc.asyncProperty(anyEdits(dump.length, ['\n', '"', '}', 'é', ...log.dump.split('\n')]), async (edits) => {
      const [two, one] = await verdicts(edited(dump, edits), NOTHING_KNOWN)
      if (two !== null) t.strictSame(two, one)
      return two !== null || !one.ok
    }),
    { numRuns: 12 },
  )
})
