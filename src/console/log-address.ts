// The filters of the log, and the addresses of the log with them.

import { withQuery } from './gateway-api.ts'
import { BASE } from './place.ts'

/** Parameters of the log that the page keeps in its address, as the API names them. */
export const LOG_FILTERS = [
  'key_id',
  'model',
  'outcome',
  'tool',
  'run',
  'blocked',
  'pii_detected',
  'user',
  'since',
  'until',
] as const
export type LogFilter = (typeof LOG_FILTERS)[number]

/** Returns the filter of the calls in a period. @param begin seconds since 1970 */
export const periodFilter = (begin: number, lengthSeconds: number) => ({
  since: new Date(begin * 1000).toISOString(),
  until: new Date((begin + lengthSeconds) * 1000).toISOString(),
})

/** Returns the address of the log with a filter. */
export const logHref = (filters: Partial<Record<LogFilter, string>>): string =>
  withQuery(`${BASE}log`, { ...filters })
