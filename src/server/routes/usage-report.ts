// The usage report over REST.

import type { Clock } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import { GROUP_FIELDS_ALLOWED, readGroupFields, startOfMonth } from '../../store/rollup/report-query.ts'
import { reportCsv } from '../../store/rollup/report-table.ts'
import type { Rollups } from '../../store/rollup/rollups.ts'
import { type ApiRoute, ok } from '../api.ts'
import { QueryString } from '../query-string.ts'

const PARAMETERS = ['group_by', 'since', 'until', 'format']
const CSV_TYPE = 'text/csv; charset=utf-8; header=present'

export const usageReportRoute = (rollups: Rollups, clock: Clock): ApiRoute => ({
  method: 'GET',
  path: '/api/v1/usage/report',
  access: 'viewer',
  async answer(request) {
    const query = new QueryString(request.search, PARAMETERS)
    const groupBy = readGroupFields(query.text('group_by') ?? 'key')
    if (groupBy === null)
      throw new GatewayError('invalid_parameter', `group_by must be a list of ${GROUP_FIELDS_ALLOWED}.`, {
        param: 'group_by',
      })
    const format = query.text('format') ?? 'json'
    if (format !== 'json' && format !== 'csv')
      throw new GatewayError('invalid_parameter', 'format must be json or csv.', { param: 'format' })
    const nowMs = clock.now()
    const sinceMs = query.time('since') ?? startOfMonth(nowMs)
    const untilMs = query.endTime('until') ?? nowMs
    const report = await rollups.report({ groupBy, sinceMs, untilMs })
    if (format === 'json') return ok(report)
    return { status: 200, body: null, text: { type: CSV_TYPE, content: reportCsv(report, groupBy) } }
  },
})
