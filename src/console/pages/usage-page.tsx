// What was used and what it cost, by key, model, day, tool or run, and how far the limits are used.

import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { type LimitsInUse, limitUseOf, type ReportAnswer, type UsageSums } from '../api-key.ts'
import { DAY_SECONDS } from '../dates.ts'
import { showCount, showUsd } from '../display.ts'
import { withQuery } from '../gateway-api.ts'
import { logHref, periodFilter } from '../log-address.ts'
import { Chart } from '../parts/chart.tsx'
import { LimitBar } from '../parts/limit-bar.tsx'
import { ScrollArea } from '../parts/scroll-area.tsx'
import { Chooser, chosenOf } from '../parts/select.tsx'
import { Inert, LoadState } from '../parts/text.tsx'
import { API, BASE, go, usePlace } from '../place.ts'
import { useResource } from '../resource.ts'
import { sumsByDay } from '../usage-days.ts'

const GROUPS = [
  { value: 'key', title: 'Key' },
  { value: 'model', title: 'Model' },
  { value: 'day', title: 'Day' },
  { value: 'tool', title: 'Tool' },
  { value: 'run', title: 'Run' },
] as const
type Group = (typeof GROUPS)[number]['value']

const PERIODS = [
  { value: 'month', title: 'This month' },
  { value: '7', title: 'Last 7 days' },
  { value: '30', title: 'Last 30 days' },
  { value: '365', title: 'Last year' },
] as const
const DAY_MS = DAY_SECONDS * 1000

/** Midnight in UTC so many days ago, which the sums of days begin at; null for this month. */
const sinceOf = (period: string): string | null =>
  period === 'month'
    ? null
    : new Date((Math.floor(Date.now() / DAY_MS) - Number(period) + 1) * DAY_MS).toISOString()

export function UsagePage() {
  const place = usePlace()
  const group = chosenOf(GROUPS, place.searchParams.get('by'))
  const period = chosenOf(PERIODS, place.searchParams.get('period'))
  const since = useMemo(() => sinceOf(period), [period])
  const query = { group_by: group, since }
  const report = useResource<ReportAnswer>(withQuery('/usage/report', query))
  const days = useResource<ReportAnswer>(withQuery('/usage/report', { group_by: 'day', since }))
  const limits = useResource<LimitsInUse>('/usage/limits')
  const open = (by: string, next: string) => go(withQuery(`${BASE}usage`, { by, period: next }))
  return (
    <>
      <header class="page-head">
        <h1>Usage & cost</h1>
        <div class="row">
          <Chooser label="By" options={GROUPS} value={group} onSelect={(next) => open(next, period)} />
          <Chooser label="Period" options={PERIODS} value={period} onSelect={(next) => open(group, next)} />
          <a class="button" download href={withQuery(`${API}/usage/report`, { ...query, format: 'csv' })}>
            CSV
          </a>
        </div>
      </header>
      <LoadState resource={days}>{days.data === null ? null : <DayCharts report={days.data} />}</LoadState>
      <LoadState resource={report}>
        {report.data === null ? null : <ReportTable report={report.data} group={group} />}
      </LoadState>
      <h2>Limits in use</h2>
      <LoadState resource={limits}>
        {limits.data?.limits.length === 0 ? <p class="empty">No limit has been used yet.</p> : null}
        {limits.data?.limits.map(limitUseOf).map((limit) => (
          <LimitBar key={`${limit.rule} ${limit.subject} ${limit.window}`} limit={limit} />
        ))}
      </LoadState>
    </>
  )
}

function DayCharts({ report }: { readonly report: ReportAnswer }) {
  const { time, times, cost, tokens } = useMemo(() => sumsByDay(report), [report])
  const open = (index: number) => go(logHref(periodFilter(times[index]!, DAY_SECONDS)))
  const shared = { time, times, onOpen: open }
  return (
    <div class="charts">
      <Chart title="Cost by day" label="cost" unit="usd" values={cost} {...shared} />
      <Chart title="Tokens by day" label="tokens" values={tokens} {...shared} />
    </div>
  )
}

function ReportTable({ report, group }: { readonly report: ReportAnswer; readonly group: Group }) {
  const { rows, total, complete } = report
  if (total.requests === 0) return <p class="empty">No call in this period.</p>
  if (rows.length === 0) return <p class="empty">No call with a {group} in this period.</p>
  return (
    <>
      {complete ? null : (
        <p class="muted">The sums of the oldest days of this period are not kept any more.</p>
      )}
      <ScrollArea label="Usage report">
        <table>
          <thead>
            <tr>
              <th>{GROUPS.find(({ value }) => value === group)?.title}</th>
              <th class="number">Requests</th>
              <th class="number">Blocked</th>
              <th class="number">Prompt tokens</th>
              <th class="number">Answer tokens</th>
              <th class="number">Cost</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <SumsRow key={nameOf(row, group)} row={row}>
                <GroupLink row={row} group={group} />
              </SumsRow>
            ))}
          </tbody>
          <tfoot>
            <SumsRow row={total}>Total</SumsRow>
          </tfoot>
        </table>
      </ScrollArea>
    </>
  )
}

const nameOf = (row: UsageSums, group: Group): string => String(row[group] ?? '')

function GroupLink({ row, group }: { readonly row: UsageSums; readonly group: Group }) {
  const name = nameOf(row, group)
  const isRest = (group === 'tool' || group === 'run') && name === 'other'
  if (group === 'day' || isRest) return <>{name}</>
  const href = logHref({ [group === 'key' ? 'key_id' : group]: name })
  return (
    <a href={href}>
      <Inert text={group === 'key' ? String(row['key_name'] ?? name) : name} />
    </a>
  )
}

const SumsRow = ({ row, children }: { readonly row: UsageSums; readonly children: ComponentChildren }) => (
  <tr>
    <td>{children}</td>
    <td class="number">{showCount(row.requests)}</td>
    <td class="number">{showCount(row.blocked)}</td>
    <td class="number">{showCount(row.prompt_tokens)}</td>
    <td class="number">{showCount(row.completion_tokens)}</td>
    <td class="number">
      {row.cost === null ? null : showUsd(row.cost)}
      {row.unpriced_requests === 0 ? null : (
        <small>{showCount(row.unpriced_requests)} calls without a price</small>
      )}
    </td>
  </tr>
)
