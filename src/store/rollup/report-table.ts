// A usage report as a table: its columns, and its rows as CSV.

import { type CsvCell, csvLine } from '../../core/csv.ts'
import { SHOWN_SUMS } from './call-sums.ts'
import { COST_PER_REQUEST } from './report-groups.ts'
import type { GroupField } from './report-query.ts'
import type { UsageReport } from './usage-report.ts'

/** Returns the columns of the grouping fields, then those of the sums. */
export const reportColumns = (
  groupBy: readonly GroupField[],
): { readonly fields: readonly string[]; readonly sums: readonly string[] } => ({
  fields: groupBy.flatMap((field) => (field === 'key' ? ['key', 'key_name'] : [field])),
  sums: [...SHOWN_SUMS, COST_PER_REQUEST],
})

/** Returns a header line and a line for each row. A null, such as an unknown cost, is empty. */
export function reportCsv({ rows }: UsageReport, groupBy: readonly GroupField[]): string {
  const { fields, sums } = reportColumns(groupBy)
  const columns = [...fields, ...sums]
  return [columns, ...rows.map((row) => columns.map((column) => row[column] as CsvCell))]
    .map(csvLine)
    .join('')
}
