// Counts the calls of the log into rollups again. A part of the log may be pruned, and calls may be
// sealed meanwhile.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { SealedEntry, SealedRequest } from '../../audit/entry.ts'
import type { Milliseconds } from '../../core/clock.ts'
import { CallGroups, type CountedUser } from '../../usage/call-groups.ts'
import { type Combination, ERASED, MAXIMUM_COMBINATIONS_OF_DAY } from '../../usage/combination.ts'
import {
  dayOfHour,
  firstHourDay,
  firstKeptDay,
  HOUR_MS,
  HOURS_OF_DAY,
  hourOf,
  type PeriodKind,
} from '../../usage/periods.ts'
import type { Environment } from '../environment/journaled.ts'
import { readFirstHour, writeFirstHour } from '../rollup/call-rollup.ts'
import { admitCombination } from '../rollup/combinations.ts'
import type { StoredPart } from '../rollup/counted-parts.ts'
import { addToPacked, type CombinationSums, dropOpen, sumDay, sumsOf } from '../rollup/packed-sums.ts'
import { openKey, periodKey, periodOfKey } from '../rollup/rollup-periods.ts'
import { readJson, readU64, u64, unpackEntry } from '../tables/layout.ts'
import type { StoreTables } from '../tables/sub-databases.ts'
import { readLogState } from './batch.ts'
import { readPrunePoint } from './prune.ts'
import { countedUser, hasCalls, readStoredUser } from './user-rows.ts'

/** Entries read before the event loop gets its turn: about a millisecond. */
const PAGE_ROWS = 250

export interface RebuiltRollups {
  /** Number of calls counted. */
  readonly calls: number
  /** Start of the first hour of which the log has all calls. */
  readonly sinceMs: Milliseconds
}

/** An hour, or a day whose hours are not kept, that is counted at once. */
interface CountedPeriod {
  readonly kind: PeriodKind
  readonly number: number
}

export class RollupRebuild {
  readonly #environment: Environment
  readonly #startHour: number
  /** Days from which on hours, and days, will be kept while this runs. */
  readonly #hourDay: number
  readonly #keptDay: number
  /**
   * The newest entry to count of each period whose old rows are gone. Later ones were counted when
   * they were sealed.
   */
  readonly #newestSeqs = new Map<string, number>()
  /** The first hour of which the log has all calls. */
  #firstHour = 0
  #groups = new CallGroups()
  /** The period of the calls in `#groups`. */
  #period: CountedPeriod | null = null
  #calls = 0
  #endSeq = 0

  constructor(environment: Environment, nowMs: Milliseconds) {
    this.#environment = environment
    this.#startHour = hourOf(nowMs)
    this.#hourDay = firstHourDay(nowMs) + 1
    this.#keptDay = firstKeptDay(nowMs) + 1
  }

