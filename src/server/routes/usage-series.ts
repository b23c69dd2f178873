// Usage over time over REST: the last hours by minute from memory, the last days from rollups.

import type { Clock } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import { bounded } from '../../core/schema-builders.ts'
import type { UsageMinutes } from '../../metrics/usage-minutes.ts'
import type { Rollups } from '../../store/rollup/rollups.ts'
import { type ApiRoute, ok } from '../api.ts'
import { operation } from '../openapi/operation-builders.ts'
import { QueryString } from '../query-string.ts'

const MAXIMUM_HOURS = 24
const MINUTES_OF_HOUR = 60
const MAXIMUM_DAYS = 365

export const usageSeriesRoute = (
  minutes: Pick<UsageMinutes, 'read'>,
  rollups: Pick<Rollups, 'series'>,
  clock: Clock,
): ApiRoute => ({
  method: 'GET',
  path: '/api/v1/usage/series',
  access: 'viewer',
  operation: operation(
    'Returns usage over time: the last hours minute by minute, as this process saw them, or the last days hour by hour (up to 7) or day by day.',
    {
      answer: 'UsageSeries',
      query: { hours: bounded(1, 24, 1), days: bounded(1, 365) },
      errors: [400],
    },
  ),
  async answer({ search }) {
    const query = new QueryString(search, ['hours', 'days'])
    const hours = query.integer('hours', 1, 1, MAXIMUM_HOURS)
    const days = query.integer('days', 1, 1, MAXIMUM_DAYS)
    if (query.text('days') === null) return ok(minutes.read(clock.now(), hours * MINUTES_OF_HOUR))
    if (query.text('hours') === null) return ok(await rollups.series(days))
    throw new GatewayError('invalid_parameter', 'Give either hours or days, not both.', { param: 'days' })
  },
})
