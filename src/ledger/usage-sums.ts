// Reports usage over a fleet from the sums that ingests write: by grouping fields, over the last
// days and over the last hours. The database groups; rows and steps are made as at a gateway.

import type { Clock, Milliseconds } from '../core/clock.ts'
import { type UsageSeries, usageSeries } from '../core/usage-series.ts'
import { CallSums, SUM_COUNT } from '../usage/call-sums.ts'
import { type CountedPart, partOfReport } from '../usage/combination.ts'
import { DaySeries, stepOf } from '../usage/day-series.ts'
import { HOURS_OF_DAY, type PeriodRange } from '../usage/periods.ts'
import { planReport, type UsageReport } from '../usage/report-plan.ts'
import { type GroupField, isTimeField, labelOf, type UsageReportQuery } from '../usage/report-query.ts'
import { dateCharacters, MAXIMUM_REPORT_ROWS, ReportRows } from '../usage/report-rows.ts'
import type { Queries } from './database.ts'
import { storableText } from './entry-columns.ts'
import { parameters } from './log-scope.ts'

const MINUTE_MS: Milliseconds = 60_000
const MINUTE_SECONDS = MINUTE_MS / 1000

/** What each field is called in the rows of combinations. */
const COLUMNS = {
  ...{ key: 'key_id', model: 'model', api: 'api', upstream: 'upstream' },
  ...{ user: '"user"', tool: 'tool', run: 'run', sidecar: 'sidecar' },
} as const

/** Each sum by its position: one that rows of an older release lack is null. */
const SUMS = `array[${Array.from({ length: SUM_COUNT }, (_, at) => `sum(u.sums[${at + 1}])::text`).join(', ')}]`

/** The tables of hubs have always had all sums. */
const ALL_COUNTED = { all: 0, refused: 0 }

type Sums = readonly (string | null)[]

/** Which sums are read. */
interface Grouping {
  readonly groupBy: readonly GroupField[]
  readonly keyId: string | null
  readonly part: CountedPart
}

interface GroupRow {
  readonly values: readonly (string | null)[]
  /** Empty without a field of time. */
  readonly date: string
  readonly sums: Sums
}

/** @throws GatewayError (rejects, each) `fleet_unavailable` */
export class FleetUsage {
  readonly #queries: Queries
  readonly #clock: Pick<Clock, 'now'>

  constructor(queries: Queries, clock: Pick<Clock, 'now'>) {
    this.#queries = queries
    this.#clock = clock
  }

  /** @throws GatewayError (rejects) `invalid_parameter`, as at a gateway */
  async report(query: UsageReportQuery): Promise<UsageReport> {
    const { groupBy, keyId = null } = query
    const { ranges, period } = planReport(query, ALL_COUNTED, this.#clock.now())
    const rows = new ReportRows(groupBy)
    const part = partOfReport(groupBy)
    const [groups, [calls]] = await Promise.all([
      this.#groups({ groupBy, keyId, part }, ranges),
      part === 'call' ? [] : this.#groups({ groupBy: [], keyId, part: 'call' }, ranges),
    ])
    if (calls !== undefined) rows.calls.addList(calls.sums)
    if (groupBy.includes('key')) await this.#nameKeys(rows, groups, groupBy.indexOf('key'))
    for (const { values, date, sums } of groups) {
      rows.setDate(date)
      rows.sumsOf(rows.share(values)).addList(sums)
    }
    return { ...rows.finish(), ...period }
  }

  /** Works like DaySeries. */
  async series(days: number): Promise<UsageSeries> {
    const series = new DaySeries(days, this.#clock.now())
    const { range } = series
    const { values, add } = parameters()
    const period = range.kind === 'day' ? 'u.day' : 'u.hour'
    const rows = await this.#queries.rows<{ period: number; sums: Sums }>(
      `select ${period} as period, ${SUMS} as sums from (${sourceOf([range], add)}) u
       join combination c on c.id = u.combination where c.part = 'call' group by 1`,
      values,
    )
    for (const row of rows) series.sumsOf(row.period).addList(row.sums)
    return series.finish(0)
  }

  /** Returns the last minutes, the current one included. */
  async read(nowMs: Milliseconds, count: number): Promise<UsageSeries> {
    const first = Math.floor(nowMs / MINUTE_MS) - count + 1
    const rows = await this.#queries.rows<{ minute: number; sums: Sums }>(
      `select minute, ${SUMS} as sums from usage_minute u where minute >= $1 and minute < $2 group by 1`,
      [first, first + count],
    )
    const steps = Array.from({ length: count }, () => new CallSums())
    for (const { minute, sums } of rows) steps[minute - first]!.addList(sums)
    return usageSeries(MINUTE_SECONDS, first, steps.map(stepOf))
  }

