// What was used and what it cost, by any field that calls are counted by, next to the period
// before, and how far budgets and limits are used.

import type { ComponentChildren } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { type KeyList, type LimitsInUse, limitUseOf, type ReportAnswer, type UsageSums } from '../api-key.ts'
import { DAY_MS, DAY_SECONDS, showTime } from '../dates.ts'
import { showCount, showUsd } from '../display.ts'
import { monthOf, periodBefore, showChange } from '../forecast.ts'
import { withQuery } from '../gateway-api.ts'
import { labelsIn } from '../key-draft.ts'
import { type Filters, logHref, periodFilter } from '../log-address.ts'
import { Chart } from '../parts/chart.tsx'
import { DataTable, type TableColumn } from '../parts/data-table.tsx'
import { keyHref } from '../parts/key-parts.tsx'
import { LimitBar } from '../parts/limit-bar.tsx'
import { Pager } from '../parts/pager.tsx'
import { Chooser, chosenOf } from '../parts/select.tsx'
import { Inert, LoadState } from '../parts/text.tsx'
import { API, BASE, go, usePlace } from '../place.ts'
import { useResource } from '../resource.ts'
import { useToday } from '../today.ts'
import { sumsByDay } from '../usage-days.ts'
import { useZone } from '../zone.ts'

const LABEL = 'label:'
const GROUPS = ['key', 'user', 'model', 'api', 'upstream', 'tool', 'run', 'day', 'month'].map((value) => ({
  value,
  title: value === 'api' ? 'API' : value[0]!.toUpperCase() + value.slice(1),
}))
/** What rows of other periods are not compared by. */
const TIMES = ['day', 'month']

const PERIODS = [
  { value: 'month', title: 'This month' },
  { value: 'last-month', title: 'Last month' },
  { value: '1', title: 'Today' },
  { value: '7', title: 'Last 7 days' },
  { value: '30', title: 'Last 30 days' },
  { value: '365', title: 'Last year' },
] as const
const PAGE_ROWS = 100
const SHOWN_LIMITS = 50

/** Whole UTC days, of which the sums of days are; up to now. */
function periodOf(period: string): { readonly sinceMs: number; readonly untilMs: number } {
  const nowMs = Date.now()
  const { startMs } = monthOf(nowMs)
  if (period === 'month') return { sinceMs: startMs, untilMs: nowMs }
  if (period === 'last-month') return { sinceMs: monthOf(startMs - 1).startMs, untilMs: startMs }
  return { sinceMs: (Math.floor(nowMs / DAY_MS) - Number(period) + 1) * DAY_MS, untilMs: nowMs }
}

const queryOf = ({ sinceMs, untilMs }: ReturnType<typeof periodOf>) => ({
  since: new Date(sinceMs).toISOString(),
  until: new Date(untilMs).toISOString(),
})

export function UsagePage() {
  const place = usePlace()
  const keys = useResource<KeyList>('/keys?limit=200')
  const asked = place.searchParams.get('by')
  const labels = [...labelsIn(keys.data?.keys ?? []).keys()].map((name) => LABEL + name)
  const known = asked?.startsWith(LABEL) === true && !labels.includes(asked) ? [asked, ...labels] : labels
  const groups = [
    ...GROUPS,
    ...known.map((value) => ({ value, title: `Label ${value.slice(LABEL.length)}` })),
  ]
  const group = chosenOf(groups, asked)
  const period = chosenOf(PERIODS, place.searchParams.get('period'))
  const isCompared = place.searchParams.get('compare') === '1'
  const today = useToday()
  const shown = useMemo(() => periodOf(period), [period, today])
  const before = periodBefore(shown.sinceMs, shown.untilMs)
  const query = { group_by: group, ...queryOf(shown) }
  const report = useResource<ReportAnswer>(withQuery('/usage/report', query))
  const earlier = useResource<ReportAnswer>(
    isCompared ? withQuery('/usage/report', { group_by: group, ...queryOf(before) }) : null,
  )
  const open = (change: object) =>
    go(withQuery(`${BASE}usage`, { by: group, period, compare: isCompared ? '1' : null, ...change }))
  return (
    <>
      <header class="page-head">
        <h1>Usage & cost</h1>
        <div class="row">
          <Chooser label="By" options={groups} value={group} onSelect={(by) => open({ by })} />
          <Chooser
            label="Period"
            options={PERIODS}
            value={period}
            onSelect={(next) => open({ period: next })}
          />
          <label class="check">
            <input
              type="checkbox"
              checked={isCompared}
              onChange={() => open({ compare: isCompared ? null : '1' })}
            />
            Compare
          </label>
          <a class="button" download="" href={withQuery(`${API}/usage/report`, { ...query, format: 'csv' })}>
            CSV
          </a>
        </div>
      </header>
      <DayCharts query={queryOf(shown)} />
      <LoadState resource={report}>
        {report.data === null ? null : (
          <Report key={group} report={report.data} earlier={earlier.data} group={group} />
        )}
      </LoadState>
      <Budgets />
    </>
  )
}

