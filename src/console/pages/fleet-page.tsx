// The sidecars of a hub: what each has of the newest revision, what it refused and the state of its
// logs. Declares those gone that run no more.

import { useState } from 'preact/hooks'
import { showCount, showSpan } from '../display.ts'
import { callApi } from '../gateway-api.ts'
import { DataTable, type TableColumn } from '../parts/data-table.tsx'
import { ActionForm, Dialog } from '../parts/dialog.tsx'
import { Inert, LoadState, Time } from '../parts/text.tsx'
import { useResource } from '../resource.ts'
import { useMay } from '../signed-in.ts'

const REFRESH_MS = 5000
/** Sidecars that the page shows, the ones that need attention first. */
const MAXIMUM_SIDECARS = 1000
const STATES = ['silent', 'connected', 'left', 'gone'] as const
/** Those whose answer a change waits for. */
const PRESENT: ReadonlySet<string> = new Set(['silent', 'connected'])

interface SidecarView {
  readonly id: string
  readonly name: string
  readonly version: string
  readonly state: (typeof STATES)[number]
  /** Revision that it has for good. */
  readonly acked_rev: number
  readonly last_seen_at: string
  readonly max_stale_seconds: number
  readonly nack: readonly { readonly rev: number; readonly reason: string; readonly rule?: string }[]
  readonly logs: readonly {
    readonly log: string
    readonly seq: number
    readonly state: 'open' | 'closed' | 'cut' | 'forked'
    readonly last_at: string
  }[]
  readonly unsent_rules: readonly string[]
}

interface HubView {
  readonly id: string
  readonly version: string
  readonly connected: number
  readonly seen_at: string
}

/** An answer of `GET /api/v1/fleet`. */
interface FleetAnswer {
  readonly rev: number
  readonly hubs: readonly HubView[]
  readonly sidecars: readonly SidecarView[]
  readonly total: number
  readonly conflicts: readonly {
    readonly key_id: string
    readonly key_name: string
    readonly sidecars: readonly string[]
  }[]
}

export function FleetPage() {
  const fleet = useResource<FleetAnswer>('/fleet', REFRESH_MS)
  const mayDeclare = useMay('admin')
  const [leaving, setLeaving] = useState<SidecarView | null>(null)
  const close = () => {
    setLeaving(null)
    fleet.reload()
  }
  return (
    <>
      <header class="page-head">
        <h1>Fleet</h1>
      </header>
      <LoadState resource={fleet}>
        {fleet.data === null ? null : (
          <>
            <Summary fleet={fleet.data} />
            <Sidecars fleet={fleet.data} onDeclare={mayDeclare ? setLeaving : null} />
            <Hubs hubs={fleet.data.hubs} />
          </>
        )}
      </LoadState>
      {leaving === null ? null : <GoneDialog sidecar={leaving} onClose={close} />}
    </>
  )
}

const waitsFor = ({ state, acked_rev }: SidecarView, rev: number): boolean =>
  PRESENT.has(state) && acked_rev < rev

function Summary({ fleet: { rev, sidecars, conflicts } }: { readonly fleet: FleetAnswer }) {
  const behind = sidecars.filter((one) => waitsFor(one, rev))
  return (
    <>
      <p role="status" class={behind.length === 0 ? 'good' : 'failure'}>
        {behind.length === 0
          ? `Revision ${rev} is at every sidecar that runs.`
          : `Revision ${rev} waits for ${showCount(behind.length)} of ${showCount(sidecars.length)} sidecars.`}
      </p>
      {conflicts.map(({ key_id, key_name, sidecars: refusing }) => (
        <p key={key_id} class="failure">
          The key <Inert text={key_name} /> is active here and revoked at <Inert text={refusing.join(', ')} />
          , which refuse it. The database is older than they are; revoke the key, or make another one.
        </p>
      ))}
    </>
  )
}

interface SidecarsProps {
  readonly fleet: FleetAnswer
  /** Null for a reader who may declare none gone. */
  readonly onDeclare: ((sidecar: SidecarView) => void) | null
}

/** Those that a change waits for first, then by state and name. */
const inOrder = (sidecars: readonly SidecarView[], rev: number): SidecarView[] =>
  [...sidecars].sort(
    (a, b) =>
      Number(waitsFor(b, rev)) - Number(waitsFor(a, rev)) ||
      STATES.indexOf(a.state) - STATES.indexOf(b.state) ||
      a.name.localeCompare(b.name),
  )

function Sidecars({ fleet: { rev, sidecars }, onDeclare }: SidecarsProps) {
  if (sidecars.length === 0) return <p class="empty">No sidecar has connected yet.</p>
  const rows = inOrder(sidecars, rev).slice(0, MAXIMUM_SIDECARS)
  return (
    <>
      {rows.length < sidecars.length ? (
        <p class="muted">{`${showCount(rows.length)} of ${showCount(sidecars.length)} sidecars are shown.`}</p>
      ) : null}
      <DataTable
        label="Sidecars"
        columns={columnsOf(rev, onDeclare)}
        rows={rows}
        keyOf={({ id }) => id}
        isOff={({ state }) => !PRESENT.has(state)}
      />
    </>
  )
}

