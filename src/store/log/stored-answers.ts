// Remembers which key made an answer that a provider keeps, and where, so that later calls can ask
// for it. Rows are written in the transaction of the entry of their call. Ids are kept as hashes.

import type { Clock, Milliseconds } from '../../core/clock.ts'
import {
  answerHash,
  STORED_MS,
  type StoredAnswer,
  type StoredChange,
  updatedAnswer,
} from '../../keys/stored-answer.ts'
import type { Environment } from '../environment/journaled.ts'
import { joinKey, readJson, readU64, u64, writeJson } from '../tables/layout.ts'
import type { StoreTables } from '../tables/sub-databases.ts'

/** Maximum rows, in a store of any size; the oldest go first. */
export const MAXIMUM_STORED_ROWS = 500_000
/** Share of the store that the rows may take, and the size of one, both approximate. */
const STORED_SHARE = 0.05
const ROW_BYTES = 512
/** Rows that one transaction removes at most, so that it stays short. */
const REMOVED_ROWS = 2000

const COUNT_KEY = Buffer.from('stored')
const TIME_BYTES = 8
const NO_VALUE = Buffer.from([0])

/** Maximum rows of a store. @param maxBytes limit of the whole store */
export const storedRows = (maxBytes: number): number =>
  Math.max(1, Math.min(MAXIMUM_STORED_ROWS, Math.floor((maxBytes * STORED_SHARE) / ROW_BYTES)))

export class StoredAnswers {
  readonly #environment: Environment
  readonly #clock: Clock
  /** Answers whose tokens a running call is about to count, by the hash of their id. */
  readonly #claims = new Set<string>()

  constructor(environment: Environment, clock: Clock) {
    this.#environment = environment
    this.#clock = clock
  }

  /** Returns null for an id that is unknown, removed or too old. */
  find(id: string): StoredAnswer | null {
    this.#environment.refresh()
    const row = this.#environment.tables.stored.get(answerHash(id))
    if (row === undefined) return null
    const answer = readJson<StoredAnswer>(row)
    return this.#clock.now() - answer.createdAtMs < STORED_MS ? answer : null
  }

  /**
   * Claims the tokens of an answer for one entry. Null when an entry has them, another call has
   * claimed them, or the answer is gone.
   * @param made the answer, when another gateway of the fleet made it
   * @returns ends the claim; call it once the entry is sealed or has failed
   */
  claim(id: string, made: StoredAnswer | null = null): (() => void) | null {
    const name = answerHash(id).toString('hex')
    if (this.#claims.has(name) || (this.find(id) ?? made)?.isCounted !== false) return null
    this.#claims.add(name)
    return () => this.#claims.delete(name)
  }

  /** Removes some of the rows that are too old. Call it every minute. */
  async sweep(): Promise<void> {
    const { tables } = this.#environment
    const endMs = this.#clock.now() - STORED_MS + 1
    if (endMs <= 0) return
    const range = { end: u64(endMs), limit: REMOVED_ROWS }
    if (tables.storedtimes.keys({ ...range, limit: 1 }).length === 0) return
    await this.#environment.transaction(() => {
      const old = tables.storedtimes.keys(range)
      for (const key of old) removeAt(tables, key)
      writeCount(tables, readCount(tables) - old.length)
    })
  }
}

/**
 * Makes the changes; runs inside a transaction. Removes the oldest rows above the limit.
 * @param limit as `storedRows`
 */
export function writeStored(tables: StoreTables, changes: readonly StoredChange[], limit: number): void {
  if (changes.length === 0) return
  let count = readCount(tables)
  for (const change of changes) {
    const rowKey = answerHash(change.id)
    const before = tables.stored.get(rowKey)
    const known = before === undefined ? null : readJson<StoredAnswer>(before)
    if (change.type === 'update') {
      const { made } = change
      if (known !== null) tables.stored.put(rowKey, writeJson(updatedAnswer(known, change)))
      else if (made !== undefined) {
        put(tables, rowKey, updatedAnswer(made, change))
        count++
      }
      continue
    }
    if (known !== null) {
      removeAt(tables, timeKey(known.createdAtMs, rowKey))
      count--
    }
    if (change.type === 'keep') {
      put(tables, rowKey, change.answer)
      count++
    }
  }
  if (count > limit) {
    const oldest = tables.storedtimes.keys({ limit: Math.min(count - limit, REMOVED_ROWS) })
    for (const key of oldest) removeAt(tables, key)
    count -= oldest.length
  }
  writeCount(tables, count)
}

function put(tables: StoreTables, rowKey: Buffer, answer: StoredAnswer): void {
  tables.stored.put(rowKey, writeJson(answer))
  tables.storedtimes.put(timeKey(answer.createdAtMs, rowKey), NO_VALUE)
}

/** @param key of `storedtimes` */
function removeAt(tables: StoreTables, key: Buffer): void {
  tables.storedtimes.remove(key)
  tables.stored.remove(key.subarray(TIME_BYTES))
}

const timeKey = (createdAtMs: Milliseconds, rowKey: Buffer): Buffer => joinKey(u64(createdAtMs), rowKey)

function readCount(tables: StoreTables): number {
  const count = tables.meta.get(COUNT_KEY)
  return count === undefined ? 0 : readU64(count)
}

const writeCount = (tables: StoreTables, count: number): void =>
  tables.meta.put(COUNT_KEY, u64(Math.max(0, count)))