function DayCharts({ query }: { readonly query: ReturnType<typeof queryOf> }) {
  const days = useResource<ReportAnswer>(withQuery('/usage/report', { group_by: 'day', ...query }))
  const { time, times, cost, tokens } = useMemo(() => sumsByDay(days.data), [days.data])
  const shared = {
    ...{ time, times },
    onOpen: (index: number) => go(logHref(periodFilter(times[index]!, DAY_SECONDS))),
  }
  return (
    <LoadState resource={days}>
      <div class="charts">
        <Chart title="Cost by day" label="cost" unit="usd" values={cost} {...shared} />
        <Chart title="Tokens by day" label="tokens" values={tokens} {...shared} />
      </div>
    </LoadState>
  )
}

function Budgets() {
  const limits = useResource<LimitsInUse>('/usage/limits')
  const uses = limits.data?.limits.map(limitUseOf) ?? []
  return (
    <section aria-labelledby="budgets-title">
      <h2 id="budgets-title">Budgets and limits in use</h2>
      <LoadState resource={limits}>
        {uses.length === 0 ? <p class="empty">No limit has been used yet.</p> : null}
        <div class="cards">
          {uses.slice(0, SHOWN_LIMITS).map((limit) => (
            <div key={`${limit.rule} ${limit.subject} ${limit.window}`} class="card">
              <LimitBar limit={limit} />
            </div>
          ))}
        </div>
        {uses.length > SHOWN_LIMITS ? (
          <p class="muted">
            The {SHOWN_LIMITS} of {showCount(uses.length)} with the highest share are shown.
          </p>
        ) : null}
      </LoadState>
    </section>
  )
}

/** A row, or the total, with its sums in the period before; null without a comparison. */
interface ShownRow {
  readonly name: string | null
  readonly row: UsageSums
  readonly before: UsageSums | null
}

interface ReportProps {
  readonly report: ReportAnswer
  readonly earlier: ReportAnswer | null
  readonly group: string
}

function Report({ report, earlier, group }: ReportProps) {
  const zone = useZone()
  const [first, setFirst] = useState(0)
  const { rows, total, complete } = report
  const nameOf = (row: UsageSums) => String(row[group] ?? '')
  const shown = useMemo(() => {
    const found = new Map(earlier?.rows.map((row) => [nameOf(row), row]))
    return rows.map((row) => ({
      ...{ name: nameOf(row), row },
      before: earlier === null || TIMES.includes(group) ? null : (found.get(nameOf(row)) ?? NOTHING),
    }))
  }, [rows, earlier, group])
  if (total.requests === 0) return <p class="empty">No call in this period.</p>
  if (rows.length === 0) return <p class="empty">No call with a {group} in this period.</p>
  const page = shown.slice(first, first + PAGE_ROWS)
  return (
    <>
      {complete ? null : (
        <p class="muted">The sums of the oldest days of this period are not kept any more.</p>
      )}
      {earlier === null ? null : (
        <p class="muted">
          Compared with {showTime(Date.parse(earlier.since), zone)} to{' '}
          {showTime(Date.parse(earlier.until), zone)}, as long a time.
        </p>
      )}
      {shown.length <= PAGE_ROWS ? null : (
        <Pager
          shown={page.length}
          before={first}
          total={shown.length}
          unit="rows"
          onBack={first === 0 ? null : () => setFirst(first - PAGE_ROWS)}
          onNext={first + PAGE_ROWS >= shown.length ? null : () => setFirst(first + PAGE_ROWS)}
        />
      )}
      <DataTable
        label="Usage report"
        columns={columnsOf(group, { since: report.since, until: report.until })}
        rows={page}
        keyOf={({ name }) => name ?? ''}
        total={{ name: null, row: total, before: earlier?.total ?? null }}
      />
    </>
  )
}

