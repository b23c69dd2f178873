// The filters of the log. They are in the address of the page, so that a view can be bookmarked.

import { go } from '../place.ts'
import { useResource } from '../resource.ts'
import { LOG_FILTERS, logHref } from '../usage-entry.ts'

const OUTCOMES = [
  'ok',
  'blocked',
  'rate_limited',
  'invalid_request',
  'upstream_error',
  'client_aborted',
  'interrupted',
  'overloaded',
] as const

interface KeyNames {
  readonly keys: readonly { readonly id: string; readonly name: string; readonly state: string }[]
}

/** The value of a `datetime-local` field for a time of the API, and back. */
const toField = (iso: string | undefined): string => {
  if (iso === undefined || iso === '') return ''
  const time = new Date(iso)
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}
const fromField = (value: string): string => (value === '' ? '' : new Date(value).toISOString())

export function LogFilters({ filters }: { readonly filters: Readonly<Record<string, string>> }) {
  const { data } = useResource<KeyNames>('/keys')
  const apply = (event: Event) => {
    event.preventDefault()
    const fields = new FormData(event.currentTarget as HTMLFormElement)
    const value = (name: string) => String(fields.get(name) ?? '').trim()
    const next = Object.fromEntries(LOG_FILTERS.map((name) => [name, value(name)]))
    go(logHref({ ...next, since: fromField(value('since')), until: fromField(value('until')) }))
  }
  const choice = (name: string, values: readonly (readonly [string, string])[]) => (
    <select name={name} value={filters[name] ?? ''}>
      <option value="">any</option>
      {values.map(([value, title]) => (
        <option key={value} value={value}>
          {title}
        </option>
      ))}
    </select>
  )
  const yesOrNo = [
    ['true', 'yes'],
    ['false', 'no'],
  ] as const
  return (
    <form class="filters" key={JSON.stringify(filters)} onSubmit={apply} aria-label="Filters">
      <label>
        Key
        {choice('key_id', data?.keys.map(({ id, name }) => [id, name] as const) ?? [])}
      </label>
      <label>
        Model
        <input name="model" value={filters['model']} />
      </label>
      <label>
        Outcome
        {choice(
          'outcome',
          OUTCOMES.map((one) => [one, one.replace('_', ' ')] as const),
        )}
      </label>
      <label>
        Blocked
        {choice('blocked', yesOrNo)}
      </label>
      <label>
        Personal data
        {choice('pii_detected', yesOrNo)}
      </label>
      <label>
        User
        <input name="user" value={filters['user']} />
      </label>
      <label>
        From
        <input name="since" type="datetime-local" step="1" value={toField(filters['since'])} />
      </label>
      <label>
        To
        <input name="until" type="datetime-local" step="1" value={toField(filters['until'])} />
      </label>
      <button type="submit" class="primary">
        Filter
      </button>
      <a class="button" href="/console/log">
        Clear
      </a>
    </form>
  )
}
