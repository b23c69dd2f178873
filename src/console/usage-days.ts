// The sums of a report by day, one for each UTC day of its period.

import type { ReportAnswer, UsageSums } from './api-key.ts'
import { DAY_SECONDS, daysOf } from './dates.ts'

const NONE = { since: '1970-01-01T00:00:00.000Z', until: '1970-01-01T00:00:00.000Z', rows: [] }

/** @param report null while it loads */
export function sumsByDay(report: Pick<ReportAnswer, 'since' | 'until' | 'rows'> | null) {
  const { rows, since, until } = report ?? NONE
  const times = daysOf(Date.parse(since), Date.parse(until))
  const found = new Map<number, UsageSums>(rows.map((row) => [Date.parse(String(row['day'])) / 1000, row]))
  const column = (read: (row: UsageSums) => number | null) =>
    times.map((at) => {
      const row = found.get(at)
      return row === undefined ? 0 : read(row)
    })
  const time = { since: times[0] ?? 0, until: (times.at(-1) ?? 0) + DAY_SECONDS, stepSeconds: DAY_SECONDS }
  return {
    ...{ time, times },
    cost: column(({ cost }) => cost),
    tokens: column(({ total_tokens }) => total_tokens),
    requests: column(({ requests }) => requests),
  }
}
