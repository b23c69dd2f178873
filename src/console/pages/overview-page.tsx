// What happens now and happened lately, and the state of the gateway.

import type { ComponentChildren } from 'preact'
import type { UsageView } from '../../audit/entry-fields.ts'
import { visible } from '../../core/hidden-characters.ts'
import { type KeyList, type LimitsInUse, limitUseOf, type ReportAnswer, type UsageSums } from '../api-key.ts'
import { showCompact, showCount, showMs, showUsd } from '../display.ts'
import { withQuery } from '../gateway-api.ts'
import { labelsIn } from '../key-draft.ts'
import { entryHref, type Filters, logHref, periodFilter } from '../log-address.ts'
import { OutcomeTag } from '../parts/call-table.tsx'
import { Chart, chartTime } from '../parts/chart.tsx'
import { keyHref } from '../parts/key-parts.tsx'
import { LimitBar } from '../parts/limit-bar.tsx'
import { Chooser, chosenOf } from '../parts/select.tsx'
import { Inert, LoadState, Time } from '../parts/text.tsx'
import { BASE, go, usePlace } from '../place.ts'
import { useResource } from '../resource.ts'
import { useServes } from '../served.ts'
import { useToday } from '../today.ts'
import { ProgramState } from './program-state.tsx'

const PERIODS = [
  { value: 'hours=1', title: 'Last hour' },
  { value: 'hours=6', title: 'Last 6 hours' },
  // From the sums of the log, which outlast the process.
  { value: 'days=1', title: 'Last day' },
  { value: 'days=7', title: 'Last week' },
  { value: 'days=30', title: 'Last 30 days' },
  { value: 'days=365', title: 'Last year' },
] as const
const REFRESH_MS = 5000
/** The same for what takes the gateway longer. */
const SLOW_MS = 30_000
/** Items of a short list. */
const TOP = 5

/** An answer of `GET /api/v1/usage/series`: columns of equal length. */
interface UsageSeries {
  readonly since: string
  readonly until: string
  readonly step_seconds: number
  readonly times: readonly number[]
  readonly requests: readonly (number | null)[]
  readonly blocked: readonly (number | null)[]
  readonly refused: readonly (number | null)[]
  readonly tokens: readonly (number | null)[]
  readonly cost_usd: readonly (number | null)[]
  readonly added_latency_ms: readonly (number | null)[]
}

/** An answer of `GET /api/v1/overview`. */
interface RecentCalls {
  readonly since: string
  readonly outcomes: Readonly<Record<string, number>>
  readonly added_latency_ms: Percentiles | null
  readonly time_to_first_token_ms: Percentiles | null
  readonly budgets: LimitsInUse['limits']
}

interface Percentiles {
  readonly p50: number
  readonly p95: number
}

/** Outcomes of calls that failed for another reason than a rule. */
const ERRORS = ['upstream_error', 'invalid_request', 'client_aborted', 'interrupted', 'overloaded']
const HOURS_OF_DAY = 24
const HOUR_MS = 3_600_000

/** The start of a period of PERIODS, rounded to the whole hour before it, as reports count. */
function sinceOf(period: string): string {
  const [unit, count] = period.split('=')
  const hours = Number(count) * (unit === 'days' ? HOURS_OF_DAY : 1)
  return new Date(Math.floor(Date.now() / HOUR_MS - hours) * HOUR_MS).toISOString()
}

export function OverviewPage() {
  const place = usePlace()
  const period = chosenOf(PERIODS, place.searchParams.get('period'))
  const series = useResource<UsageSeries>(`/usage/series?${period}`, REFRESH_MS)
  const hours = period.startsWith('hours') ? period : `hours=${HOURS_OF_DAY}`
  const hasRecent = useServes('recent-calls')
  const recent = useResource<RecentCalls>(hasRecent ? `/overview?${hours}` : null, REFRESH_MS)
  return (
    <>
      <header class="page-head">
        <h1>Overview</h1>
        <Chooser
          label="Period"
          options={PERIODS}
          value={period}
          onSelect={(next) => go(withQuery(`${BASE}overview`, { period: next }))}
        />
      </header>
      <LoadState resource={series}>
        {series.data === null ? null : (
          <>
            <Tiles series={series.data} recent={recent.data} hasRecent={hasRecent} />
            <Charts series={series.data} />
          </>
        )}
      </LoadState>
      <Tops since={sinceOf(period)} />
      <div class="cards">
        <NewestEvents />
        {recent.data === null ? null : <Budgets limits={recent.data.budgets} />}
      </div>
      <ProgramState />
    </>
  )
}

const sum = (values: readonly (number | null)[]): number =>
  values.reduce<number>((total, value) => total + (value ?? 0), 0)

