// The API keys, found by a search and page by page; creates, changes, rotates and revokes them.

import { useState } from 'preact/hooks'
import type { ApiKey, KeyList, ReportAnswer } from '../api-key.ts'
import { showCount, showUsd } from '../display.ts'
import { withQuery } from '../gateway-api.ts'
import { DataTable, type TableColumn } from '../parts/data-table.tsx'
import {
  type KeyAction,
  KeyButtons,
  KeyLabels,
  KeyOrigin,
  KeyRotation,
  keyHref,
} from '../parts/key-parts.tsx'
import { Pager } from '../parts/pager.tsx'
import { Select } from '../parts/select.tsx'
import { Inert, LoadState, Time } from '../parts/text.tsx'
import { BASE, go, usePlace } from '../place.ts'
import { useResource } from '../resource.ts'
import { useMay } from '../signed-in.ts'
import { CreateKeyDialog, KeyActionDialog } from './key-dialogs.tsx'

const REFRESH_MS = 10_000
const PAGE_KEYS = 50

const STATES = [
  { value: '', title: 'any' },
  ...['active', 'expired', 'revoked'].map((value) => ({ value, title: value })),
]
const FILTERS = ['q', 'state', 'label'] as const

type OpenDialog = { readonly kind: KeyAction; readonly apiKey: ApiKey } | { readonly kind: 'create' }

export function KeysPage() {
  const place = usePlace()
  const filters = Object.fromEntries(FILTERS.map((name) => [name, place.searchParams.get(name) ?? '']))
  const filter = JSON.stringify(filters)
  return <FilteredKeys key={filter} filters={filters} />
}

function FilteredKeys({ filters }: { readonly filters: Readonly<Record<string, string>> }) {
  // The cursors of the pages so far; the first page has none.
  const [cursors, setCursors] = useState<readonly string[]>([])
  const query = { ...filters, limit: PAGE_KEYS, cursor: cursors.at(-1) ?? null }
  const list = useResource<KeyList>(withQuery('/keys', query), REFRESH_MS)
  const spent = useResource<ReportAnswer>('/usage/report?group_by=key')
  const mayChange = useMay('editor')
  const [dialog, setDialog] = useState<OpenDialog | null>(null)
  const close = () => {
    setDialog(null)
    list.reload()
  }
  const { data } = list
  const next = data?.next ?? null
  return (
    <>
      <header class="page-head">
        <h1>Keys</h1>
        {mayChange ? (
          <button type="button" class="primary" onClick={() => setDialog({ kind: 'create' })}>
            Create a key
          </button>
        ) : null}
      </header>
      <KeyFilters filters={filters} />
      <LoadState resource={list}>
        {data === null ? null : data.keys.length === 0 ? (
          <p class="empty">
            {FILTERS.some((name) => filters[name] !== '')
              ? 'No key matches.'
              : 'There is no key yet. A service needs one for its calls.'}
          </p>
        ) : (
          <>
            <Pager
              shown={data.keys.length}
              before={cursors.length * PAGE_KEYS}
              total={data.total}
              unit="keys"
              onBack={cursors.length === 0 ? null : () => setCursors(cursors.slice(0, -1))}
              onNext={next === null ? null : () => setCursors([...cursors, next])}
            />
            <DataTable
              label="API keys"
              columns={columnsOf(spent.data, mayChange ? setDialog : null)}
              rows={data.keys}
              keyOf={({ id }) => id}
              isOff={({ state }) => state !== 'active'}
            />
          </>
        )}
      </LoadState>
      {dialog === null ? null : dialog.kind === 'create' ? (
        <CreateKeyDialog onClose={close} />
      ) : (
        <KeyActionDialog {...dialog} onClose={close} />
      )}
    </>
  )
}

function KeyFilters({ filters }: { readonly filters: Readonly<Record<string, string>> }) {
  const apply = (event: Event) => {
    event.preventDefault()
    const fields = new FormData(event.currentTarget as HTMLFormElement)
    const values = FILTERS.map((name) => [name, String(fields.get(name) ?? '').trim()])
    go(withQuery(`${BASE}keys`, Object.fromEntries(values)))
  }
  return (
    <form class="filters" onSubmit={apply} aria-label="Filters">
      <label>
        Search
        <input name="q" type="search" placeholder="name, id, owner, label" value={filters['q']} />
      </label>
      <label>
        State
        <Select name="state" options={STATES} value={filters['state'] ?? ''} />
      </label>
      <label>
        Label
        <input name="label" placeholder="team=search" value={filters['label']} />
      </label>
      <button type="submit">Find</button>
      <a class="button" href={`${BASE}keys`}>
        Clear
      </a>
    </form>
  )
}

function costOf(report: ReportAnswer | null, { id }: ApiKey): string {
  const row = report?.rows.find(({ key }) => key === id)
  if (row === undefined) return report === null ? '…' : showUsd(0)
  return row.cost === null ? `${showCount(row.total_tokens)} tokens, no price` : showUsd(row.cost)
}

/** @param onOpen null for a reader who may change nothing */
const columnsOf = (
  spent: ReportAnswer | null,
  onOpen: ((dialog: OpenDialog) => void) | null,
): readonly TableColumn<ApiKey>[] => [
  {
    title: 'Key',
    cell: (apiKey) => (
      <>
        <strong>
          <a href={keyHref(apiKey.id)}>
            <Inert text={apiKey.name} />
          </a>
        </strong>
        <small>
          <KeyOrigin apiKey={apiKey} />
        </small>
      </>
    ),
  },
  { title: 'Labels', cell: ({ labels }) => <KeyLabels labels={labels} /> },
  {
    title: 'State',
    cell: (apiKey) => (
      <>
        <span class="tag">{apiKey.state}</span>
        <small>
          <KeyRotation apiKey={apiKey} />
        </small>
      </>
    ),
  },
  { title: 'Last used', cell: ({ last_used_at }) => <Time at={last_used_at} /> },
  { title: 'Expires', cell: ({ expires_at }) => (expires_at === null ? 'never' : <Time at={expires_at} />) },
  { title: 'Spent this month', look: 'number', cell: (apiKey) => costOf(spent, apiKey) },
  ...(onOpen === null
    ? []
    : [
        {
          title: 'Change',
          cell: (apiKey: ApiKey) => <KeyButtons apiKey={apiKey} onAct={(kind) => onOpen({ kind, apiKey })} />,
        },
      ]),
]
