// The stored tree: every root and proof equals that of a tree built anew, also after pruning.

import t, { type Test } from 'tap'
import { Frontier, leafHash } from '../../src/audit/merkle.ts'
import { verifyConsistency, verifyInclusion } from '../../src/audit/proof.ts'
import { Checkpoints, storedCheckpoints } from '../../src/store/log/checkpoints.ts'
import type { UsageLog } from '../../src/store/log/log.ts'
import { requestDraft } from '../audit/drafts.ts'
import { DAY_MS, id, openTestLog, START_MS, type TestClock, type TestLog, testClock } from './fixture.ts'

interface Opened extends TestLog {
  readonly checkpoints: Checkpoints
  readonly clock: TestClock
}

function openLog(t: Test, retainMs = 30 * DAY_MS): Opened {
  const clock = testClock()
  const opened = openTestLog({ path: t.testdir(), clock, retainMs })
  t.teardown(() => opened.close())
  return { ...opened, checkpoints: new Checkpoints(opened.environment), clock }
}

async function fill(log: UsageLog, from: number, to: number): Promise<void> {
  await Promise.all(
    Array.from({ length: to - from }, (_, n) => log.append({ ...requestDraft(), id: id(from + n) })),
  )
}

/** Returns roots by size and leaves by sequence number, from the entries. */
function treeOf(log: UsageLog): { readonly leaves: readonly Buffer[]; readonly roots: readonly Buffer[] } {
  const frontier = Frontier.empty()
  const roots = [frontier.root()]
  const leaves = log.records(0, 1_000_000).map(({ hash }) => {
    const leaf = leafHash(hash)
    frontier.push(leaf)
    roots.push(frontier.root())
    return leaf
  })
  return { leaves, roots }
}

t.test('roots and proofs match the entries', async (t) => {
  const { log, checkpoints } = openLog(t)
  const sizes: number[] = []
  for (const [from, to] of [
    [0, 1],
    [1, 3],
    [3, 255],
    [255, 256],
    [256, 700],
  ] as const) {
    await fill(log, from, to)
    const { size, root, head } = checkpoints.describe(START_MS)
    t.equal(size, to + 1)
    t.equal(head, log.head.hash)
    t.same(root, treeOf(log).roots[size])
    sizes.push(size)
  }
  const { leaves, roots } = treeOf(log)
  const newest = leaves.length
  const described = checkpoints.describe(START_MS)
  for (const size of [...sizes, 256, 512, 511, 513, newest]) {
    for (const seq of [0, 1, 2, 254, 255, 256, 257, 511, 512, size - 1].filter((seq) => seq < size)) {
      const proved = checkpoints.inclusion(seq, size)
      if (proved === null) throw new Error(`no proof of ${seq} in ${size}`)
      t.same(proved.root, roots[size])
      t.same(proved.leaf, leaves[seq])
      t.ok(verifyInclusion(seq, size, proved.leaf, proved.root, proved.proof), `${seq} in ${size}`)
      t.same(checkpoints.inclusionIn({ ...described, size, root: proved.root }, seq), proved)
      t.throws(() => checkpoints.inclusionIn({ ...described, size, root: leaves[0]! }, seq), {
        message: /does not lead from entry \d+ to the root/,
      })
    }
    const proved = checkpoints.consistency(size, newest)
    if (proved === null) throw new Error(`no proof from ${size}`)
    t.same(proved.fromRoot, roots[size])
    t.ok(verifyConsistency(size, newest, proved.fromRoot, proved.root, proved.proof), `from ${size}`)
  }
})

t.test('few nodes are stored, and proofs over long logs use them', async (t) => {
  const { environment, log, checkpoints } = openLog(t)
  await fill(log, 0, 5000)
  t.equal(environment.tables.nodes.size, Math.floor(5001 / 256))
  const { leaves, roots } = treeOf(log)
  const proved = checkpoints.inclusion(4321, 5001)
  t.same(proved?.root, roots[5001])
  t.ok(verifyInclusion(4321, 5001, leaves[4321] as Buffer, roots[5001] as Buffer, proved?.proof ?? []))
})

t.test('roots and proofs are correct after pruning', async (t) => {
  const first = openLog(t)
  await fill(first.log, 0, 1000)
  const whole = treeOf(first.log)
  first.clock.advance(40 * DAY_MS)
  await fill(first.log, 1000, 1500)
  const { leaves, roots } = treeOf(first.log)
  const { environment, log, checkpoints } = first
  await first.retention.tick()
  t.strictSame(first.errors, [])
  const oldest = log.records(0, 1)[0]?.seq ?? 0
  t.equal(oldest, 1001, 'the old entries were removed')
  t.equal(checkpoints.describe(START_MS).size, 1502, 'with the prune entry')
  t.equal(
    environment.tables.nodes.keys().filter((key) => key[0] === 8).length,
    Math.floor(1502 / 256) - Math.floor(1001 / 256),
    'and their nodes',
  )
  for (const seq of [1001, 1023, 1024, 1279, 1280, 1500]) {
    for (const size of [1501, 1280, seq + 1].filter((size) => size > seq)) {
      const proved = checkpoints.inclusion(seq, size)
      t.same(proved?.root, roots[size], `${seq} in ${size}`)
      t.ok(verifyInclusion(seq, size, leaves[seq] as Buffer, roots[size] as Buffer, proved?.proof ?? []))
    }
  }
  t.equal(checkpoints.inclusion(1000, 1501), null, 'a pruned entry has no proof')
  t.equal(checkpoints.inclusionIn(checkpoints.describe(START_MS), 1000), null)
  t.equal(checkpoints.consistency(999, 1501), null)
  for (const from of [1001, 1002, 1100, 1501]) {
    const proved = checkpoints.consistency(from, 1501)
    t.same(proved?.fromRoot, roots[from])
    t.ok(verifyConsistency(from, 1501, roots[from] as Buffer, roots[1501] as Buffer, proved?.proof ?? []))
  }
  t.same(whole.roots[1001], roots[1001])
})

t.test('checkpoints are stored by size, thinned as they age, and removed with their entries', async (t) => {
  const { environment, log, checkpoints, clock, retention, errors } = openLog(t, DAY_MS)
  t.same(storedCheckpoints(environment.tables), [])
  await checkpoints.save({ size: 1, note: 'one' })
  await checkpoints.save({ size: 1, note: 'one again' })
  environment.refresh()
  t.same(storedCheckpoints(environment.tables), [{ size: 1, note: 'one again' }])
  for (let size = 2; size <= 4096; size++) void checkpoints.save({ size, note: `note ${size}` })
  await checkpoints.save({ size: 4097, note: 'newest' })
  const kept = storedCheckpoints(environment.tables).map(({ size }) => size)
  t.equal(kept.length, 4097 - 1024)
  t.same(kept.slice(0, 3), [1, 3, 5])
  t.same(kept.slice(-3), [4095, 4096, 4097])
  await fill(log, 0, 50)
  clock.advance(40 * DAY_MS)
  await retention.tick()
  t.strictSame(errors, [])
  for (let size = 5000; size < 6024; size++) await checkpoints.save({ size, note: 'later' })
  t.equal(storedCheckpoints(environment.tables)[0]?.size, 51, 'those over pruned entries are removed')
})
