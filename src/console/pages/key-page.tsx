// One key: its terms, what is in force for it by the code that decides, what it spent, its last
// calls, which were refused and why, and who changed it.

import { useMemo, useState } from 'preact/hooks'
import type { UsageView } from '../../audit/entry-fields.ts'
import type { KeyDetail, ReportAnswer } from '../api-key.ts'
import { DAY_MS, DAY_SECONDS } from '../dates.ts'
import { showUsd } from '../display.ts'
import { withQuery } from '../gateway-api.ts'
import type { ChangeList } from '../last-changes.ts'
import { logHref, periodFilter } from '../log-address.ts'
import { CallTable } from '../parts/call-table.tsx'
import { ChangeTable } from '../parts/change-table.tsx'
import { Chart } from '../parts/chart.tsx'
import { Fact } from '../parts/fact.tsx'
import { type KeyAction, KeyButtons, KeyLabels, KeyOrigin, KeyRotation } from '../parts/key-parts.tsx'
import { LimitBar } from '../parts/limit-bar.tsx'
import { Inert, LoadState, Time } from '../parts/text.tsx'
import { BASE, go } from '../place.ts'
import { useResource } from '../resource.ts'
import { useMay } from '../signed-in.ts'
import { useToday } from '../today.ts'
import { sumsByDay } from '../usage-days.ts'
import { KeyActionDialog } from './key-dialogs.tsx'

const REFRESH_MS = 10_000
const SPEND_DAYS = 30
const LAST_CALLS = 10
const MAXIMUM_CHANGES = 100

export function KeyPage({ id }: { readonly id: string }) {
  const key = useResource<KeyDetail>(`/keys/${encodeURIComponent(id)}`, REFRESH_MS)
  const mayChange = useMay('editor')
  const [action, setAction] = useState<KeyAction | null>(null)
  const { data } = key
  const close = () => {
    setAction(null)
    key.reload()
  }
  return (
    <>
      <p>
        <a href={`${BASE}keys`}>All keys</a>
      </p>
      <LoadState resource={key}>
        {data === null ? null : (
          <>
            <header class="page-head">
              <h1>
                <Inert text={data.name} />
              </h1>
              <div class="row">{mayChange ? <KeyButtons apiKey={data} onAct={setAction} /> : null}</div>
            </header>
            <Terms apiKey={data} />
            <InForce apiKey={data} />
            {action === null ? null : <KeyActionDialog kind={action} apiKey={data} onClose={close} />}
          </>
        )}
      </LoadState>
      <Spend id={id} />
      <Calls id={id} />
      <KeyChanges
        key={id}
        id={id}
        version={data === null ? '' : JSON.stringify({ ...data, last_used_at: null, effective: null })}
      />
    </>
  )
}

const Terms = ({ apiKey }: { readonly apiKey: KeyDetail }) => (
  <dl class="card">
    <Fact name="State">
      <span class="tag">{apiKey.state}</span>
    </Fact>
    <Fact name="Key">
      <KeyOrigin apiKey={apiKey} />
    </Fact>
    <Fact name="Labels">
      {Object.keys(apiKey.labels).length === 0 ? 'none' : <KeyLabels labels={apiKey.labels} />}
    </Fact>
    <Fact name="Id">
      <code>{apiKey.id}</code>
    </Fact>
    <Fact name="Created">
      <Time at={apiKey.created_at} />
    </Fact>
    <Fact name="Last used">
      <Time at={apiKey.last_used_at} />
    </Fact>
    <Fact name="Expires">{apiKey.expires_at === null ? 'never' : <Time at={apiKey.expires_at} />}</Fact>
    {apiKey.revoked_at === null ? null : (
      <Fact name="Revoked">
        <Time at={apiKey.revoked_at} />
      </Fact>
    )}
    {apiKey.replaces === null && apiKey.replaced_by === undefined ? null : (
      <Fact name="Rotation">
        <KeyRotation apiKey={apiKey} />
      </Fact>
    )}
  </dl>
)

