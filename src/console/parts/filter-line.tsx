// Filters on one line: those in force, each with a button that removes it, and a field for one
// more. They are in the address of the page, so that a view can be bookmarked.

import { useContext, useState } from 'preact/hooks'
import { visible } from '../../core/hidden-characters.ts'
import type { ApiKey, KeyList, ReportAnswer } from '../api-key.ts'
import { fromField, showTime, toField } from '../dates.ts'
import { callApi, withQuery } from '../gateway-api.ts'
import { PII_KINDS } from '../gateway-facts.ts'
import { FILTER_FIELDS, type FilterField, type Filters } from '../log-address.ts'
import type { RuleList } from '../policy-rule.ts'
import { useResource } from '../resource.ts'
import { ServedContext } from '../served.ts'
import { useZone } from '../zone.ts'
import { Select } from './select.tsx'
import { Inert } from './text.tsx'

/** Suggestions of one field. */
const MAXIMUM_SUGGESTIONS = 100
const REQUEST_ID: FilterField = { name: 'entry', title: 'Request id', form: 'text' }

const CHOICES: Readonly<Record<string, readonly string[]>> = {
  outcome: [
    ...['ok', 'blocked', 'rate_limited', 'invalid_request', 'upstream_error', 'client_aborted'],
    ...['interrupted', 'overloaded'],
  ],
  stopped: ['refused', 'blocked'],
  direction: ['request', 'response'],
}
const YES_OR_NO = ['true', 'false']
const WORDS: Readonly<Record<string, string>> = { true: 'yes', false: 'no' }
const wordOf = (value: string): string => WORDS[value] ?? value.replaceAll('_', ' ').replaceAll(',', ', ')

interface FilterLineProps {
  readonly filters: Filters
  /** Names of the filters that can be added; all by default. */
  readonly names?: readonly string[]
  readonly onChange: (filters: Filters) => void
  /** Opens a call by its id. */
  readonly onOpen?: (id: string) => void
}

export function FilterLine({ filters, names, onChange, onOpen }: FilterLineProps) {
  const serves = useContext(ServedContext)
  const fields = [
    ...FILTER_FIELDS.filter(
      ({ name, needs = null }) =>
        (names?.includes(name) ?? true) && (needs === null || serves.includes(needs)),
    ),
    ...(onOpen === undefined ? [] : [REQUEST_ID]),
  ]
  const without = (name: string) =>
    Object.fromEntries(Object.entries(filters).filter(([one]) => one !== name))
  const add = (name: string, value: string) => {
    if (name === REQUEST_ID.name) onOpen?.(value)
    else onChange({ ...filters, [name]: value })
  }
  return (
    <div class="filter-line">
      <AddFilter fields={fields} filters={filters} onAdd={add} />
      {FILTER_FIELDS.filter(({ name }) => filters[name] !== undefined).map((field) => (
        <span key={field.name} class="tag chip">
          {field.title}: <FilterValue field={field} value={filters[field.name]!} />
          <button
            type="button"
            aria-label={`Remove the filter ${field.title}`}
            onClick={() => onChange(without(field.name))}
          >
            ×
          </button>
        </span>
      ))}
      {Object.keys(filters).length > 1 ? (
        <button type="button" onClick={() => onChange({})}>
          Clear
        </button>
      ) : null}
    </div>
  )
}

function FilterValue({ field, value }: { readonly field: FilterField; readonly value: string }) {
  const zone = useZone()
  if (field.form === 'key') return <KeyName id={value} />
  if (field.form === 'time' && !Number.isNaN(Date.parse(value)))
    return <>{showTime(Date.parse(value), zone)}</>
  return <Inert text={field.form === 'choice' ? wordOf(value) : value} />
}

function KeyName({ id }: { readonly id: string }) {
  const { data } = useResource<ApiKey>(`/keys/${encodeURIComponent(id)}`)
  return <Inert text={data?.name ?? id} />
}

interface AddFilterProps {
  readonly fields: readonly FilterField[]
  readonly filters: Filters
  readonly onAdd: (name: string, value: string) => void
}

