// The filters of the log. They are in the address of the page, so that a view can be bookmarked.

import { LOG_FILTERS, type LogFilter, logHref } from '../log-address.ts'
import { Select, type SelectOption } from '../parts/select.tsx'
import { go } from '../place.ts'
import { useResource } from '../resource.ts'

const OUTCOMES = [
  'ok',
  'blocked',
  'rate_limited',
  'invalid_request',
  'upstream_error',
  'client_aborted',
  'interrupted',
  'overloaded',
].map((value) => ({ value, title: value.replace('_', ' ') }))
const YES_OR_NO = [
  { value: 'true', title: 'yes' },
  { value: 'false', title: 'no' },
]
const ANY = { value: '', title: 'any' }

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
  const choice = (name: LogFilter, options: readonly SelectOption[]) => (
    <Select name={name} value={filters[name] ?? ''} options={[ANY, ...options]} />
  )
  return (
    <form class="filters" key={JSON.stringify(filters)} onSubmit={apply} aria-label="Filters">
      <label>
        Key
        {choice('key_id', data?.keys.map(({ id, name }) => ({ value: id, title: name })) ?? [])}
      </label>
      <label>
        Model
        <input name="model" value={filters['model']} />
      </label>
      <label>
        Outcome
        {choice('outcome', OUTCOMES)}
      </label>
      <label>
        Tool
        <input name="tool" value={filters['tool']} />
      </label>
      <label>
        Run
        <input name="run" value={filters['run']} />
      </label>
      <label>
        Blocked
        {choice('blocked', YES_OR_NO)}
      </label>
      <label>
        Personal data
        {choice('pii_detected', YES_OR_NO)}
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
