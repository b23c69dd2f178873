// A disk that is really full: a small tmpfs, filled until commits fail, then freed.

import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { verifyChain } from '../../src/audit/verify.ts'
import { requestDraft } from '../audit/drafts.ts'
import { applied, id, openTestStore, until } from './fixture.ts'

/** Mounts a small disk; null where that is not allowed. */
function mountSmallDisk(t: Test, mebibytes: number): string | null {
  // Outside the test runner's folders, which it removes.
  const path = mkdtempSync(join(tmpdir(), 'sidegate-full-'))
  t.teardown(() => rmdirSync(path))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m,mode=700`, 'tmpfs', path], {
      stdio: 'ignore',
    })
  } catch {
    return null
  }
  t.teardown(() => execFileSync('umount', [path]))
  return path
}

t.test('a full disk refuses calls, loses no acknowledged entry, and recovers with free space', async (t) => {
  const disk = mountSmallDisk(t, 8)
  if (disk === null) {
    t.pass('a full disk', { skip: 'NOT RUN: mounting a tmpfs needs root' })
    return
  }
  const ballast = join(disk, 'ballast')
  writeFileSync(ballast, Buffer.alloc(3 * 1024 ** 2))
  const path = join(disk, 'data')
  mkdirSync(path)
  const events: string[] = []
  const { store, tick } = openTestStore(t, {
    path,
    onUnavailable: () => events.push('unavailable'),
    onAvailable: () => events.push('available'),
  })
  const acknowledged: string[] = []
  let count = 0
  let refused = 0
  const append = async () => {
    const mine = id(count++)
    try {
      // Random bytes, so that no file system can compress them.
      const content = JSON.stringify({ request: randomBytes(3000).toString('base64'), response: null })
      await store.log.append(requestDraft({ id: mine }), { content })
      acknowledged.push(mine)
    } catch (error) {
      refused++
      t.match(error, { code: 'audit_unavailable', status: 503 })
    }
  }
  while (refused === 0 && count < 20_000) await Promise.all(Array.from({ length: 16 }, append))
  t.ok(refused > 0, 'the disk was filled')
  t.equal(store.log.available, false)
  const before = acknowledged.length
  await append()
  t.equal(acknowledged.length, before, 'no entry is accepted')

  rmSync(ballast)
  await until(
    () => store.log.available,
    () => tick(1000),
  )
  await Promise.all(Array.from({ length: 16 }, append))
  t.equal(acknowledged.length, before + 16)
  t.strictSame(events, ['unavailable', 'available'])
  t.strictSame(
    acknowledged.filter((mine) => store.log.get(mine) === null),
    [],
  )
  const { seq } = store.log.head
  t.equal(seq, acknowledged.length)
  t.match(verifyChain(store.log.records(0, seq + 2)), { ok: true, checked: seq + 1 })
  await store.close()
})

t.test(
  'a disk twice as large as the cap never fills: entries are pruned, and exchanges dropped before calls',
  async (t) => {
    const disk = mountSmallDisk(t, 32)
    if (disk === null) {
      t.pass('a store at its cap', { skip: 'NOT RUN: mounting a tmpfs needs root' })
      return
    }
    const events: string[] = []
    let dropped = 0
    let pruned = 0
    const { store, tick } = openTestStore(t, {
      path: join(disk, 'data'),
      maxBytes: 16 * 1024 ** 2,
      whenFull: 'drop-content',
      retention: { retainMs: 1e12, onPruned: (entries) => (pruned += entries) },
      onUnavailable: (cause) => events.push(String(cause)),
      onContentDropped: () => dropped++,
      onHousekeepingError: (error) => events.push(String(error)),
    })
    const exchange = () => JSON.stringify({ request: randomBytes(30_000).toString('base64'), response: null })
    let count = 0
    // Four times the size of the disk, faster than pruning.
    while (count < 1600) {
      const calls = Array.from({ length: 32 }, () =>
        store.log.append(requestDraft({ id: id(count++) }), { content: exchange() }),
      )
      await Promise.all(calls)
      tick(1000)
      // A cap as small as this counts rows twice while the database is behind.
      await applied(store)
    }
    t.strictSame(events, [])
    t.ok(pruned > 250, `${pruned} pruned`)
    t.ok(dropped < count * 0.9, `${dropped} of ${count} without their exchange`)
    const rows = store.log.records(0, 10_000)
    t.equal(rows.length, store.log.head.seq + 1 - (rows[0]?.seq ?? 0), 'without a gap')
    const shown = Array.from({ length: 100 }, (_, n) => store.log.get(id(count - 1 - n)))
    t.ok(shown.every((entry) => entry !== null && (entry.content_hash === null) === (entry.request === null)))
    await store.close()
  },
)
