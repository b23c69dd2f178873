// The full verification in a child process: its status, its end, and ending it early.

import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { openStore } from '../../src/store/store.ts'
import { BackgroundVerification, type VerificationFailure } from '../../src/store/verification/background.ts'
import { requestDraft } from '../audit/drafts.ts'
import { START_MS, testClock } from './fixture.ts'

async function log(t: Test, calls: number): Promise<string> {
  const path = t.testdir()
  const store = openStore({ path, clock: testClock(), random: randomBytes, maxBytes: 1024 ** 3 })
  for (let from = 0; from < calls; from += 1000) {
    const ids = Array.from({ length: Math.min(1000, calls - from) }, (_, n) => `call-${from + n}`)
    await Promise.all(ids.map((id) => store.log.append(requestDraft({ id }))))
  }
  await store.close()
  return path
}

t.test('verification of an intact log reports its status and verdict', async (t) => {
  const verdicts: JsonObject[] = []
  const check = new BackgroundVerification(await log(t, 2000), testClock(), (verdict) =>
    verdicts.push(verdict),
  )
  t.match(check.status, { running: false, progress: 0, verdict: null, startedAtMs: null })
  const ended = check.start()
  t.match(check.status, { running: true, progress: 0, startedAtMs: START_MS, finishedAtMs: null })
  t.equal(check.start(), ended, 'one at a time')
  await ended
  t.match(check.status, {
    running: false,
    progress: 1,
    finishedAtMs: START_MS,
    failure: null,
    verdict: { ok: true, entries: 2001 },
  })
  t.same(verdicts, [check.status.verdict])
})

t.test('without a free file descriptor only the verification fails', async (t) => {
  const script = join(t.testdir(), 'check.ts')
  const source = (path: string) =>
    JSON.stringify(fileURLToPath(new URL(`../../src/${path}`, import.meta.url)))
  writeFileSync(
    script,
    `import { openSync } from 'node:fs'
    import { systemClock } from ${source('core/clock.ts')}
    import { BackgroundVerification } from ${source('store/verification/background.ts')}
    const check = new BackgroundVerification(${JSON.stringify(await log(t, 1))}, systemClock, () => {})
    try { for (;;) openSync('/dev/null') } catch {}
    await check.start()
    process.stdout.write(JSON.stringify(check.status))`,
  )
  const { stdout, stderr } = spawnSync(
    'sh',
    ['-c', 'ulimit -n 128; exec "$0" "$1"', process.execPath, script],
    {
      encoding: 'utf8',
    },
  )
  t.match(JSON.parse(stdout || '{}'), { running: false, failure: /EMFILE/ }, stderr)
})

t.test('a child that cannot start leaves the status unchanged', async (t) => {
  const check = new BackgroundVerification('x'.repeat(4 * 1024 ** 2), testClock(), () => {})
  t.throws(() => check.start(), { code: 'E2BIG' })
  t.match(check.status, { running: false, startedAtMs: null })
})

t.test('a verification ended early has no verdict, and another can start', async (t) => {
  const verdicts: JsonObject[] = []
  const check = new BackgroundVerification(await log(t, 100), testClock(), (verdict) =>
    verdicts.push(verdict),
  )
  await check.close()
  void check.start()
  await check.close()
  t.match(check.status, { running: false, verdict: null, failure: 'the check ended with SIGKILL' })
  t.same(verdicts, [])
  await check.start()
  t.match(check.status, { verdict: { ok: true }, failure: null })
})

t.test('a cancelled verification says so, and another can start', async (t) => {
  const failures: VerificationFailure[] = []
  const check = new BackgroundVerification(
    await log(t, 100),
    testClock(),
    () => {},
    (failure) => failures.push(failure),
  )
  await check.cancel()
  t.match(check.status, { running: false, startedAtMs: null, failure: null }, 'nothing to cancel')
  const ended = check.start()
  await check.cancel()
  await ended
  t.match(check.status, {
    running: false,
    progress: 0,
    finishedAtMs: START_MS,
    verdict: null,
    failure: 'The check was cancelled.',
  })
  t.same(failures, [{ reason: 'The check was cancelled.', cause: 'cancelled' }])
  await check.start()
  const { status } = check
  t.match(status, { progress: 1, verdict: { ok: true }, failure: null })
  await check.cancel()
  t.equal(check.status, status, 'a verdict stays')
})

t.test('a missing log fails, and a truncated file is found', async (t) => {
  const none = join(t.testdir(), 'none')
  const nothing = new BackgroundVerification(none, testClock(), () => t.fail('no verdict'))
  await nothing.start()
  t.match(nothing.status, { verdict: null, failure: `there is no log in ${none}` })
  const path = await log(t, 3000)
  truncateSync(join(path, 'data.mdb'), 200_000)
  const cut = new BackgroundVerification(path, testClock(), () => {})
  await cut.start()
  const { verdict, failure } = cut.status
  t.ok(verdict?.['ok'] === false || /damaged|ended with/.test(failure ?? ''), failure ?? 'found')
})

t.test('lost pages of a long log are found', async (t) => {
  const path = await log(t, 12_000)
  const check = new BackgroundVerification(path, testClock(), () => {})
  await check.start()
  t.match(check.status, { verdict: { ok: true, entries: 12_001 }, failure: null })
  const file = join(path, 'data.mdb')
  const bytes = readFileSync(file)
  // Pages without a header: their contents are missed, or reading them ends the process.
  const damaged = Buffer.from(bytes).fill(0, bytes.length / 2, bytes.length / 2 + 64 * 4096)
  writeFileSync(file, damaged)
  await check.start()
  t.ok(check.status.verdict?.['ok'] === false || /damaged/.test(check.status.failure ?? ''), 'lost pages')
  writeFileSync(file, bytes)
  truncateSync(file, 2_000_000)
  await check.start()
  t.match(check.status, { verdict: null, failure: /the database file is damaged/ }, 'a truncated file')
})