/** A time whose unit stays on its line. */
const unbroken = (ms: number): string => showMs(ms).replace(' ', '\u00a0')

interface TilesProps {
  readonly series: UsageSeries
  /** The calls of the last day at most; null while they load. */
  readonly recent: RecentCalls | null
  /** Whether there are such figures; a hub has none. */
  readonly hasRecent: boolean
}

function Tiles({ series, recent, hasRecent }: TilesProps) {
  const { until } = series
  const first = series.requests.findIndex((count) => count !== null)
  const isWhole = first === 0
  const since = isWhole || first < 0 ? series.since : new Date(series.times[first]! * 1000).toISOString()
  const today = new Date(useToday()).toISOString()
  const month = useResource<ReportAnswer>('/usage/report?group_by=month', SLOW_MS)
  const day = useResource<ReportAnswer>(`/usage/report?group_by=month&since=${today}`, SLOW_MS)
  const inPeriod = (filters: Filters) => logHref({ ...filters, since, until })
  const inRecent = (filters: Filters) => logHref({ ...filters, since: recent?.since ?? since })
  // Kept for a day, and since the start of the process, which other periods may not be.
  const ofRecent = recent === null ? null : <Since at={recent.since} />
  const ofSeries = isWhole ? null : <Since at={since} />
  const errors = ERRORS.map((name) => [name, recent?.outcomes[name] ?? 0] as const).filter(
    ([, count]) => count > 0,
  )
  const failed = sum(errors.map(([, count]) => count))
  const times = (percentiles: Percentiles | null | undefined) =>
    percentiles == null ? '–' : `${unbroken(percentiles.p50)} / ${unbroken(percentiles.p95)}`
  return (
    <ul class="tiles">
      <Tile title="Requests" value={showCompact(sum(series.requests))} note={ofSeries} href={inPeriod({})} />
      {hasRecent ? (
        <Tile
          title="Errors"
          value={showCompact(failed)}
          note={
            <>
              {errors.map(([name, count]) => `${showCount(count)} ${name.replaceAll('_', ' ')}`).join(', ')}{' '}
              {ofRecent}
            </>
          }
          href={inRecent({ outcome: ERRORS.join() })}
        />
      ) : null}
      <Tile
        title="Refused"
        value={showCompact(sum(series.refused))}
        note={<>by limit, budget, model or tool {ofSeries}</>}
        href={inPeriod({ stopped: 'refused' })}
      />
      <Tile
        title="Blocked"
        value={showCompact(sum(series.blocked))}
        note={<>for content {ofSeries}</>}
        href={inPeriod({ stopped: 'blocked' })}
      />
      <Tile
        title="Cost today"
        value={showUsd(day.data?.total.cost ?? null)}
        note="UTC day"
        href={`${BASE}usage?by=model&period=1`}
      />
      <Tile
        title="Cost this month"
        value={showUsd(month.data?.total.cost ?? null)}
        note={`UTC month, ${showCompact(month.data?.total.total_tokens ?? null)} tokens`}
        href={`${BASE}usage?by=key`}
      />
      {hasRecent ? (
        <>
          <Tile
            title="Added latency"
            value={times(recent?.added_latency_ms)}
            note={<>p50 / p95 {ofRecent}</>}
            href={inRecent({})}
          />
          <Tile
            title="First token"
            value={times(recent?.time_to_first_token_ms)}
            note={<>p50 / p95 {ofRecent}</>}
            href={inRecent({})}
          />
        </>
      ) : null}
    </ul>
  )
}

/** From when on a tile counts, where that is not the period of the page. */
const Since = ({ at }: { readonly at: string }) => (
  <>
    since <Time at={at} />
  </>
)

interface TileProps {
  readonly title: string
  readonly value: string
  readonly note?: ComponentChildren
  /** The list that the number is from. */
  readonly href: string
}

const Tile = ({ title, value, note, href }: TileProps) => (
  <li>
    <a href={href}>
      {title} <strong>{value}</strong>
    </a>
    <small>{note}</small>
  </li>
)

function Charts({ series }: { readonly series: UsageSeries }) {
  const { times, step_seconds } = series
  const time = chartTime(series, step_seconds)
  const shared = (filters: Filters) => ({
    ...{ time, times },
    onOpen: (index: number) => go(logHref({ ...filters, ...periodFilter(times[index]!, step_seconds) })),
  })
  const hasLatency = series.added_latency_ms.some((value) => value !== null)
  return (
    <div class="charts">
      <Chart title="Requests" label="requests" values={series.requests} {...shared({})} />
      <Chart title="Refused" label="refused" values={series.refused} {...shared({ stopped: 'refused' })} />
      <Chart title="Blocked" label="blocked" values={series.blocked} {...shared({ stopped: 'blocked' })} />
      <Chart title="Tokens" label="tokens" values={series.tokens} {...shared({})} />
      <Chart title="Cost" label="cost" unit="usd" values={series.cost_usd} {...shared({})} />
      {hasLatency ? (
        <Chart
          title="Added latency"
          label="added"
          unit="ms"
          values={series.added_latency_ms}
          {...shared({})}
        />
      ) : null}
    </div>
  )
}

