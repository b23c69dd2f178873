// What the rules stopped and what personal data was found: by day, by cause, and call by call.

import { useMemo, useState } from 'preact/hooks'
import type { UsageView } from '../../audit/entry-fields.ts'
import { visible } from '../../core/hidden-characters.ts'
import { DAY_SECONDS } from '../dates.ts'
import { showCount } from '../display.ts'
import { withQuery } from '../gateway-api.ts'
import { type Filters, filtersIn, periodFilter } from '../log-address.ts'
import { CALL_OUTCOME, CALL_RULES, CALL_TIME } from '../parts/call-table.tsx'
import { Chart, type ChartTime } from '../parts/chart.tsx'
import { DataTable, type TableColumn } from '../parts/data-table.tsx'
import { FilterLine } from '../parts/filter-line.tsx'
import { keyHref } from '../parts/key-parts.tsx'
import { Pager } from '../parts/pager.tsx'
import { Chooser, chosenOf } from '../parts/select.tsx'
import { Inert, LoadState } from '../parts/text.tsx'
import { BASE, go, usePlace } from '../place.ts'
import { useResource } from '../resource.ts'

const PERIODS = ['7', '30', '90', '365'].map((value) => ({ value, title: `Last ${value} days` }))
/** Newest events from which the top lists are counted: the most that one answer can hold. */
const MAXIMUM_EVENTS = 1000
const PAGE_CALLS = 50
const TOP = 8
const FILTERS = ['key_id', 'rule', 'kind', 'direction', 'stopped', 'outcome', 'sidecar', 'since', 'until']

interface SecurityEvent {
  readonly type: string
  readonly rule_name: string | null
  readonly pii_types: readonly string[]
  readonly key_id: string
  readonly key_name: string
}

type EventCounts = Readonly<
  Record<'blocked_requests' | 'refused_requests' | 'pii_detections' | 'rule_triggers', number>
>

/** An answer of `GET /api/v1/usage/security`. */
interface SecurityReport {
  readonly since: string
  readonly totals: EventCounts
  readonly by_day: readonly (EventCounts & { readonly date: string })[]
  readonly events: readonly SecurityEvent[]
  readonly total: number
}

export function SecurityPage() {
  const place = usePlace()
  const days = chosenOf(PERIODS, place.searchParams.get('days'))
  const filters = useMemo(() => {
    const found = Object.entries(filtersIn(place.searchParams))
    return Object.fromEntries(found.filter(([name]) => FILTERS.includes(name)))
  }, [place.search])
  const report = useResource<SecurityReport>(`/usage/security?days=${days}&limit=${MAXIMUM_EVENTS}`)
  const open = (change: Filters, period: string = days) =>
    go(withQuery(`${BASE}security`, { ...change, days: period }))
  const { data } = report
  return (
    <>
      <header class="page-head">
        <h1>Security</h1>
        <Chooser label="Period" options={PERIODS} value={days} onSelect={(next) => open(filters, next)} />
      </header>
      <LoadState resource={report}>
        {data === null ? null : (
          <>
            <Timeline report={data} onOpen={(filter) => open({ ...filters, ...filter })} />
            <Causes report={data} onOpen={(filter) => open({ ...filters, ...filter })} />
            <h2>Calls with events</h2>
            <FilterLine filters={filters} names={FILTERS} onChange={(next) => open(next)} />
            <Calls key={days + JSON.stringify(filters)} since={data.since} filters={filters} />
          </>
        )}
      </LoadState>
    </>
  )
}

interface PartProps {
  readonly report: SecurityReport
  /** Narrows the list of calls. */
  readonly onOpen: (filter: Filters) => void
}

function Timeline({ report: { totals, by_day }, onOpen }: PartProps) {
  const times = useMemo(() => by_day.map(({ date }) => Date.parse(date) / 1000), [by_day])
  const time: ChartTime = {
    since: times[0] ?? 0,
    until: (times.at(-1) ?? 0) + DAY_SECONDS,
    stepSeconds: DAY_SECONDS,
  }
  const chart = (title: string, label: string, name: keyof EventCounts, filter: Filters) => (
    <Chart
      title={`${title}: ${showCount(totals[name])}`}
      {...{ label, time, times }}
      values={by_day.map((day) => day[name])}
      onOpen={(index) => onOpen({ ...filter, ...periodFilter(times[index]!, DAY_SECONDS) })}
    />
  )
  return (
    <div class="charts four">
      {chart('Blocked for content', 'blocked', 'blocked_requests', { stopped: 'blocked' })}
      {chart('Refused by limits, models, tools', 'refused', 'refused_requests', { stopped: 'refused' })}
      {chart('Personal data found', 'found', 'pii_detections', {})}
      {chart('Rules fired', 'fired', 'rule_triggers', {})}
    </div>
  )
}

