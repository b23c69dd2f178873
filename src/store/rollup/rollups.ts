// The rollups of a store: reports them, packs hours that are over, and removes what is
// too old.

import type { Clock, Milliseconds } from '../../core/clock.ts'
import type { UsageSeries } from '../../core/usage-series.ts'
import { dayOfHour, firstHourDay, firstKeptDay, HOURS_OF_DAY, hourOf } from '../../usage/periods.ts'
import type { UsageReport } from '../../usage/report-plan.ts'
import type { UsageReportQuery } from '../../usage/report-query.ts'
import type { Environment } from '../environment/journaled.ts'
import { u32 } from '../tables/layout.ts'
import { combinationsBefore, dropCombinations } from './combinations.ts'
import { type KeptPeriods, packHour } from './packed-sums.ts'
import { openKey, periodKey } from './rollup-periods.ts'
import { seriesOfDays } from './rollup-series.ts'
import { reportUsage } from './usage-report.ts'

/** Maximum rows that one transaction packs or removes: a few milliseconds. */
const ROWS_OF_TRANSACTION = 2000
/** Maximum transactions that pack, each minute: more than the rows of a full hour. */
const TRANSACTIONS_OF_STEP = 12
/** Days after which nobody needs to know what is new on a day. A clock may be set back a little. */
const MEMBER_DAYS_KEPT = 2

export class Rollups {
  readonly #environment: Environment
  readonly #clock: Clock
  /** From where the search for combinations without rows continues. */
  #sweepFrom = 0

  constructor(environment: Environment, clock: Clock) {
    this.#environment = environment
    this.#clock = clock
  }

  /** Works like `reportUsage`, now. */
  report(query: UsageReportQuery): Promise<UsageReport> {
    return reportUsage(this.#environment, query, this.#clock.now())
  }

  /** Works like `seriesOfDays`, now. */
  series(days: number): Promise<UsageSeries> {
    return seriesOfDays(this.#environment, days, this.#clock.now())
  }

  /** Packs some of the hours that are over, and removes some old rows. Call it every minute. */
  async maintain(): Promise<void> {
    const nowMs = this.#clock.now()
    await this.#pack(nowMs)
    await this.#removeOld(nowMs)
  }

  async #pack(nowMs: Milliseconds): Promise<void> {
    const { tables } = this.#environment
    const kept: KeptPeriods = { hourDay: firstHourDay(nowMs), day: firstKeptDay(nowMs) }
    const past = { end: openKey(hourOf(nowMs), 0), limit: 1 }
    for (let count = 0; count < TRANSACTIONS_OF_STEP; count++) {
      this.#environment.refresh()
      if (tables.openhours.keys(past).length === 0) return
      await this.#environment.transaction(() => {
        const [oldest] = tables.openhours.keys(past)
        if (oldest !== undefined) packHour(tables, oldest.readUInt32BE(), kept, ROWS_OF_TRANSACTION)
      })
    }
  }

  async #removeOld(nowMs: Milliseconds): Promise<void> {
    const { tables } = this.#environment
    const limit = ROWS_OF_TRANSACTION
    const hour = firstHourDay(nowMs) * HOURS_OF_DAY
    const day = firstKeptDay(nowMs)
    const memberDay = Math.max(0, dayOfHour(hourOf(nowMs)) - MEMBER_DAYS_KEPT + 1)
    const find = () => ({
      rollups: [
        ...tables.rollups.keys({ start: periodKey('hour', 0), end: periodKey('hour', hour), limit }),
        ...tables.rollups.keys({ start: periodKey('day', 0), end: periodKey('day', day), limit }),
      ],
      members: tables.combinationdays.keys({ end: u32(memberDay), limit }),
    })
    this.#environment.refresh()
    const { old, next } = combinationsBefore(tables, day, this.#sweepFrom, limit)
    this.#sweepFrom = next ?? 0
    const { rollups, members } = find()
    if (rollups.length + members.length + old.length === 0) return
    await this.#environment.transaction(() => {
      const found = find()
      for (const key of found.rollups) tables.rollups.remove(key)
      for (const key of found.members) tables.combinationdays.remove(key)
      dropCombinations(tables, old, day)
    })
  }
}
