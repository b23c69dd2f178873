// The whole store: closing, housekeeping, stuck disks.

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Environment } from '../../src/store/environment/journaled.ts'
import { requestDraft } from '../audit/drafts.ts'
import { altered, beforeWrites, id, openTestStore, until, withTransactions } from './fixture.ts'

const ADMIN = { name: 'vera', role: 'admin', via: 'token' } as const

t.test('closing makes accepted work durable and may be repeated', async (t) => {
  const first = openTestStore(t)
  const appended = Array.from({ length: 600 }, (_, n) => first.store.log.append(requestDraft({ id: id(n) })))
  const closed = Promise.all([first.store.close(), first.store.close()])
  await Promise.all(appended)
  await closed
  await t.rejects(first.store.log.append(requestDraft({ id: id(1000) })), { code: 'audit_unavailable' })
  t.equal((await (await first.reopen()).store.log.list({ limit: 1, offset: 0 })).total, 600)
})

t.test('failed housekeeping is reported and retried, and stops nothing', async (t) => {
  let failing = true
  const errors: string[] = []
  const wrap = (real: Environment) =>
    withTransactions(real, (write) => (failing ? Promise.reject(new Error('busy')) : real.transaction(write)))
  const { store, clock, tick } = openTestStore(t, {
    wrap,
    onHousekeepingError: (error) => errors.push((error as Error).message),
    fileKeys: [],
  })
  failing = false
  const { key } = await store.keys.create('k', 'vera')
  clock.advance(1)
  store.ring.authenticate(key)
  failing = true
  tick(60_000)
  await until(() => errors.length > 0)
  failing = false
  t.strictSame(errors, ['busy'])
  t.equal(store.log.available, true)
  tick(60_000)
  await store.close()
  t.strictSame(errors, ['busy'])
})

t.test('a failed reader check is reported, and the rest of housekeeping runs', async (t) => {
  const errors: string[] = []
  const wrap = (real: Environment) =>
    altered(real, {
      reapReaders: () => {
        throw new Error('no readers')
      },
    })
  const { store, tick, path } = openTestStore(t, {
    wrap,
    onHousekeepingError: (error) => errors.push((error as Error).message),
  })
  const { key } = await store.keys.create('k', 'vera')
  store.ring.authenticate(key)
  tick(60_000)
  tick(60_000)
  await store.close()
  t.strictSame(errors, ['no readers', 'no readers'])
  const { store: again } = openTestStore(t, { path, seed: 'again' })
  t.match(await again.keys.list(), [{ lastUsedAtMs: Number }])
})

t.test('housekeeping continues in a full store', async (t) => {
  let reaped = 0
  const wrap = (real: Environment) =>
    altered(real, {
      reapReaders: () => {
        reaped++
        real.reapReaders()
      },
    })
  const { store, clock, tick, path } = openTestStore(t, { wrap, maxBytes: 1 })
  t.equal(store.log.available, false)
  const { key } = await store.keys.create('k', 'vera')
  clock.advance(1)
  store.ring.authenticate(key)
  tick(60_000)
  await store.close()
  t.equal(reaped, 1)
  const { store: again } = openTestStore(t, { path, seed: 'again' })
  t.match(await again.keys.list(), [{ lastUsedAtMs: clock.now() }])
})

/** A store whose writes hang on command, until they are released. */
function hangingStore(t: Test) {
  const hanging: (() => void)[] = []
  const state = { hangs: false, stalled: 0, available: 0 }
  beforeWrites(t, async () => {
    if (state.hangs) await new Promise<void>((resolve) => hanging.push(resolve))
  })
  const opened = openTestStore(t, {
    onStalled: () => state.stalled++,
    onAvailable: () => state.available++,
  })
  const releaseAll = () => {
    state.hangs = false
    for (const resolve of hanging.splice(0)) resolve()
  }
  t.teardown(releaseAll)
  return { ...opened, state, hanging, releaseAll }
}

/** Advances the clock like a running process, with a watch every second. */
function advance(
  { clock, tick }: Pick<ReturnType<typeof openTestStore>, 'clock' | 'tick'>,
  ms: number,
): void {
  for (let left = ms; left > 0; left -= 1000) {
    clock.advance(Math.min(1000, left))
    tick(1000)
  }
}

