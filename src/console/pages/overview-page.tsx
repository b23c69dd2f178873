// What happens now and happened lately, and the state of the gateway.

import { shorten, showBytes, showCompact, showCount, showMs, showSpan, showUsd } from '../display.ts'
import { withQuery } from '../gateway-api.ts'
import { logHref, periodFilter } from '../log-address.ts'
import { Chart, chartTime } from '../parts/chart.tsx'
import { Chooser, chosenOf } from '../parts/select.tsx'
import { Inert, LoadState, Time } from '../parts/text.tsx'
import { BASE, go, usePlace } from '../place.ts'
import { useResource } from '../resource.ts'

const PERIODS = [
  { value: 'hours=1', title: 'Last hour' },
  { value: 'hours=6', title: 'Last 6 hours' },
  { value: 'hours=24', title: 'Last day' },
  { value: 'days=7', title: 'Last week' },
  { value: 'days=30', title: 'Last 30 days' },
  { value: 'days=365', title: 'Last year' },
] as const
const REFRESH_MS = 5000

/** An answer of `GET /api/v1/usage/series`: columns of equal length. */
interface UsageSeries {
  readonly since: string
  readonly until: string
  readonly step_seconds: number
  readonly times: readonly number[]
  readonly requests: readonly (number | null)[]
  readonly blocked: readonly (number | null)[]
  readonly tokens: readonly (number | null)[]
  readonly cost_usd: readonly (number | null)[]
  readonly added_latency_ms: readonly (number | null)[]
  readonly streams_in_flight: readonly (number | null)[]
}

/** The part of `GET /api/v1/status` that the page shows. */
interface GatewayStatus {
  readonly version: string
  readonly started_at: string
  readonly ready: boolean
  readonly store: {
    readonly available: boolean
    readonly used_bytes: number
    readonly limit_bytes: number | null
    readonly free_bytes: number | null
    readonly journal_lag_seconds: number
    readonly quarantines: number
  }
  readonly rules: {
    readonly revision: string
    readonly total: number
    readonly enabled: number
    readonly overrides: number
    readonly in_force: boolean
    readonly errors: readonly string[]
    readonly loaded_at: string | null
  }
  readonly upstreams: readonly { readonly name: string; readonly open: boolean }[]
  readonly audit: {
    readonly seq: number
    readonly hash: string
    readonly verification: {
      readonly ok: boolean | null
      readonly finished_at: string | null
    }
  }
  readonly calls_in_flight: number
}

export function OverviewPage() {
  const place = usePlace()
  const period = chosenOf(PERIODS, place.searchParams.get('period'))
  const series = useResource<UsageSeries>(`/usage/series?${period}`, REFRESH_MS)
  const status = useResource<GatewayStatus>('/status', REFRESH_MS)
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
        {series.data === null ? null : <Figures series={series.data} />}
      </LoadState>
      <LoadState resource={status}>{status.data === null ? null : <State status={status.data} />}</LoadState>
    </>
  )
}

const sum = (values: readonly (number | null)[]): number =>
  values.reduce<number>((total, value) => total + (value ?? 0), 0)

function mean(values: readonly (number | null)[], weights: readonly (number | null)[]): number | null {
  const known = values.map((value, index) => (value === null ? 0 : (weights[index] ?? 0)))
  const weight = sum(known)
  return weight === 0 ? null : sum(values.map((value, index) => (value ?? 0) * known[index]!)) / weight
}

