// The counts of limits as rows of the store: the layout of their keys, and the changes of one write
// transaction.

import type { Milliseconds } from '../../core/clock.ts'
import { bucketLength, isLive } from '../../policy/limit.ts'
import { joinKey, readU64, u64 } from '../tables/layout.ts'
import type { Table } from '../tables/table.ts'

const SEPARATOR = Buffer.from([0])

/** Begins the names of counts that a hub keeps, whose buckets are by the clock of the hub. */
export const HUB_COUNT = 'hub:'

/** A bucket of one limit and subject. */
export interface CountedBucket {
  readonly ruleId: string
  readonly subject: string
  readonly windowMs: Milliseconds
  readonly bucketIndex: number
}

/** Tokens that a call adds to a bucket, or gives back, for `UsageLog.append`. */
export interface CounterChange extends CountedBucket {
  /** Negative to give back; a count never becomes negative. */
  readonly tokens: number
}

/**
 * Includes the window: a rule with a new window starts anew, because its buckets have another
 * length.
 */
export const windowName = (ruleId: string, subject: string, windowMs: Milliseconds) =>
  `${ruleId}\0${subject}\0${windowMs}`

/** Reads what `windowName` wrote. */
export function readWindowName(name: string): Pick<CounterChange, 'ruleId' | 'subject' | 'windowMs'> {
  const [ruleId = '', subject = '', windowMs] = name.split('\0')
  return { ruleId, subject, windowMs: Number(windowMs) }
}

/**
 * The counter changes of one write transaction. Writes each bucket once, for any number of calls.
 */
export class CounterChanges {
  readonly #changes = new Map<string, CounterChange>()

  add(changes: readonly CounterChange[]): void {
    for (const change of changes) {
      const { ruleId, subject, windowMs, bucketIndex, tokens } = change
      const name = `${windowName(ruleId, subject, windowMs)}\0${bucketIndex}`
      const before = this.#changes.get(name)
      this.#changes.set(name, before === undefined ? change : { ...change, tokens: before.tokens + tokens })
    }
  }

  /** Adds the changes to the stored counts. */
  write(table: Table): void {
    for (const change of this.#changes.values()) {
      const key = bucketKey(change, change.bucketIndex)
      const stored = table.get(key)
      const counted = (stored === undefined ? 0 : readU64(stored)) + change.tokens
      if (counted <= 0 && stored === undefined) continue
      table.put(key, u64(Math.max(0, counted)))
      // With the first count of a bucket, removes those that have left the window.
      if (stored === undefined) dropDeadBuckets(table, change)
    }
  }
}

function dropDeadBuckets(table: Table, change: CounterChange): void {
  const range = { start: bucketKey(change, 0), end: bucketKey(change, change.bucketIndex) }
  for (const key of table.keys(range)) {
    if (!isLive(bucketLength(change.windowMs), readKey(key).bucketIndex, change.bucketIndex))
      table.remove(key)
  }
}

/** Rule and subject, each followed by a zero byte, then window and bucket. */
function bucketKey({ ruleId, subject, windowMs }: CounterChange, bucketIndex: number): Buffer {
  return joinKey(
    Buffer.from(ruleId),
    SEPARATOR,
    Buffer.from(subject),
    SEPARATOR,
    u64(windowMs),
    u64(bucketIndex),
  )
}

/** Reads what a stored count belongs to. */
export function readKey(key: Buffer): CountedBucket {
  const afterRule = key.indexOf(0)
  const afterKey = key.indexOf(0, afterRule + 1)
  return {
    ruleId: key.toString('utf8', 0, afterRule),
    subject: key.toString('utf8', afterRule + 1, afterKey),
    windowMs: readU64(key, afterKey + 1),
    bucketIndex: readU64(key, afterKey + 9),
  }
}