const columnsOf = (rev: number, onDeclare: SidecarsProps['onDeclare']): TableColumn<SidecarView>[] => [
  { title: 'Sidecar', cell: ({ name }) => <Inert text={name} /> },
  {
    title: 'State',
    cell: ({ state }) => <span class={state === 'silent' ? 'failure' : undefined}>{state}</span>,
  },
  { title: 'Version', cell: ({ version }) => <Inert text={version} /> },
  { title: 'Revision', cell: (sidecar) => <Revision sidecar={sidecar} rev={rev} /> },
  { title: 'Last heard', look: 'wide', cell: (sidecar) => <LastHeard sidecar={sidecar} /> },
  { title: 'Refused', look: 'wide', cell: (sidecar) => <Refused sidecar={sidecar} /> },
  { title: 'Logs', look: 'wide', cell: ({ logs }) => <Logs logs={logs} /> },
  ...(onDeclare === null
    ? []
    : [
        {
          title: 'Change',
          cell: (sidecar: SidecarView) =>
            sidecar.state === 'silent' ? (
              <button type="button" class="danger" onClick={() => onDeclare(sidecar)}>
                Declare gone
              </button>
            ) : null,
        },
      ]),
]

const Revision = ({ sidecar, rev }: { readonly sidecar: SidecarView; readonly rev: number }) => (
  <>
    {sidecar.acked_rev}
    {waitsFor(sidecar, rev) ? (
      <small class="failure">{`${showCount(rev - sidecar.acked_rev)} behind`}</small>
    ) : null}
  </>
)

const LastHeard = ({ sidecar }: { readonly sidecar: SidecarView }) => (
  <>
    <Time at={sidecar.last_seen_at} />
    {sidecar.state === 'silent' ? (
      <small>{`refuses keys of the hub ${showSpan(sidecar.max_stale_seconds * 1000)} later`}</small>
    ) : null}
  </>
)

const Refused = ({ sidecar: { nack, unsent_rules: unsent } }: { readonly sidecar: SidecarView }) =>
  nack.length === 0 && unsent.length === 0 ? (
    <span class="muted">nothing</span>
  ) : (
    <ul>
      {nack.map(({ rev, reason, rule }) => (
        <li key={`${rev} ${rule}`} class="failure">
          {rule === undefined ? `Revision ${rev}` : <Inert text={rule} />}: <Inert text={reason} />
        </li>
      ))}
      {unsent.map((name) => (
        <li key={name}>
          <Inert text={name} />: not sent, its release does not know it
        </li>
      ))}
    </ul>
  )

const Logs = ({ logs }: Pick<SidecarView, 'logs'>) => (
  <ul>
    {logs.map(({ log, seq, state, last_at }) => (
      <li key={log}>
        <span class={state === 'cut' || state === 'forked' ? 'failure' : undefined}>{state}</span> at entry{' '}
        {showCount(seq)}, <Time at={last_at} />
        <small>
          <code>{log}</code>
        </small>
      </li>
    ))}
  </ul>
)

const HUB_COLUMNS: readonly TableColumn<HubView>[] = [
  { title: 'Hub', look: 'wide', cell: ({ id }) => <code>{id}</code> },
  { title: 'Version', cell: ({ version }) => <Inert text={version} /> },
  { title: 'Sidecars', look: 'number', cell: ({ connected }) => showCount(connected) },
  { title: 'Last wrote', look: 'wide', cell: ({ seen_at }) => <Time at={seen_at} /> },
]

const Hubs = ({ hubs }: Pick<FleetAnswer, 'hubs'>) => (
  <>
    <h2>Hubs</h2>
    <DataTable label="Hubs" columns={HUB_COLUMNS} rows={hubs} keyOf={({ id }) => id} />
  </>
)

interface GoneDialogProps {
  readonly sidecar: SidecarView
  readonly onClose: () => void
}

function GoneDialog({ sidecar: { id, name }, onClose }: GoneDialogProps) {
  const [isSure, setSure] = useState(false)
  const send = async () => {
    await callApi(`/fleet/${encodeURIComponent(id)}`, { method: 'DELETE' })
    onClose()
  }
  return (
    <Dialog title="Declare a sidecar gone" onClose={onClose}>
      <ActionForm action="Declare gone" isDangerous isDisabled={!isSure} fields={[]} send={send}>
        {() => (
          <>
            <p>
              Changes no longer wait for{' '}
              <strong>
                <Inert text={name} />
              </strong>
              . If it still runs, it decides by its old keys and rules, and no answer says so.
            </p>
            <label class="check">
              <input
                type="checkbox"
                checked={isSure}
                onChange={(event) => setSure(event.currentTarget.checked)}
              />
              <span>It runs no more</span>
            </label>
          </>
        )}
      </ActionForm>
    </Dialog>
  )
}