/** Keys, models and values of a label with the highest cost in the period. */
function Tops({ since }: { readonly since: string }) {
  const keys = useResource<KeyList>('/keys?limit=200')
  const labels = [...labelsIn(keys.data?.keys ?? [])]
  // The one that tells the most keys apart.
  const [[label] = []] = labels.toSorted(([, some], [, others]) => others.length - some.length)
  const isDemo = keys.data?.keys.some((key) => key.labels['demo'] === 'stand-in') === true
  return (
    <>
      {isDemo ? (
        <p class="muted">Calls of keys with the label demo = stand-in are made up, for this demo.</p>
      ) : null}
      <div class="cards">
        <Top title="Top keys" group="key" since={since} hrefOf={keyHref} />
        <Top title="Top models" group="model" since={since} hrefOf={(model) => logHref({ model, since })} />
        {label === undefined ? null : (
          <Top
            title={`Top of label ${visible(label)}`}
            group={`label:${label}`}
            since={since}
            hrefOf={(value) => logHref({ label: `${label}=${value}`, since })}
          />
        )}
      </div>
    </>
  )
}

interface TopProps {
  readonly title: string
  readonly group: string
  readonly since: string
  readonly hrefOf: (name: string) => string
}

function Top({ title, group, since, hrefOf }: TopProps) {
  const report = useResource<ReportAnswer>(withQuery('/usage/report', { group_by: group, since }), SLOW_MS)
  const rows = report.data?.rows.filter((row) => row[group] !== null && row[group] !== '').slice(0, TOP) ?? []
  const isPriced = rows.some(({ cost }) => (cost ?? 0) > 0)
  const shareOf = ({ cost, requests }: UsageSums) => (isPriced ? (cost ?? 0) : requests)
  const most = Math.max(...rows.map(shareOf))
  return (
    <section class="card" aria-label={title}>
      <h2>{title}</h2>
      <LoadState resource={report}>
        {rows.length === 0 ? <p class="empty">No call in this period.</p> : null}
        <ul class="bars">
          {rows.map((row) => {
            const name = String(row[group])
            const shown = String(group === 'key' ? (row['key_name'] ?? name) : name)
            return (
              <li key={name}>
                <a href={hrefOf(name)}>
                  <Inert text={shown} />
                </a>
                <progress aria-label={visible(shown)} max={most} value={shareOf(row)} />
                <span class="number">
                  {isPriced ? showUsd(row.cost) : `${showCompact(row.requests)} calls`}
                </span>
              </li>
            )
          })}
        </ul>
        <p>
          <a href={withQuery(`${BASE}usage`, { by: group })}>All of this month</a>
        </p>
      </LoadState>
    </section>
  )
}

const Budgets = ({ limits }: { readonly limits: LimitsInUse['limits'] }) => (
  <section class="card" aria-label="Budgets over 80 %">
    <h2>Budgets over 80 %</h2>
    {limits.length === 0 ? <p class="empty">None.</p> : null}
    {limits
      .slice(0, TOP)
      .map(limitUseOf)
      .map((limit) => (
        <LimitBar key={`${limit.rule} ${limit.subject} ${limit.window}`} limit={limit} />
      ))}
    <p>
      <a href={`${BASE}usage`}>All budgets and limits</a>
    </p>
  </section>
)

interface EventCalls {
  readonly logs: readonly UsageView[]
}

function NewestEvents() {
  const calls = useResource<EventCalls>(`/usage/logs?events=true&limit=${TOP}`, SLOW_MS)
  return (
    <section class="card" aria-label="Newest security events">
      <h2>Newest security events</h2>
      <LoadState resource={calls}>
        {calls.data?.logs.length === 0 ? <p class="empty">None.</p> : null}
        <ul>
          {calls.data?.logs.map(({ id, created_at, key_name, rules, ...call }) => (
            <li key={id}>
              <a href={entryHref(id)}>
                <Time at={created_at} />
              </a>{' '}
              <OutcomeTag {...call} /> <Inert text={key_name} />{' '}
              <span class="muted">
                <Inert text={rules.map(({ name }) => name).join(', ')} />
              </span>
            </li>
          ))}
        </ul>
        <p>
          <a href={`${BASE}security`}>All events</a>
        </p>
      </LoadState>
    </section>
  )
}
