// Durability of acknowledged entries, with killed processes and with parallel ones.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { verifyChain } from '../../src/audit/verify.ts'
import { requestDraft } from '../audit/drafts.ts'
import { openTestStore, type TestStore, testClock } from './fixture.ts'

/** More than enough on a busy machine. */
const TIMEOUT_SECONDS = 120
const KILLS = 6
const USED_TOKENS = 7
const WINDOW_MS = 30 * 86_400_000
const PAGE = 500
const HOUR_MS = 3_600_000

interface Acknowledged {
  readonly seq: number
  readonly id: string
  readonly hash: string
}

function run(t: Test, program: string, ...args: string[]): ChildProcess {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'processes', program), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    // Without the test runner's options, which take longer to start than the program.
    env: { PATH: process.env['PATH'] ?? '' },
  })
  t.teardown(() => child.kill('SIGKILL'))
  return child
}

/** Yields every complete line of the child's output. */
async function* linesOf(child: ChildProcess): AsyncGenerator<string> {
  if (child.stdout === null) throw new Error('no output')
  yield* createInterface({ input: child.stdout })
}

function readAcknowledged(line: string): Acknowledged | null {
  // The last line of a killed process may be incomplete.
  const match = /^(\d+) (\S{36}) (sha256:[0-9a-f]{64})$/.exec(line)
  return match === null ? null : { seq: Number(match[1]), id: match[2] as string, hash: match[3] as string }
}

function check(t: Test, store: TestStore['store'], acknowledged: readonly Acknowledged[]): number {
  const head = store.log.head
  const records = store.log.records(0, head.seq + 2)
  t.match(verifyChain(records), { ok: true, checked: head.seq + 1, head })
  const missing = acknowledged.filter(({ seq, id, hash }) => {
    const found = store.log.get(id)
    return found?.seq !== seq || found.hash !== hash || records[seq]?.hash !== hash || found.request === null
  })
  t.strictSame(missing, [], `${acknowledged.length} acknowledged entries`)
  return records.length - 1
}

t.test(
  'a process killed at any moment loses no entry it has acknowledged',
  { timeout: TIMEOUT_SECONDS * 1000 },
  async (t) => {
    const path = t.testdir()
    const acknowledged: Acknowledged[] = []
    for (let round = 0; round < KILLS; round++) {
      const child = run(t, 'append.ts', path, '32')
      const ended = once(child, 'exit')
      let left = 1 + ((round * 397) % 700)
      for await (const line of linesOf(child)) {
        const entry = readAcknowledged(line)
        if (entry !== null) acknowledged.push(entry)
        if (--left === 0) child.kill('SIGKILL')
      }
      const [, signal] = await ended
      t.equal(signal, 'SIGKILL', `round ${round} was killed, and had not failed before`)
    }
    const clock = testClock(Date.now())
    const { store } = openTestStore(t, { path, testClock: clock })
    const sealed = check(t, store, acknowledged)
    t.ok(acknowledged.length >= KILLS)
    t.comment(`${KILLS} kills, ${acknowledged.length} acknowledged, ${sealed} sealed`)
    // The counters equal the entries; those sealed but not acknowledged count too.
    const limitTokens = Number.MAX_SAFE_INTEGER
    const where = { ruleId: 'rule', subject: 'key', windowMs: WINDOW_MS, nowMs: clock.now() }
    const demand = { tokens: 1, unlimitedChoices: 0, expectedAnswer: 0 }
    const { remaining } = store.counters.reserve({ ...where, ...demand, limitTokens, force: false })
    t.equal(limitTokens - 1 - remaining, sealed * USED_TOKENS)
    const { total } = await store.log.list({ limit: PAGE, offset: 0 })
    t.equal(total, sealed)
    const period = { sinceMs: clock.now() - HOUR_MS, untilMs: clock.now() }
    const usage = await store.rollups.report({ groupBy: ['key'], ...period })
    t.match(usage.total, { requests: sealed, total_tokens: sealed * requestDraft().total_tokens })
  },
)

t.test('parallel processes write one chain', { timeout: TIMEOUT_SECONDS * 1000 }, async (t) => {
  const path = t.testdir()
  const children = [run(t, 'append.ts', path, '16', '600'), run(t, 'append.ts', path, '4', '300')]
  const { store } = openTestStore(t, { path })
  const acknowledged: Acknowledged[] = []
  const keys: Promise<unknown>[] = []
  const read = async (child: ChildProcess): Promise<void> => {
    for await (const line of linesOf(child)) {
      const entry = readAcknowledged(line)
      if (entry !== null) acknowledged.push(entry)
      // This process writes as well.
      if (acknowledged.length % 50 === 0) keys.push(store.keys.create(`key ${keys.length}`, 'vera'))
    }
  }
  await Promise.all(children.map(read))
  await Promise.all(keys)
  t.equal(acknowledged.length, 900)
  t.ok(keys.length > 0)
  t.equal(check(t, store, acknowledged), 900 + keys.length)
})

t.test(
  'a key revoked in one process is refused in another at once',
  { timeout: TIMEOUT_SECONDS * 1000 },
  async (t) => {
    const { store, path } = openTestStore(t)
    const { key, record } = await store.keys.create('k', 'vera')
    const child = run(t, 'authenticate.ts', path, key)
    const lines: string[] = []
    for await (const line of linesOf(child)) {
      lines.push(line)
      if (line === 'accepted') await store.keys.revoke(record.id, 'vera')
    }
    t.strictSame(lines, ['accepted', 'refused'])
  },
)
