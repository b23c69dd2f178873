// The filters of the log, and the addresses of the log with them.

import { withQuery } from './gateway-api.ts'
import { BASE } from './place.ts'

/** How a value of a filter is asked for. */
export type FilterForm = 'text' | 'choice' | 'time' | 'key'

export interface FilterField {
  /** As the API names it. */
  readonly name: string
  readonly title: string
  readonly form: FilterForm
  /** The page or part without whose API there is no such filter. */
  readonly needs?: string
}

const field = (name: string, title: string, form: FilterForm = 'text'): FilterField => ({ name, title, form })

/** The filters that the page keeps in its address. */
export const FILTER_FIELDS: readonly FilterField[] = [
  field('key_id', 'Key', 'key'),
  field('label', 'Label'),
  field('user', 'User'),
  field('model', 'Model'),
  field('upstream', 'Upstream'),
  field('rule', 'Rule'),
  field('stopped', 'Stopped', 'choice'),
  field('outcome', 'Outcome', 'choice'),
  field('kind', 'Personal data of kind'),
  field('direction', 'Found in', 'choice'),
  field('tool', 'Tool'),
  field('run', 'Run'),
  { ...field('sidecar', 'Sidecar'), needs: 'fleet' },
  field('blocked', 'Blocked', 'choice'),
  field('pii_detected', 'Any personal data', 'choice'),
  field('events', 'With a security event', 'choice'),
  field('since', 'From', 'time'),
  field('until', 'To', 'time'),
]

export type Filters = Readonly<Record<string, string>>

/** Reads the filters of an address. */
export function filtersIn(search: URLSearchParams): Filters {
  const entries = FILTER_FIELDS.map(({ name }) => [name, search.get(name) ?? ''])
  return Object.fromEntries(entries.filter(([, value]) => value !== ''))
}

/** Returns the filter of the calls in a period. @param begin seconds since 1970 */
export const periodFilter = (begin: number, lengthSeconds: number) => ({
  since: new Date(begin * 1000).toISOString(),
  until: new Date((begin + lengthSeconds) * 1000).toISOString(),
})

/** Returns the address of the log with filters. */
export const logHref = (filters: Filters): string => withQuery(`${BASE}log`, filters)

/** Returns the address of a call in the log. */
export const entryHref = (id: string): string => withQuery(`${BASE}log`, { entry: id })