t.test('a paused process does not report a stuck disk', async (t) => {
  const opened = hangingStore(t)
  const { store, clock, tick, state, releaseAll } = opened
  state.hangs = true
  const created = store.sessions.create(ADMIN, 'token', 60_000)
  await nextTurn()
  advance(opened, 3000)
  clock.advance(60_000)
  tick(1000)
  t.strictSame([state.stalled, store.log.available], [0, true])
  releaseAll()
  await created
  state.hangs = true
  const stuck = t.rejects(store.sessions.create(ADMIN, 'token', 60_000), { code: 'audit_unavailable' })
  await nextTurn()
  for (let looks = 0; looks < 10; looks++) {
    clock.advance(60_000)
    tick(1000)
  }
  t.equal(state.stalled, 1, 'a stuck disk is reported in a process that is paused repeatedly')
  releaseAll()
  await stuck
})

t.test('a stuck disk is noticed for every writer, and so is its recovery', async (t) => {
  const writers: Record<string, (opened: ReturnType<typeof openTestStore>) => unknown> = {
    'an entry': ({ store }) => store.log.append(requestDraft({ id: id(1) })).catch(() => {}),
    'a session': ({ store }) => store.sessions.create(ADMIN, 'token', 60_000).catch(() => {}),
    'a checkpoint': ({ store }) => store.checkpoints.save({ size: 1, note: 'note' }).catch(() => {}),
    'the last use of a key': ({ tick }) => tick(60_000),
  }
  for (const [name, write] of Object.entries(writers)) {
    const { state, releaseAll, ...opened } = hangingStore(t)
    const { store, clock, tick } = opened
    const { key } = await store.keys.create('k', 'vera')
    store.ring.authenticate(key)
    state.hangs = true
    const written = write(opened)
    await nextTurn()
    advance(opened, 9999)
    t.strictSame([state.stalled, store.log.available], [0, true], `${name}: slow`)
    clock.advance(1)
    tick(1000)
    tick(1000)
    t.strictSame([state.stalled, store.log.available], [1, false], `${name}: stuck`)
    releaseAll()
    await written
    await until(
      () => store.log.available,
      () => tick(1000),
    )
    t.equal(state.available, 1, `${name}: recovers`)
    await store.close()
  }
})

t.test('a slow disk that completes writes is not stuck', async (t) => {
  const { store, clock, tick, state, hanging } = hangingStore(t)
  state.hangs = true
  const first = store.sessions.create(ADMIN, 'token', 60_000)
  await until(() => hanging.length > 0)
  const second = t.rejects(store.sessions.create(ADMIN, 'token', 60_000), { code: 'audit_unavailable' })
  advance({ clock, tick }, 9000)
  hanging.shift()?.()
  await first
  await until(() => hanging.length > 0)
  advance({ clock, tick }, 9000)
  t.equal(state.stalled, 0)
  clock.advance(1000)
  tick(1000)
  t.equal(state.stalled, 1)
  await second
  state.hangs = false
  hanging.shift()?.()
  await until(() => store.log.available)
})

t.test('closing ends although the last uses of keys cannot be written', async (t) => {
  const { store, clock, tick, state } = hangingStore(t)
  const { key } = await store.keys.create('k', 'vera')
  store.ring.authenticate(key)
  state.hangs = true
  const closed = store.close()
  await nextTurn()
  advance({ clock, tick }, 10_000)
  await closed
  t.equal(state.stalled, 1)
})

t.test('a disk stuck during closing is reported, and closing ends', async (t) => {
  let hanging = false
  beforeWrites(t, () => (hanging ? new Promise(() => {}) : undefined))
  let stalled = 0
  const { store, clock, tick } = openTestStore(t, { onStalled: () => stalled++ })
  hanging = true
  const lost = t.rejects(store.log.append(requestDraft({ id: id(1) })), { code: 'audit_unavailable' })
  const closed = store.close()
  await nextTurn()
  advance({ clock, tick }, 10_000)
  await Promise.all([lost, closed])
  t.equal(stalled, 1)
})

t.test('an open store alone does not keep a process alive', async (t) => {
  const program = `
    import { randomBytes } from 'node:crypto'
    const { openStore } = await import(process.argv[1])
    const { systemClock } = await import(process.argv[2])
    openStore({ path: process.argv[3], clock: systemClock, random: randomBytes, maxBytes: 1e9 })
    console.log('opened')`
  const source = (path: string) => join(import.meta.dirname, '../../src', path)
  const args = [source('store/store.ts'), source('core/clock.ts'), t.testdir()]
  const result = spawnSync(process.execPath, ['--input-type=module', '--eval', program, ...args], {
    env: { PATH: process.env['PATH'] ?? '' },
    timeout: 60_000,
  })
  t.match({ ...result, stdout: result.stdout.toString() }, { status: 0, signal: null, stdout: 'opened\n' })
})