  /**
   * @param progress receives the share of the log that is counted
   * @throws Error (rejects) when entries are pruned before they are counted; the rows of their
   * hours stay
   */
  async run(progress: (done: number) => void): Promise<RebuiltRollups> {
    const { tables } = this.#environment
    this.#environment.refresh()
    const { firstSeq } = readPrunePoint(tables)
    const first = readEntry(tables, firstSeq)
    this.#firstHour = firstSeq === 0 ? 0 : hourOf(sealedAtMs(first)) + 1
    this.#endSeq = readLogState(tables)!.seq
    let from = firstSeq
    do {
      while (from <= this.#endSeq) {
        from = await this.#readPage(from)
        progress((from - firstSeq) / (this.#endSeq + 1 - firstSeq))
        await nextTurn()
      }
      // This may find that calls were sealed meanwhile, and move the end.
      await this.#flush()
    } while (from <= this.#endSeq)
    await this.#dropUncounted()
    await this.#environment.transaction(() => this.#writeBegin(first))
    return { calls: this.#calls, sinceMs: this.#firstHour * HOUR_MS }
  }

  /** @returns the sequence number after the page */
  async #readPage(from: number): Promise<number> {
    this.#environment.refresh()
    const { tables } = this.#environment
    const end = Math.min(this.#endSeq + 1, from + PAGE_ROWS)
    const rows = tables.entries.rows({ start: u64(from), end: u64(end) })
    if (rows.length === 0 || readU64(rows[0]!.key) !== from) throw prunedMeanwhile(from)
    for (const { key, value } of rows) {
      const entry = readJson<SealedEntry>(Buffer.from(unpackEntry(readU64(key), value).bytes))
      if (entry.type === 'request') await this.#add(entry)
    }
    return end
  }

  async #add(entry: SealedRequest): Promise<void> {
    const period = this.#periodOf(hourOf(sealedAtMs(entry)))
    if (period === null) return
    const isSame = this.#period?.kind === period.kind && this.#period.number === period.number
    if (!isSame || this.#groups.size >= MAXIMUM_COMBINATIONS_OF_DAY) await this.#flush()
    this.#period = period
    if (entry.seq > (this.#newestSeqs.get(nameOf(period)) ?? Number.POSITIVE_INFINITY)) return
    this.#groups.add(entry, this.#userOf(entry))
    this.#calls++
  }

  /** Returns what is counted at once; null for what the log has only in part, or is not kept. */
  #periodOf(hour: number): CountedPeriod | null {
    const day = dayOfHour(hour)
    if (hour < this.#firstHour || day < this.#keptDay) return null
    if (day >= this.#hourDay) return { kind: 'hour', number: hour }
    return day * HOURS_OF_DAY >= this.#firstHour ? { kind: 'day', number: day } : null
  }

  #userOf({ seq, has_user: hasUser }: SealedRequest): CountedUser | null {
    if (hasUser !== true) return null
    const { tables } = this.#environment
    const user = readStoredUser(tables, seq)
    if (user !== null) return countedUser(user)
    if (tables.entries.get(u64(seq)) === undefined) throw prunedMeanwhile(seq)
    return { user: ERASED, hash: null }
  }

  /** Writes the calls in `#groups`, and removes what their period had before. */
  async #flush(): Promise<void> {
    const period = this.#period
    const groups = this.#groups
    if (period === null || groups.size === 0) return
    this.#groups = new CallGroups()
    const { tables } = this.#environment
    const newest = await this.#environment.transaction(() => {
      if (!this.#newestSeqs.has(nameOf(period))) dropPeriod(tables, period)
      const day = period.kind === 'day' ? period.number : dayOfHour(period.number)
      const sums: CombinationSums = new Map()
      for (const group of groups.values()) {
        const number = admitCombination(tables, stillKnown(tables, group.combination()), day)
        sumsOf(sums, number).add(group.sums)
      }
      addToPacked(tables, period.kind, period.number, sums)
      if (period.kind === 'hour') sumDay(tables, day)
      return readLogState(tables)!.seq
    })
    if (this.#newestSeqs.has(nameOf(period))) return
    this.#newestSeqs.set(nameOf(period), newest)
    this.#endSeq = Math.max(this.#endSeq, newest)
  }

  /** Removes the rows of past hours and days in which the log has no call. */
  async #dropUncounted(): Promise<void> {
    const { tables } = this.#environment
    this.#environment.refresh()
    const hours = { start: Math.max(this.#firstHour, this.#hourDay * HOURS_OF_DAY), end: this.#startHour }
    const days = {
      start: Math.max(Math.ceil(this.#firstHour / HOURS_OF_DAY), this.#keptDay),
      end: this.#hourDay,
    }
    const stored: CountedPeriod[] = [
      ...periodsOf(tables, 'hour', hours.start, hours.end),
      ...openHours(tables, hours.start, hours.end),
      ...periodsOf(tables, 'day', days.start, days.end),
    ]
    for (const period of stored) {
      if (this.#newestSeqs.has(nameOf(period))) continue
      await this.#environment.transaction(() => {
        dropPeriod(tables, period)
        if (period.kind === 'hour') sumDay(tables, dayOfHour(period.number))
      })
    }
  }

  /** @param first the first entry of the log. A log that continues another lacks its calls. */
  #writeBegin(first: SealedEntry): void {
    const { tables } = this.#environment
    const known = (part: StoredPart | 'refused') => readFirstHour(tables, part) ?? this.#startHour + 1
    const continues = first.type === 'genesis' && first.continues !== null
    const hour = continues ? hourOf(sealedAtMs(first)) + 1 : this.#firstHour
    const firstOf = (part: StoredPart | 'refused') => Math.min(known(part), hour)
    writeFirstHour(tables, firstOf('call'), firstOf('run'), firstOf('refused'))
  }
}

const nameOf = ({ kind, number }: CountedPeriod): string => `${kind} ${number}`

const sealedAtMs = ({ ts }: SealedEntry): Milliseconds => Date.parse(ts)

function readEntry({ entries }: StoreTables, seq: number): SealedEntry {
  const row = entries.get(u64(seq))
  if (row === undefined) throw prunedMeanwhile(seq)
  return readJson<SealedEntry>(Buffer.from(unpackEntry(seq, row).bytes))
}

/** A user whose last call was erased since it was read must not come back. */
const stillKnown = (tables: StoreTables, combination: Combination): Combination =>
  combination.user_hash === null || hasCalls(tables, Buffer.from(combination.user_hash, 'hex'))
    ? combination
    : { ...combination, user: ERASED, user_hash: null }

function dropPeriod(tables: StoreTables, { kind, number }: CountedPeriod): void {
  const hours = kind === 'day' ? HOURS_OF_DAY : 1
  dropOpen(tables, number * hours, (number + 1) * hours)
  tables.rollups.remove(periodKey(kind, number))
}

/** Returns packed hours or days of a range. */
const periodsOf = (
  { rollups }: StoreTables,
  kind: PeriodKind,
  start: number,
  end: number,
): CountedPeriod[] =>
  start >= end
    ? []
    : rollups
        .keys({ start: periodKey(kind, start), end: periodKey(kind, end) })
        .map((key) => ({ kind, number: periodOfKey(key) }))

/** Returns hours of a range that are not packed. */
function openHours({ openhours }: StoreTables, start: number, end: number): CountedPeriod[] {
  const hours: CountedPeriod[] = []
  for (let from = start; from < end; ) {
    const [next] = openhours.keys({ start: openKey(from, 0), end: openKey(end, 0), limit: 1 })
    if (next === undefined) break
    hours.push({ kind: 'hour', number: next.readUInt32BE() })
    from = next.readUInt32BE() + 1
  }
  return hours
}

const prunedMeanwhile = (seq: number): Error =>
  new Error(
    `entry ${seq} was pruned before it was counted; the hours counted so far are right, so run sidegate audit rollup --rebuild again for the rest`,
  )