  #groups({ groupBy, keyId, part }: Grouping, ranges: readonly PeriodRange[]): Promise<GroupRow[]> {
    if (ranges.length === 0) return Promise.resolve([])
    const { values, add } = parameters()
    const fields = groupBy.map((field) => columnOf(field, add))
    const characters = dateCharacters(groupBy)
    const date =
      characters === 0
        ? "''"
        : `left(to_char(timestamp 'epoch' + u.day * interval '1 day', 'YYYY-MM-DD'), ${characters})`
    const names = fields.map((_, index) => `f${index}`)
    const columns = fields.map((field, index) => `${field} as f${index}`)
    // Grouped by columns, whose comparison costs less than that of arrays.
    return this.#queries.rows(
      `select array[${names.join(', ')}]::text[] as values, date, sums from (
         select ${[...columns, `${date} as date`, `${SUMS} as sums`].join(', ')}
         from (${sourceOf(ranges, add)}) u join combination c on c.id = u.combination
         where c.part = ${add(part)}${keyId === null ? '' : ` and c.key_id = ${add(storableText(keyId))}`}
         group by ${[...names, 'date'].join(', ')}
         limit ${MAXIMUM_REPORT_ROWS + 1}) g`,
      values,
    )
  }

  async #nameKeys(rows: ReportRows, groups: readonly GroupRow[], at: number): Promise<void> {
    const keys = [...new Set(groups.map(({ values }) => values[at]!))]
    const named = await this.#queries.rows<{ id: number; key_id: string; key_name: string }>(
      `select n.id, k.key_id, n.key_name from unnest($1::text[]) as k(key_id)
       cross join lateral (
         select id, key_name from combination c where c.key_id = k.key_id order by id desc limit 1) n`,
      [keys],
    )
    for (const { id, key_id: key, key_name: name } of named) rows.nameKey(key, name, id)
  }
}

function columnOf(field: GroupField, add: (value: unknown) => string): string {
  const label = labelOf(field)
  if (label !== null) return `c.labels ->> ${add(storableText(label))}::text`
  return isTimeField(field) ? "''::text" : `c.${COLUMNS[field as keyof typeof COLUMNS]}`
}

/** Returns the statement that reads the sums of disjoint ranges that reports show. */
function sourceOf(ranges: readonly PeriodRange[], add: (value: unknown) => string): string {
  const hours = ({ first, end }: Omit<PeriodRange, 'kind'>, more = '') =>
    `select u.hour, u.hour / ${HOURS_OF_DAY} as day, u.combination, u.sums from usage_hour u
     where ${VISIBLE} and u.hour >= ${add(first)} and u.hour < ${add(end)}${more}`
  return ranges
    .flatMap(({ kind, first, end }) =>
      kind === 'hour'
        ? [hours({ first, end })]
        : [
            `select null::integer, u.day, u.combination, u.sums from usage_day u
             where ${VISIBLE} and u.day >= ${add(first)} and u.day < ${add(end)}`,
            // What no day has yet.
            hours({ first: first * HOURS_OF_DAY, end: end * HOURS_OF_DAY }, ' and u.slot > 0'),
          ],
    )
    .join(' union all ')
}

const VISIBLE = 'u.generation = any ((select visible from rollup_state)::integer[])'