function InForce({ apiKey: { effective } }: { readonly apiKey: KeyDetail }) {
  if (effective === null) return null
  const { models, limits, capture } = effective
  return (
    <section aria-labelledby="force-title">
      <h2 id="force-title">In force for this key</h2>
      <div class="cards">
        <section class="card" aria-label="Models">
          <h3>Models</h3>
          {new Set(models.map(({ rule }) => rule)).size > 1 ? (
            <p>A model has to be allowed by each of these lists.</p>
          ) : null}
          <ul>
            {models.map(({ pattern, rule, only_for }) => (
              <li key={`${rule} ${pattern}`}>
                {pattern === '*' && rule === null ? (
                  'all'
                ) : pattern === '!*' ? (
                  <span class="failure">none</span>
                ) : (
                  <code>
                    <Inert text={pattern} />
                  </code>
                )}{' '}
                {rule === null ? null : (
                  <span class="muted">
                    by the rule <Inert text={rule} />
                  </span>
                )}
                {only_for === null ? null : (
                  <span class="muted">
                    {' '}
                    for <Inert text={only_for.join(', ')} />
                  </span>
                )}
              </li>
            ))}
          </ul>
          <h3>Texts of calls</h3>
          <p>
            {capture.value === 'full' ? 'The redacted text is stored.' : 'No text is stored.'}{' '}
            {capture.rule === null ? null : (
              <span class="muted">
                by the rule <Inert text={capture.rule} />
              </span>
            )}
          </p>
        </section>
        <section class="card" aria-label="Limits">
          <h3>Limits</h3>
          {limits.length === 0 ? <p class="empty">No limit counts its calls.</p> : null}
          {limits.map((limit) => (
            <LimitBar key={`${limit.rule} ${limit.unit} ${limit.window}`} limit={limit} />
          ))}
        </section>
      </div>
    </section>
  )
}

function Spend({ id }: { readonly id: string }) {
  const since = new Date(useToday() - (SPEND_DAYS - 1) * DAY_MS).toISOString()
  const path = `/usage/report?group_by=day&key_id=${encodeURIComponent(id)}&since=${since}`
  const report = useResource<ReportAnswer>(path)
  const { time, times, cost, requests } = useMemo(() => sumsByDay(report.data), [report.data])
  const open = (index: number) => go(logHref({ key_id: id, ...periodFilter(times[index]!, DAY_SECONDS) }))
  return (
    <LoadState resource={report}>
      {report.data === null ? null : (
        <div class="charts">
          <Chart
            title={`Spent in ${SPEND_DAYS} days: ${showUsd(report.data.total.cost)}`}
            label="cost"
            unit="usd"
            values={cost}
            {...{ time, times, onOpen: open }}
          />
          <Chart
            title="Requests by day"
            label="requests"
            values={requests}
            {...{ time, times, onOpen: open }}
          />
        </div>
      )}
    </LoadState>
  )
}

interface CallsAnswer {
  readonly logs: readonly UsageView[]
}

function Calls({ id }: { readonly id: string }) {
  const path = (filter: string) => `/usage/logs?limit=${LAST_CALLS}&key_id=${encodeURIComponent(id)}${filter}`
  const last = useResource<CallsAnswer>(path(''), REFRESH_MS)
  const blocked = useResource<CallsAnswer>(path('&stopped=blocked'), REFRESH_MS)
  const refused = useResource<CallsAnswer>(path('&stopped=refused'), REFRESH_MS)
  const stopped = [...(blocked.data?.logs ?? []), ...(refused.data?.logs ?? [])]
    .sort((one, other) => (one.created_at < other.created_at ? 1 : -1))
    .slice(0, LAST_CALLS)
  return (
    <>
      <section aria-labelledby="refused-title">
        <h2 id="refused-title">Last calls that were refused or blocked</h2>
        <LoadState resource={refused}>
          <CallTable label="Refused calls" calls={stopped} none="No call was refused." />
        </LoadState>
      </section>
      <section aria-labelledby="calls-title">
        <h2 id="calls-title">Last calls</h2>
        <LoadState resource={last}>
          <CallTable
            label="List of last calls"
            calls={last.data?.logs ?? []}
            none="The key was not used yet."
          />
        </LoadState>
        <p>
          <a href={logHref({ key_id: id })}>All calls of the key</a>
        </p>
      </section>
    </>
  )
}

function KeyChanges({ id, version }: { readonly id: string; readonly version: string }) {
  const [from, setFrom] = useState<Pick<ChangeList, 'next_before' | 'next_cursor'> | null>(null)
  const { next_before: before = null, next_cursor: cursor = null } = from ?? {}
  const path = withQuery('/audit/changes', { about: id, limit: MAXIMUM_CHANGES, before, cursor })
  const changes = useResource<ChangeList>(path, undefined, version)
  const { data } = changes
  const isMore = data?.next_before !== undefined || data?.next_cursor !== undefined
  return (
    <section aria-labelledby="changes-title">
      <h2 id="changes-title">Changes</h2>
      <LoadState resource={changes}>
        <ChangeTable label="Changes of the key" changes={data?.changes ?? []} />
        <div class="buttons">
          {isMore ? (
            <button type="button" onClick={() => setFrom(data)}>
              Search older changes
            </button>
          ) : null}
          {from === null ? null : (
            <button type="button" onClick={() => setFrom(null)}>
              Newest changes
            </button>
          )}
        </div>
      </LoadState>
    </section>
  )
}
