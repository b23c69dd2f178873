// A store in a fresh folder with a manual clock, and waits with a deadline, for every test of the
// store.

import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Test } from 'tap'
import type { Clock } from '../../src/core/clock.ts'
import type { RetainRule } from '../../src/core/retention-section.ts'
import { type Environment, openEnvironment } from '../../src/store/environment/journaled.ts'
import { SegmentFile } from '../../src/store/journal/segment-file.ts'
import { UsageLog } from '../../src/store/log/log.ts'
import { Retention } from '../../src/store/log/retention.ts'
import { openStore, type Store, type StoreOptions } from '../../src/store/store.ts'

export const START_MS = Date.UTC(2026, 2, 1, 12)
export const DAY_MS = 86_400_000
const GIB = 1024 ** 3

/** Returns the id of the n-th call. */
export const id = (n: number): string => `01980000-0000-7000-8000-${String(n).padStart(12, '0')}`

export interface TestClock extends Clock {
  advance(ms: number): void
}

export function testClock(startMs = START_MS): TestClock {
  let nowMs = startMs
  return {
    now: () => nowMs,
    monotonic: () => nowMs,
    advance: (ms) => {
      nowMs += ms
    },
  }
}

/** Returns bytes that differ between calls and repeat between runs. */
function testRandom(seed = 'seed'): (length: number) => Buffer {
  let count = 0
  return (length) => {
    const digest = createHash('shake256', { outputLength: Math.max(1, length) })
    return digest.update(`${seed}${count++}`).digest().subarray(0, length)
  }
}

const WAIT_MS = 10_000

/**
 * Runs `step` once a turn until `isDone`.
 * @throws Error after ten seconds
 */
export async function until(
  isDone: () => boolean | Promise<boolean>,
  step: () => void = () => {},
): Promise<void> {
  const deadlineMs = performance.now() + WAIT_MS
  while (!(await isDone())) {
    if (performance.now() > deadlineMs) throw new Error(`not done within ${WAIT_MS} ms`)
    step()
    await nextTurn()
  }
}

/** Waits until the database has all rows of the journal. */
export const applied = (environment: Pick<Environment, 'journal'>): Promise<void> =>
  until(() => environment.journal()?.lagFrames === 0)

/** The bytes of every file of a store: the database and its journal. */
export const bytesOf = (path: string): Buffer =>
  Buffer.concat(
    readdirSync(path)
      .map((name) => join(path, name))
      .filter((file) => statSync(file).isFile())
      .map((file) => readFileSync(file)),
  )

export interface TestStore {
  readonly store: Store
  readonly clock: TestClock
  readonly path: string
  /** Runs the store's periodic work of this interval. */
  tick(intervalMs: number): void
  /** Closes and opens again, with the same clock. */
  reopen(changes?: Partial<StoreOptions>): Promise<TestStore>
}

type Options = Partial<StoreOptions> & { readonly testClock?: TestClock; readonly seed?: string }

export function openTestStore(t: Test, options: Options = {}): TestStore {
  const path = options.path ?? t.testdir()
  const clock = options.testClock ?? testClock()
  const works = new Map<number, () => void>()
  const store = openStore({
    path,
    clock,
    random: testRandom(options.seed),
    maxBytes: GIB,
    every: (intervalMs, work) => {
      works.set(intervalMs, work)
      return () => works.delete(intervalMs)
    },
    ...options,
  })
  t.teardown(() => store.close())
  return {
    store,
    clock,
    path,
    tick: (intervalMs) => works.get(intervalMs)?.(),
    reopen: async (changes = {}) => {
      await store.close()
      return openTestStore(t, { ...options, path, testClock: clock, seed: `${options.seed}+`, ...changes })
    },
  }
}

/** The sealed entries of a type, in order. */
export const entriesOf = (log: UsageLog, type: string): Record<string, unknown>[] =>
  log
    .records(0, 100_000)
    .map(({ bytes }): Record<string, unknown> => JSON.parse(Buffer.from(bytes).toString()))
    .filter((entry) => entry['type'] === type)

/** A log without the rest of the store. */
export interface TestLog {
  readonly environment: Environment
  readonly log: UsageLog
  readonly retention: Retention
  readonly errors: unknown[]
  close(): Promise<void>
}

interface TestLogOptions {
  readonly path: string
  readonly clock: TestClock
  readonly maxBytes?: number
  readonly retainMs?: number
  readonly retain?: readonly RetainRule[]
  readonly wrap?: (environment: Environment) => Environment
  readonly whenFull?: 'refuse' | 'drop-content'
  readonly onContentDropped?: () => void
}

export function openTestLog(options: TestLogOptions): TestLog {
  const { path, clock, maxBytes = GIB, retainMs = 30 * DAY_MS, whenFull = 'refuse' } = options
  const opened = openEnvironment(path, { maxBytes, clock })
  const environment = options.wrap?.(opened) ?? opened
  const { onContentDropped = () => {} } = options
  const events = { onContentDropped, onSealed: () => {} }
  const log = new UsageLog({ environment, clock, random: randomBytes, maxBytes, whenFull, events })
  const errors: unknown[] = []
  const onError = (error: unknown) => errors.push(error)
  const { retain = [] } = options
  const retention = new Retention({ environment, log, clock, maxBytes, retainMs, retain, onError })
  const close = async () => {
    await retention.close()
    await opened.close()
  }
  return { environment, log, retention, errors, close }
}

/** Returns the database with some methods replaced. */
export function altered(real: Environment, parts: Partial<Environment>): Environment {
  return {
    tables: real.tables,
    writability: real.writability,
    transaction: (write, bytes) => real.transaction(write, bytes),
    inGroup: (group, work, bytes) => real.inGroup(group, work, bytes),
    initialize: (write) => real.initialize(write),
    refresh: () => real.refresh(),
    size: () => real.size(),
    roomFault: (bytes) => real.roomFault(bytes),
    journal: () => real.journal(),
    apply: () => real.apply(),
    tick: (nowMs) => real.tick(nowMs),
    reapReaders: () => real.reapReaders(),
    copyTo: (folder) => real.copyTo(folder),
    close: () => real.close(),
    ...parts,
  }
}

/** Returns the database with another `transaction`. */
export const withTransactions = (real: Environment, transaction: Environment['transaction']): Environment =>
  altered(real, { transaction })

/**
 * Runs `act` before each write to a journal in this process.
 * @returns ends that; so does the end of the test
 */
export function beforeWrites(t: Test, act: () => Promise<void> | void): () => void {
  const { append } = SegmentFile.prototype
  SegmentFile.prototype.append = async function (frame) {
    await act()
    await append.call(this, frame)
  }
  const end = () => {
    SegmentFile.prototype.append = append
  }
  t.teardown(end)
  return end
}
