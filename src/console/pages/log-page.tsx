// The usage log: every call, filtered, with a drawer for one and a live view of the newest.

import { useCallback, useEffect, useMemo, useState } from 'preact/hooks'
import type { UsageView } from '../../audit/entry-fields.ts'
import { showCount, showMs, showUsd } from '../display.ts'
import { type Filters, filtersIn, logHref } from '../log-address.ts'
import { isStoppedByTerms, OutcomeTag, TERMS_OF_KEY } from '../parts/call-table.tsx'
import { ExportButton } from '../parts/export-button.tsx'
import { FilterLine } from '../parts/filter-line.tsx'
import { Inert, Time } from '../parts/text.tsx'
import { type GridColumn, VirtualGrid } from '../parts/virtual-grid.tsx'
import { API, BASE, go, usePlace } from '../place.ts'
import { useServes } from '../served.ts'
import { EntryDrawer } from './entry-drawer.tsx'
import { useLogRows } from './log-rows.ts'

/** Entries that the live view holds. */
const MAXIMUM_LIVE = 500

/** Time until a refused live view is asked for again. */
const RETRY_MS = 5000
const CONNECTED = 'Connected. New calls appear at the top.'

const LOG_COLUMNS: readonly GridColumn<UsageView>[] = [
  { name: 'time', title: 'Time', cell: ({ created_at }) => <Time at={created_at} /> },
  { name: 'key', title: 'Key', cell: ({ key_name }) => <Inert text={key_name} /> },
  { name: 'model', title: 'Model', cell: ({ model }) => <Inert text={model} /> },
  {
    name: 'outcome',
    title: 'Outcome',
    cell: (call) => <OutcomeTag {...call} />,
  },
  { name: 'pii', title: 'Personal data', cell: ({ pii_types }) => pii_types.join(', ') },
  {
    name: 'rules',
    title: 'Rules',
    cell: (call) => {
      const names = call.rules.map(({ name }) => name)
      return <Inert text={[...names, ...(isStoppedByTerms(call) ? [TERMS_OF_KEY] : [])].join(', ')} />
    },
  },
  { name: 'tokens number', title: 'Tokens', cell: ({ total_tokens }) => showCount(total_tokens) },
  { name: 'cost number', title: 'Cost', cell: ({ cost }) => showUsd(cost) },
  { name: 'latency number', title: 'Took', cell: ({ latency_ms }) => showMs(latency_ms) },
]

export function LogPage() {
  const place = usePlace()
  const hasLive = useServes('live-log')
  const isLive = hasLive && place.searchParams.get('live') === '1'
  const opened = place.searchParams.get('entry')
  const filters = useMemo(() => filtersIn(place.searchParams), [place.search])
  const openEntry = useCallback((id: string | null) => {
    const next = new URL(location.href)
    if (id === null) next.searchParams.delete('entry')
    else next.searchParams.set('entry', id)
    go(next.pathname + next.search)
  }, [])
  const openRow = useCallback(({ id }: UsageView) => openEntry(id), [openEntry])
  return (
    <section class="log-page">
      <header class="page-head">
        <h1>Usage log</h1>
        {hasLive ? (
          <a class="button" href={isLive ? logHref(filters) : `${BASE}log?live=1`}>
            {isLive ? 'Stop the live view' : 'Live view'}
          </a>
        ) : null}
      </header>
      {isLive ? (
        <LiveRows onOpen={openRow} />
      ) : (
        <>
          <FilterLine filters={filters} onChange={(next) => go(logHref(next))} onOpen={openEntry} />
          <FilteredRows filters={filters} onOpen={openRow} />
        </>
      )}
      {opened === null ? null : <EntryDrawer key={opened} id={opened} onClose={() => openEntry(null)} />}
    </section>
  )
}

interface FilteredRowsProps {
  readonly filters: Filters
  readonly onOpen: (entry: UsageView) => void
}

function FilteredRows({ filters, onOpen }: FilteredRowsProps) {
  const [openedAt, setOpenedAt] = useState(() => new Date().toISOString())
  // A hub has logs of many sidecars, which no call begins.
  const isPinned = !useServes('fleet')
  const query = new URLSearchParams({ ...(isPinned ? {} : { until: openedAt }), ...filters }).toString()
  const { total, isMore, failure, rowAt, view } = useLogRows(query, openedAt, isPinned)
  return (
    <>
      <p class="muted" role="status">
        {failure !== null ? <span class="failure">{failure}</span> : null}
        {total === null
          ? failure === null
            ? 'Loading…'
            : ''
          : total === 1 && !isMore
            ? '1 call'
            : `${showCount(total)} calls${isMore ? ' or more' : ''}`}{' '}
        <button type="button" onClick={() => setOpenedAt(new Date().toISOString())}>
          Load newer calls
        </button>{' '}
        <ExportButton key={query} filters={filters} />
      </p>
      {total === 0 ? (
        <p class="empty">No call matches. A call appears here once its answer is finished.</p>
      ) : total === null ? null : (
        <VirtualGrid
          key={query + openedAt}
          label="Calls, newest first"
          columns={LOG_COLUMNS}
          total={total}
          rowAt={rowAt}
          onView={view}
          onOpen={onOpen}
        />
      )}
    </>
  )
}

/** The newest calls as they are sealed. */
function LiveRows({ onOpen }: Pick<FilteredRowsProps, 'onOpen'>) {
  const [entries, setEntries] = useState<readonly UsageView[]>([])
  const [state, setState] = useState('Connecting…')
  useEffect(() => {
    let lastId = ''
    let timer = 0
    let source = connect()
    function connect(): EventSource {
      const opened = new EventSource(`${API}/usage/logs/live${lastId === '' ? '' : `?after=${lastId}`}`)
      opened.addEventListener('open', () => setState(CONNECTED))
      opened.addEventListener('error', () => {
        setState('The connection was lost; trying again.')
        // The browser gives up after an answer such as 503.
        if (opened.readyState !== EventSource.CLOSED) return
        timer = window.setTimeout(() => {
          source = connect()
        }, RETRY_MS)
      })
      opened.addEventListener('entry', ({ data, lastEventId }) => {
        lastId = lastEventId
        const entry = JSON.parse(data) as UsageView
        setEntries((held) =>
          // A hub sends calls again to a reader that resumes.
          held.some(({ id }) => id === entry.id) ? held : [entry, ...held].slice(0, MAXIMUM_LIVE),
        )
      })
      opened.addEventListener('gap', ({ data }) => {
        const { missed } = JSON.parse(data) as { missed: number | null }
        const which =
          missed === null ? 'Some calls are not shown' : `${showCount(missed)} calls came too fast to show`
        setState(`${which}; the log has them.`)
      })
      opened.addEventListener('database', ({ data }) => {
        const { available } = JSON.parse(data) as { available: boolean }
        setState(available ? CONNECTED : 'The hub cannot reach its database; calls appear once it can.')
      })
      return opened
    }
    return () => {
      window.clearTimeout(timer)
      source.close()
    }
  }, [])
  const rowAt = useCallback((index: number) => entries[index], [entries])
  const view = useCallback(() => {}, [])
  return (
    <>
      <p class="muted" role="status">
        {state}
      </p>
      {entries.length === 0 ? (
        <p class="empty">Waiting for a call.</p>
      ) : (
        <VirtualGrid
          label="Live calls, newest first"
          columns={LOG_COLUMNS}
          total={entries.length}
          rowAt={rowAt}
          onView={view}
          onOpen={onOpen}
        />
      )}
    </>
  )
}
