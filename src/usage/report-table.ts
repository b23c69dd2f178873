// A usage report as a table: its columns, and its rows as CSV.

import { type CsvCell, csvLine } from '../core/csv.ts'
import { isoTime } from '../core/time.ts'
import { SHOWN_SUMS } from './call-sums.ts'
import type { UsageReport } from './report-plan.ts'
import { type GroupField, startOfMonth } from './report-query.ts'
import { COST_PER_REQUEST } from './report-rows.ts'

/** Returns the columns of the grouping fields, then those of the sums. */
export const reportColumns = (
  groupBy: readonly GroupField[],
): { readonly fields: readonly string[]; readonly sums: readonly string[] } => ({
  fields: groupBy.flatMap((field) => (field === 'key' ? ['key', 'key_name'] : [field])),
  sums: [...SHOWN_SUMS, COST_PER_REQUEST],
})

/** Characters of `2026-11` and of `2026-11-28`. */
const [MONTH_CHARACTERS, DATE_CHARACTERS] = [7, 10]

/** Returns the name of a file with the report: its month, or the first and the last of its days. */
export function csvName({ since, until }: Pick<UsageReport, 'since' | 'until'>): string {
  const last = isoTime(Date.parse(until) - 1)
  const month = since.slice(0, MONTH_CHARACTERS)
  if (Date.parse(since) === startOfMonth(Date.parse(since)) && last.startsWith(month))
    return `sidegate-usage-${month}.csv`
  return `sidegate-usage-${since.slice(0, DATE_CHARACTERS)}-to-${last.slice(0, DATE_CHARACTERS)}.csv`
}

/** Returns a header line and a line for each row. A null, such as an unknown cost, is empty. */
export function reportCsv({ rows }: UsageReport, groupBy: readonly GroupField[]): string {
  const { fields, sums } = reportColumns(groupBy)
  const columns = [...fields, ...sums]
  return [columns, ...rows.map((row) => columns.map((column) => row[column] as CsvCell))]
    .map(csvLine)
    .join('')
}
