// Usage over time over REST: the last hours by minute from memory, the last days from rollups.

import type { Clock, Milliseconds } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import { bounded } from '../../core/schema-builders.ts'
import type { UsageSeries } from '../../core/usage-series.ts'
import { type ApiRoute, ok } from '../api.ts'
import { operation } from '../openapi/operation-builders.ts'
import { QueryString } from '../query-string.ts'

const MAXIMUM_HOURS = 24
const MINUTES_OF_HOUR = 60
const MAXIMUM_DAYS = 365

/** The last hours minute by minute. */
interface Minutes {
  read(nowMs: Milliseconds, count: number): Promise<UsageSeries> | UsageSeries
}

/** The last days. */
interface Days {
  series(days: number): Promise<UsageSeries>
}

/** What differs between a gateway and a hub. */
interface SeriesForm {
  readonly summary: string
  /** Statuses of errors besides those of both. */
  readonly errors: readonly number[]
}

const OF_GATEWAY: SeriesForm = {
  summary:
    'Returns usage over time: the last hours minute by minute, as this process saw them, or the last days hour by hour (up to 7) or day by day.',
  errors: [],
}

export const usageSeriesRoute = (
  minutes: Minutes,
  days: Days,
  clock: Clock,
  { summary, errors } = OF_GATEWAY,
): ApiRoute => ({
  method: 'GET',
  path: '/api/v1/usage/series',
  access: 'viewer',
  operation: operation(summary, {
    answer: 'UsageSeries',
    query: { hours: bounded(1, 24, 1), days: bounded(1, 365) },
    errors: [400, ...errors],
  }),
  async answer({ search }) {
    const query = new QueryString(search, ['hours', 'days'])
    const hours = query.integer('hours', 1, 1, MAXIMUM_HOURS)
    const count = query.integer('days', 1, 1, MAXIMUM_DAYS)
    if (query.text('days') === null) return ok(await minutes.read(clock.now(), hours * MINUTES_OF_HOUR))
    if (query.text('hours') === null) return ok(await days.series(count))
    throw new GatewayError('invalid_parameter', 'Give either hours or days, not both.', { param: 'days' })
  },
})
