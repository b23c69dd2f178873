// The usage report over REST.

import type { Clock } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import { text, time } from '../../core/schema-builders.ts'
import type { UsageReport } from '../../usage/report-plan.ts'
import {
  GATEWAY_FIELDS,
  type GroupFields,
  readGroupFields,
  startOfMonth,
  type UsageReportQuery,
} from '../../usage/report-query.ts'
import { csvName, reportCsv } from '../../usage/report-table.ts'
import { type ApiRoute, ok } from '../api.ts'
import { operation } from '../openapi/operation-builders.ts'
import { QueryString } from '../query-string.ts'

const PARAMETERS = ['group_by', 'key_id', 'since', 'until', 'format']
const CSV_TYPE = 'text/csv; charset=utf-8; header=present'

/** The sums of a gateway, or of a fleet. */
export interface Reports {
  /** @throws GatewayError (rejects) `invalid_parameter` */
  report(query: UsageReportQuery): Promise<UsageReport>
}

/** What differs between a gateway and a hub. */
interface ReportForm {
  readonly fields: GroupFields
  /** Statuses of errors besides those of both. */
  readonly errors: readonly number[]
}

const OF_GATEWAY: ReportForm = { fields: GATEWAY_FIELDS, errors: [] }

export const usageReportRoute = (
  reports: Reports,
  clock: Clock,
  { fields, errors } = OF_GATEWAY,
): ApiRoute => ({
  method: 'GET',
  path: '/api/v1/usage/report',
  access: 'viewer',
  operation: operation(
    'Sums the usage of a period by fields. With format=csv, returns a table for spreadsheets.',
    {
      answer: 'UsageReport',
      textType: 'text/csv',
      query: {
        group_by: {
          type: 'string',
          default: 'key',
          description: `Fields ${fields.allowed}. A label is one of the key.`,
        },
        key_id: text('Id of a key: sums only its calls.'),
        since: time('Start, rounded down to the hour. By default that of the month, in UTC.'),
        until: time('End, rounded up to the hour; now by default. A date includes its whole day, in UTC.'),
        format: { type: 'string', enum: ['json', 'csv'], default: 'json' },
      },
      errors: [400, ...errors],
    },
  ),
  async answer(request) {
    const query = new QueryString(request.search, PARAMETERS)
    const groupBy = readGroupFields(query.text('group_by') ?? 'key', fields)
    if (groupBy === null)
      throw new GatewayError('invalid_parameter', `group_by must be a list of ${fields.allowed}.`, {
        param: 'group_by',
      })
    const format = query.text('format') ?? 'json'
    if (format !== 'json' && format !== 'csv')
      throw new GatewayError('invalid_parameter', 'format must be json or csv.', { param: 'format' })
    const nowMs = clock.now()
    const sinceMs = query.time('since') ?? startOfMonth(nowMs)
    const untilMs = query.endTime('until') ?? nowMs
    const report = await reports.report({ groupBy, keyId: query.text('key_id'), sinceMs, untilMs })
    if (format === 'json') return ok(report)
    const headers = { 'content-disposition': `attachment; filename="${csvName(report)}"` }
    return { status: 200, body: null, headers, text: { type: CSV_TYPE, content: reportCsv(report, groupBy) } }
  },
})
