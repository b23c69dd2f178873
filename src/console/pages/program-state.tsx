// The state of the program that served the console: of a gateway and its parts, or of a hub.

import { shorten, showBytes, showCount, showSpan } from '../display.ts'
import { logHref } from '../log-address.ts'
import { Inert, LoadState, Time } from '../parts/text.tsx'
import { BASE } from '../place.ts'
import { useResource } from '../resource.ts'

const REFRESH_MS = 5000

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

/** The part of the same answer of a hub. */
interface HubStatus {
  readonly version: string
  readonly started_at: string
  readonly rev: number
  readonly feeds: number
  readonly listening: boolean
}

export function ProgramState() {
  const status = useResource<GatewayStatus | HubStatus>('/status', REFRESH_MS)
  const { data } = status
  return (
    <LoadState resource={status}>
      {data === null ? null : 'store' in data ? <State status={data} /> : <HubState status={data} />}
    </LoadState>
  )
}

const HubState = ({ status }: { readonly status: HubStatus }) => (
  <div class="cards">
    <section class="card" aria-label="Hub">
      <h2>Hub</h2>
      <p class={status.listening ? 'good' : 'failure'}>
        {status.listening ? 'Notified of changes by the database' : 'Asks the database for changes'}
      </p>
      <p>
        <a href={`${BASE}fleet`}>
          {showCount(status.feeds)} {status.feeds === 1 ? 'sidecar' : 'sidecars'}
        </a>{' '}
        at this hub · revision {status.rev} · version {status.version} · running for{' '}
        {showSpan(Date.now() - Date.parse(status.started_at))}
      </p>
    </section>
  </div>
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
              <a href={logHref({ upstream: name })}>
                <Inert text={name} />
              </a>
              : <span class={open ? 'failure' : 'good'}>{open ? 'failing, calls avoid it' : 'in use'}</span>
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
