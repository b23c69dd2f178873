// What the rules stopped and what personal data was found, by day and by cause.

import { useMemo } from 'preact/hooks'
import { visible } from '../../core/hidden-characters.ts'
import { DAY_SECONDS } from '../dates.ts'
import { showCount } from '../display.ts'
import { withQuery } from '../gateway-api.ts'
import { logHref, periodFilter } from '../log-address.ts'
import { Chart, type ChartTime } from '../parts/chart.tsx'
import { ScrollArea } from '../parts/scroll-area.tsx'
import { Chooser, chosenOf } from '../parts/select.tsx'
import { Inert, LoadState, Time } from '../parts/text.tsx'
import { BASE, go, usePlace } from '../place.ts'
import { useResource } from '../resource.ts'

const PERIODS = ['7', '30', '90', '365'].map((value) => ({ value, title: `Last ${value} days` }))
/** Newest events from which the top lists are counted: the most that one answer can hold. */
const MAXIMUM_EVENTS = 1000
const SHOWN_EVENTS = 100
const TOP = 8

interface SecurityEvent {
  readonly id: string
  readonly created_at: string
  readonly type: string
  readonly direction: string
  readonly rule_name: string | null
  readonly action: string | null
  readonly pii_types: readonly string[]
  readonly key_name: string
  readonly log_id: string
}

type EventCounts = Readonly<Record<'blocked_requests' | 'pii_detections' | 'rule_triggers', number>>

/** An answer of `GET /api/v1/usage/security`. */
interface SecurityReport {
  readonly totals: EventCounts
  readonly by_day: readonly (EventCounts & { readonly date: string })[]
  readonly events: readonly SecurityEvent[]
  readonly total: number
}

export function SecurityPage() {
  const place = usePlace()
  const days = chosenOf(PERIODS, place.searchParams.get('days'))
  const report = useResource<SecurityReport>(`/usage/security?days=${days}&limit=${MAXIMUM_EVENTS}`)
  return (
    <>
      <header class="page-head">
        <h1>Security</h1>
        <Chooser
          label="Period"
          options={PERIODS}
          value={days}
          onSelect={(next) => go(withQuery(`${BASE}security`, { days: next }))}
        />
      </header>
      <LoadState resource={report}>{report.data === null ? null : <Report report={report.data} />}</LoadState>
    </>
  )
}

function Report({ report }: { readonly report: SecurityReport }) {
  const { totals, by_day, events, total } = report
  const times = useMemo(() => by_day.map(({ date }) => Date.parse(date) / 1000), [by_day])
  const time: ChartTime = {
    since: times[0] ?? 0,
    until: (times.at(-1) ?? 0) + DAY_SECONDS,
    stepSeconds: DAY_SECONDS,
  }
  const openDay = (filter: Readonly<Record<string, string>>) => (index: number) =>
    go(logHref({ ...filter, ...periodFilter(times[index]!, DAY_SECONDS) }))
  const counted = (name: keyof EventCounts) => by_day.map((day) => day[name])
  const rules = events.filter(({ type }) => type === 'rule_trigger').map(({ rule_name }) => rule_name ?? '–')
  const kinds = events.filter(({ type }) => type === 'pii_detection').flatMap(({ pii_types }) => pii_types)
  const keys = events.filter(({ type }) => type !== 'rule_trigger').map(({ key_name }) => key_name)
  return (
    <>
      <div class="charts">
        <Chart
          title={`Blocked requests: ${showCount(totals.blocked_requests)}`}
          time={time}
          times={times}
          label="blocked"
          values={counted('blocked_requests')}
          onOpen={openDay({ blocked: 'true' })}
        />
        <Chart
          title={`Personal data found: ${showCount(totals.pii_detections)}`}
          time={time}
          times={times}
          label="found"
          values={counted('pii_detections')}
          onOpen={openDay({ pii_detected: 'true' })}
        />
        <Chart
          title={`Rules fired: ${showCount(totals.rule_triggers)}`}
          time={time}
          times={times}
          label="fired"
          values={counted('rule_triggers')}
          onOpen={openDay({})}
        />
      </div>
      <div class="cards">
        <TopList title="Rules that fired" names={rules} />
        <TopList title="Keys with events" names={keys} />
        <TopList title="Kinds of personal data" names={kinds} />
      </div>
      <p class="muted">
        {total > events.length
          ? `The lists count the newest ${showCount(events.length)} of ${showCount(total)} events.`
          : `The lists count all ${showCount(total)} events.`}
      </p>
      <h2>Newest events</h2>
      {events.length === 0 ? (
        <p class="empty">No event in this period.</p>
      ) : (
        <ScrollArea label="Newest events">
          <table>
            <thead>
              <tr>
                <th>Time</th>
                <th>Event</th>
                <th>In</th>
                <th>Rule</th>
                <th>Key</th>
                <th>Personal data</th>
              </tr>
            </thead>
            <tbody>
              {events.slice(0, SHOWN_EVENTS).map((event) => (
                <tr key={event.id}>
                  <td>
                    <a href={`${BASE}log?entry=${encodeURIComponent(event.log_id)}`}>
                      <Time at={event.created_at} />
                    </a>
                  </td>
                  <td>{event.type.replace('_', ' ')}</td>
                  <td>{event.direction}</td>
                  <td>
                    <Inert text={event.rule_name ?? '–'} /> {event.action}
                  </td>
                  <td>
                    <Inert text={event.key_name} />
                  </td>
                  <td>{event.pii_types.join(', ')}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollArea>
      )}
    </>
  )
}

/** The names that occur most, with bars. */
function TopList({ title, names }: { readonly title: string; readonly names: readonly string[] }) {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  const top = [...counts].sort(([, one], [, other]) => other - one).slice(0, TOP)
  const most = top[0]?.[1] ?? 1
  return (
    <section class="card" aria-label={title}>
      <h2>{title}</h2>
      {top.length === 0 ? <p class="empty">None.</p> : null}
      <ul class="bars">
        {top.map(([name, count]) => (
          <li key={name}>
            <span>
              <Inert text={name} />
            </span>
            <progress aria-label={visible(name)} max={most} value={count} />
            <span class="number">{showCount(count)}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}
