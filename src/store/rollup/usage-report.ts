// Reports the usage of a period by grouping fields, from the rollups of a store.

import type { Milliseconds } from '../../core/clock.ts'
import { partOfReport } from '../../usage/combination.ts'
import { dayOfHour, hourOf } from '../../usage/periods.ts'
import { planReport, type UsageReport } from '../../usage/report-plan.ts'
import type { UsageReportQuery } from '../../usage/report-query.ts'
import type { Environment } from '../environment/journaled.ts'
import { readFirstHour } from './call-rollup.ts'
import type { StoredPart } from './counted-parts.ts'
import { readPeriods } from './period-reading.ts'
import { ReportGroups } from './report-groups.ts'

/**
 * A call that is sealed meanwhile may be left out.
 * @throws GatewayError `invalid_parameter` (rejects) for an empty period, or more rows than
 * MAXIMUM_REPORT_ROWS
 */
export async function reportUsage(
  environment: Environment,
  query: UsageReportQuery,
  nowMs: Milliseconds,
): Promise<UsageReport> {
  environment.refresh()
  const { tables } = environment
  const { groupBy, keyId = null } = query
  const first = (part: StoredPart | 'refused') => readFirstHour(tables, part) ?? hourOf(nowMs) + 1
  const begin = { all: first(partOfReport(groupBy) as StoredPart), refused: first('refused') }
  const { ranges, period } = planReport(query, begin, nowMs)
  const groups = new ReportGroups(tables, groupBy, keyId)
  await readPeriods(environment, ranges, {
    setPeriod: (kind, number) => groups.setDay(kind === 'day' ? number : dayOfHour(number)),
    sumsOf: (combination) => groups.sumsOf(combination),
  })
  return { ...groups.finish(), ...period }
}