/** A name with how often it occurs, and the filter of its calls. */
interface Cause {
  readonly name: string
  readonly filter: Filters
}

function Causes({ report: { events, total }, onOpen }: PartProps) {
  const rules = events
    .filter(({ type, rule_name }) => type === 'rule_trigger' && rule_name !== null)
    .map(({ rule_name }) => ({ name: rule_name!, filter: { rule: rule_name! } }))
  const kinds = events
    .filter(({ type }) => type === 'pii_detection')
    .flatMap(({ pii_types }) => pii_types.map((kind) => ({ name: kind, filter: { kind } })))
  const keys = events
    .filter(({ type }) => type !== 'rule_trigger')
    .map(({ key_id, key_name }) => ({ name: key_name, filter: { key_id } }))
  return (
    <>
      <div class="cards">
        <TopList title="Rules that fired" causes={rules} onOpen={onOpen} />
        <TopList title="Keys with events" causes={keys} onOpen={onOpen} />
        <TopList title="Kinds of personal data" causes={kinds} onOpen={onOpen} />
      </div>
      <p class="muted">
        {total > events.length
          ? `The lists count the newest ${showCount(events.length)} of ${showCount(total)} events.`
          : `The lists count all ${showCount(total)} events.`}
      </p>
    </>
  )
}

interface CallsAnswer {
  readonly logs: readonly UsageView[]
  readonly total: number
  readonly total_is_lower_bound?: true
  readonly next_cursor?: string
}

/** @param since start of the period, unless the filters have another */
function Calls({ since, filters }: { readonly since: string; readonly filters: Filters }) {
  const [cursors, setCursors] = useState<readonly string[]>([])
  const [until] = useState(() => new Date().toISOString())
  const query = {
    since,
    until,
    ...filters,
    events: 'true',
    limit: PAGE_CALLS,
    cursor: cursors.at(-1) ?? null,
  }
  const page = useResource<CallsAnswer>(withQuery('/usage/logs', query))
  const { data } = page
  const next = data?.next_cursor
  return (
    <LoadState resource={page}>
      {data === null ? null : data.logs.length === 0 ? (
        <p class="empty">No call with an event matches.</p>
      ) : (
        <>
          <Pager
            shown={data.logs.length}
            before={cursors.length * PAGE_CALLS}
            total={data.total}
            unit={data.total_is_lower_bound === true ? 'calls or more' : 'calls'}
            onBack={cursors.length === 0 ? null : () => setCursors(cursors.slice(0, -1))}
            onNext={next === undefined ? null : () => setCursors([...cursors, next])}
          />
          <DataTable label="Calls with events" columns={COLUMNS} rows={data.logs} keyOf={({ id }) => id} />
        </>
      )}
    </LoadState>
  )
}

const COLUMNS: readonly TableColumn<UsageView>[] = [
  CALL_TIME,
  CALL_OUTCOME,
  {
    title: 'Key',
    cell: ({ key_id, key_name }) => (
      <a href={keyHref(key_id)}>
        <Inert text={key_name} />
      </a>
    ),
  },
  { title: 'Model', cell: ({ model }) => <Inert text={model} /> },
  { title: 'Personal data', cell: ({ pii_types }) => <Inert text={pii_types.join(', ')} /> },
  CALL_RULES,
]

interface TopListProps extends Pick<PartProps, 'onOpen'> {
  readonly title: string
  readonly causes: readonly Cause[]
}

/** How many names occur, and those that occur most, with bars. */
function TopList({ title, causes, onOpen }: TopListProps) {
  const counts = new Map<string, Cause & { readonly count: number }>()
  for (const cause of causes) {
    const id = JSON.stringify(cause.filter)
    counts.set(id, { ...cause, count: (counts.get(id)?.count ?? 0) + 1 })
  }
  const top = [...counts].sort(([, one], [, other]) => other.count - one.count).slice(0, TOP)
  const most = top[0]?.[1].count ?? 1
  return (
    <section class="card" aria-label={title}>
      <h2>{top.length === 0 ? title : `${title}: ${showCount(counts.size)}`}</h2>
      {top.length === 0 ? <p class="empty">None.</p> : null}
      <ul class="bars">
        {top.map(([id, { name, filter, count }]) => (
          <li key={id}>
            <button type="button" class="plain" onClick={() => onOpen(filter)}>
              <Inert text={name} />
            </button>
            <progress aria-label={visible(name)} max={most} value={count} />
            <span class="number">{showCount(count)}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}
