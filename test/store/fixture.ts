// A store on a fresh folder with a clock that only moves when told, for every test of the store.

import { createHash } from 'node:crypto'
import type { Test } from 'tap'
import type { Clock } from '../../src/core/clock.ts'
import type { Environment } from '../../src/store/lmdb.ts'
import { openStore, type Store, type StoreOptions } from '../../src/store/store.ts'

export const START_MS = Date.UTC(2026, 2, 1, 12)
const GIB = 1024 ** 3

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

/** Bytes that differ from call to call and not from run to run. */
function testRandom(seed = 'seed'): (length: number) => Buffer {
  let count = 0
  return (length) => {
    const digest = createHash('shake256', { outputLength: Math.max(1, length) })
    return digest.update(`${seed}${count++}`).digest().subarray(0, length)
  }
}

export interface TestStore {
  readonly store: Store
  readonly clock: TestClock
  readonly path: string
  /** Runs what the store does every so often. */
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

/** The database with other parts in places. */
export function altered(real: Environment, parts: Partial<Environment>): Environment {
  return {
    tables: real.tables,
    transaction: (write) => real.transaction(write),
    fault: () => real.fault(),
    initialize: (write) => real.initialize(write),
    refresh: () => real.refresh(),
    size: () => real.size(),
    reapReaders: () => real.reapReaders(),
    copyTo: (folder) => real.copyTo(folder),
    close: () => real.close(),
    ...parts,
  }
}

/** The same with other transactions. */
export const withTransactions = (real: Environment, transaction: Environment['transaction']): Environment =>
  altered(real, { transaction })
