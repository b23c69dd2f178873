// The filters of the log. They are in the address of the page, so that a view can be bookmarked.

import { fromField, toField } from '../dates.ts'
import { LOG_FILTERS, type LogFilter, logHref } from '../log-address.ts'
import { Select, type SelectOption } from '../parts/select.tsx'
import { BASE, go } from '../place.ts'
import { useResource } from '../resource.ts'
import { useZone } from '../zone.ts'

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

export function LogFilters({ filters }: { readonly filters: Readonly<Record<string, string>> }) {
  const zone = useZone()
  const { data } = useResource<KeyNames>('/keys?limit=200')
  const apply = (event: Event) => {
    event.preventDefault()
    const fields = new FormData(event.currentTarget as HTMLFormElement)
    const value = (name: string) => String(fields.get(name) ?? '').trim()
    const next = Object.fromEntries(LOG_FILTERS.map((name) => [name, value(name)]))
    go(logHref({ ...next, since: fromField(value('since'), zone), until: fromField(value('until'), zone) }))
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
        <input name="since" type="datetime-local" step="1" value={toField(filters['since'], zone)} />
      </label>
      <label>
        To
        <input name="until" type="datetime-local" step="1" value={toField(filters['until'], zone)} />
      </label>
      <button type="submit" class="primary">
        Filter
      </button>
      <a class="button" href={`${BASE}log`}>
        Clear
      </a>
    </form>
  )
}