function Figures({ series }: { readonly series: UsageSeries }) {
  const { times, step_seconds, requests, blocked, tokens, cost_usd, added_latency_ms, streams_in_flight } =
    series
  const openWith = (filter: Readonly<Record<string, string>>) => (index: number) =>
    go(logHref({ ...filter, ...periodFilter(times[index]!, step_seconds) }))
  const open = openWith({})
  const time = chartTime(series, step_seconds)
  const hasLatency = added_latency_ms.some((value) => value !== null)
  return (
    <>
      <ul class="tiles">
        <Tile title="Requests" value={showCompact(sum(requests))} />
        <Tile title="Blocked" value={showCompact(sum(blocked))} />
        <Tile title="Tokens" value={showCompact(sum(tokens))} />
        <Tile title="Cost" value={showUsd(sum(cost_usd))} />
        {hasLatency ? <Tile title="Added latency" value={showMs(mean(added_latency_ms, requests))} /> : null}
      </ul>
      <div class="charts">
        <Chart title="Requests" time={time} times={times} label="requests" values={requests} onOpen={open} />
        <Chart
          title="Blocked"
          time={time}
          times={times}
          label="blocked"
          values={blocked}
          onOpen={openWith({ blocked: 'true' })}
        />
        <Chart title="Tokens" time={time} times={times} label="tokens" values={tokens} onOpen={open} />
        <Chart
          title="Cost"
          time={time}
          times={times}
          label="cost"
          values={cost_usd}
          unit="usd"
          onOpen={open}
        />
        {hasLatency ? (
          <>
            <Chart
              title="Added latency"
              time={time}
              times={times}
              label="added"
              values={added_latency_ms}
              unit="ms"
              onOpen={open}
            />
            <Chart
              title="Streams in flight"
              time={time}
              times={times}
              label="at most"
              values={streams_in_flight}
              onOpen={open}
            />
          </>
        ) : null}
      </div>
    </>
  )
}

const Tile = ({ title, value }: { readonly title: string; readonly value: string }) => (
  <li>
    <span class="muted">{title}</span> <strong>{value}</strong>
  </li>
)

function State({ status }: { readonly status: GatewayStatus }) {
  const { store, rules, upstreams, audit } = status
  const since = Date.now() - Date.parse(status.started_at)
  return (
    <div class="cards">
      <section class="card" aria-label="Gateway">
        <h2>Gateway</h2>
        <p class={status.ready ? 'good' : 'failure'}>{status.ready ? 'Ready' : 'Not ready'}</p>
        <p>
          {showCount(status.calls_in_flight)} calls in flight · version {status.version} · running for{' '}
          {showSpan(since)}
        </p>
      </section>
      <section class="card" aria-label="Rules in force">
        <h2>Rules in force</h2>
        <p class={rules.in_force ? 'good' : 'failure'}>
          {rules.in_force
            ? 'The files are in force'
            : 'The newest files have errors; the last good rules are in force'}
        </p>
        {rules.errors.map((text) => (
          <p key={text} class="failure">
            <Inert text={text} />
          </p>
        ))}
        <p>
          <a href={`${BASE}rules`}>{`${rules.enabled} of ${rules.total} enabled`}</a>, {rules.overrides}{' '}
          overridden · revision <code>{rules.revision}</code> · loaded <Time at={rules.loaded_at} />
        </p>
      </section>
      <section class="card" aria-label="Upstreams">
        <h2>Upstreams</h2>
        <ul>
          {upstreams.map(({ name, open }) => (
            <li key={name}>
              <Inert text={name} />:{' '}
              <span class={open ? 'failure' : 'good'}>{open ? 'failing, calls avoid it' : 'in use'}</span>
            </li>
          ))}
        </ul>
      </section>
      <section class="card" aria-label="Audit chain">
        <h2>Audit chain</h2>
        <p>
          Entry {showCount(audit.seq)}, <code title={audit.hash}>{shorten(audit.hash, 15)}</code>
        </p>
        <p>
          Last verified <Time at={audit.verification.finished_at} />{' '}
          {audit.verification.ok === null ? null : (
            <span class={audit.verification.ok ? 'good' : 'failure'}>
              {audit.verification.ok ? 'intact' : 'damaged'}
            </span>
          )}{' '}
          · <a href={`${BASE}audit`}>verify</a>
        </p>
      </section>
      <section class="card" aria-label="Disk">
        <h2>Disk</h2>
        <p class={store.available ? 'good' : 'failure'}>
          {store.available ? 'The log takes entries' : 'The log cannot be written; calls are refused'}
        </p>
        <p>
          {showBytes(store.used_bytes)} used
          {store.limit_bytes === null ? '' : ` of ${showBytes(store.limit_bytes)}`} ·{' '}
          {showBytes(store.free_bytes)} free · journal {store.journal_lag_seconds.toFixed(1)} s behind
          {store.quarantines === 0 ? '' : ` · ${store.quarantines} damaged logs set aside`}
        </p>
      </section>
    </div>
  )
}