const NOTHING: UsageSums = {
  ...{ requests: 0, blocked: 0, refused: 0, answered: 0, prompt_tokens: 0, completion_tokens: 0 },
  ...{ total_tokens: 0, cost: 0, unpriced_requests: 0 },
  ...{ tool_calls: 0, tool_refusals: 0 },
}

const countColumn = (title: string, read: (row: UsageSums) => number): TableColumn<ShownRow> => ({
  title,
  look: 'number',
  cell: ({ row, before }) => (
    <Compared now={read(row)} before={before && read(before)}>
      {showCount(read(row))}
    </Compared>
  ),
})

const columnsOf = (group: string, period: Filters): readonly TableColumn<ShownRow>[] => [
  {
    title: group.startsWith(LABEL)
      ? group.slice(LABEL.length)
      : (GROUPS.find(({ value }) => value === group)?.title ?? group),
    cell: ({ name, row }) =>
      name === null ? 'Total' : <GroupLink row={row} group={group} name={name} period={period} />,
  },
  countColumn('Requests', ({ requests }) => requests),
  countColumn('Refused', ({ refused }) => refused),
  countColumn('Blocked', ({ blocked }) => blocked),
  countColumn('Prompt tokens', ({ prompt_tokens }) => prompt_tokens),
  countColumn('Answer tokens', ({ completion_tokens }) => completion_tokens),
  {
    title: 'Cost',
    look: 'number',
    cell: ({ row, before }) => (
      <Compared now={row.cost ?? 0} before={before?.cost ?? null}>
        {showUsd(row.cost)}
      </Compared>
    ),
  },
  {
    title: 'Cost of an answer',
    look: 'number',
    cell: ({ row: { cost, answered } }) => (answered === 0 || cost === null ? '–' : showUsd(cost / answered)),
  },
  // Tools refuse apart from their calls.
  ...(group === 'tool'
    ? [
        countColumn('Tool calls', ({ tool_calls }) => tool_calls),
        countColumn('Tool refusals', ({ tool_refusals }) => tool_refusals),
      ]
    : []),
  countColumn('Without a price', ({ unpriced_requests }) => unpriced_requests),
]

interface ComparedProps {
  readonly now: number
  readonly before: number | null
  readonly children: ComponentChildren
}

const Compared = ({ now, before, children }: ComparedProps) => {
  const change = before === null ? null : showChange(now, before)
  return (
    <>
      {children}
      {change === null ? null : <small>{change}</small>}
    </>
  )
}

interface GroupLinkProps {
  readonly row: UsageSums
  readonly group: string
  readonly name: string
  readonly period: Filters
}

/** The value of a row, with a link to its calls in the period, or to the page of its key. */
function GroupLink({ row, group, name, period }: GroupLinkProps) {
  const title = group === 'key' ? String(row['key_name'] ?? name) : name
  if (name === '') return <span class="muted">without one</span>
  const filter = filterOf(group, name)
  const href = group === 'key' ? keyHref(name) : filter === null ? null : logHref({ ...period, ...filter })
  return href === null ? (
    <Inert text={title} />
  ) : (
    <a href={href}>
      <Inert text={title} />
    </a>
  )
}

/** The filter of the calls of a row; null for rows that no filter of the log finds. */
function filterOf(group: string, name: string): Filters | null {
  if (group.startsWith(LABEL)) return { label: `${group.slice(LABEL.length)}=${name}` }
  if (group === 'day') return periodFilter(Date.parse(name) / 1000, DAY_SECONDS)
  if (group === 'month') {
    const { startMs, endMs } = monthOf(Date.parse(`${name}-01T00:00:00Z`))
    return periodFilter(startMs / 1000, (endMs - startMs) / 1000)
  }
  const isRest = name === 'other' && ['tool', 'run', 'user', 'model'].includes(group)
  return group === 'api' || isRest ? null : { [group]: name }
}