function AddFilter({ fields, filters, onAdd }: AddFilterProps) {
  const zone = useZone()
  const [name, setName] = useState<string>(fields[0]!.name)
  const [value, setValue] = useState('')
  const [failure, setFailure] = useState<string | null>(null)
  const field = fields.find((one) => one.name === name)!
  const choose = (next: string) => {
    const { form } = fields.find((one) => one.name === next)!
    setName(next)
    setValue(
      form === 'choice'
        ? (CHOICES[next] ?? YES_OR_NO)[0]!
        : form === 'time'
          ? toField(filters[next], zone)
          : '',
    )
    setFailure(null)
  }
  const submit = async (event: Event) => {
    event.preventDefault()
    setFailure(null)
    const text = value.trim()
    try {
      const sent =
        field.form === 'time' ? fromField(text, zone) : field.form === 'key' ? await keyIdOf(text) : text
      if (sent === '') return
      if (field.form !== 'choice') setValue('')
      onAdd(name, sent)
    } catch (error) {
      setFailure((error as Error).message)
    }
  }
  return (
    <form class="add-filter" onSubmit={submit} aria-label="Filters">
      <Select
        title="Filter by"
        options={fields.map((one) => ({ value: one.name, title: one.title }))}
        value={name}
        onSelect={choose}
      />
      {field.form === 'choice' ? (
        <Select
          title={field.title}
          options={(CHOICES[name] ?? YES_OR_NO).map((one) => ({ value: one, title: wordOf(one) }))}
          value={value}
          onSelect={setValue}
        />
      ) : (
        <input
          aria-label={field.title}
          type={field.form === 'time' ? 'datetime-local' : 'text'}
          step={field.form === 'time' ? '1' : undefined}
          required
          list="filter-values"
          placeholder={name === 'label' ? 'team=search' : undefined}
          value={value}
          onInput={(event) => setValue(event.currentTarget.value)}
        />
      )}
      <Suggestions name={name} typed={value} />
      <button type="submit">Add filter</button>
      {failure === null ? null : (
        <span class="failure" role="alert">
          <Inert text={failure} />
        </span>
      )}
    </form>
  )
}

/** @throws Error (rejects) when no key has the name */
async function keyIdOf(text: string): Promise<string> {
  const { keys } = await callApi<KeyList>(withQuery('/keys', { q: text, limit: MAXIMUM_SUGGESTIONS }))
  const found =
    keys.find(({ id, name }) => id === text || name === text) ?? (keys.length === 1 ? keys[0] : undefined)
  if (found !== undefined) return found.id
  throw new Error(keys.length === 0 ? 'No key has this name.' : 'Several keys match; type the whole name.')
}

interface StatusUpstreams {
  /** A hub has none. */
  readonly upstreams?: readonly { readonly name: string }[]
}

interface FleetSidecars {
  readonly sidecars: readonly { readonly name: string }[]
}

/** Values that a field can have, from what the gateway knows. */
function Suggestions({ name, typed }: { readonly name: string; readonly typed: string }) {
  const only = (wanted: string, path: string) => (name === wanted ? path : null)
  const keys = useResource<KeyList>(
    name === 'label' ? '/keys?limit=200' : only('key_id', withQuery('/keys', { q: typed, limit: 20 })),
  )
  const models = useResource<ReportAnswer>(only('model', '/usage/report?group_by=model'))
  const tools = useResource<ReportAnswer>(only('tool', '/usage/report?group_by=tool'))
  const rules = useResource<RuleList>(only('rule', '/rules'))
  const fleet = useResource<FleetSidecars>(only('sidecar', '/fleet'))
  const status = useResource<StatusUpstreams>(only('upstream', '/status'))
  const values: Readonly<Record<string, readonly string[] | undefined>> = {
    key_id: keys.data?.keys.map((key) => key.name),
    label: keys.data?.keys.flatMap(({ labels }) => Object.entries(labels).map((one) => one.join('='))),
    model: models.data?.rows.map((row) => String(row['model'])),
    tool: tools.data?.rows.map((row) => String(row['tool'])),
    kind: PII_KINDS,
    rule: rules.data?.rules.map((rule) => rule.name),
    sidecar: fleet.data?.sidecars.map((sidecar) => sidecar.name),
    upstream: status.data?.upstreams?.map((upstream) => upstream.name),
  }
  return (
    <datalist id="filter-values">
      {[...new Set(values[name])].slice(0, MAXIMUM_SUGGESTIONS).map((one) => (
        <option key={one} value={visible(one)} />
      ))}
    </datalist>
  )
}
