// The evidence: chain head, checkpoint, full check, export, receipts, and who changed what.

import { useState } from 'preact/hooks'
import { showCount } from '../display.ts'
import { callApi } from '../gateway-api.ts'
import type { ChangeList } from '../last-changes.ts'
import { ChangeTable } from '../parts/change-table.tsx'
import { CopyButton } from '../parts/copy-button.tsx'
import { Inert, LoadState, Time } from '../parts/text.tsx'
import { API } from '../place.ts'
import type { CheckpointAnswer } from '../proof-check.ts'
import { useResource } from '../resource.ts'
import { useServes } from '../served.ts'
import { useMay } from '../signed-in.ts'
import { ReceiptCheck } from './receipt-check.tsx'

/** Interval at which a running check is followed, milliseconds. */
const FOLLOW_MS = 500
const IDLE_MS = 15_000
const MAXIMUM_CHANGES = 100

export function AuditPage() {
  const mayVerify = useMay('auditor')
  // A receipt of a sidecar has its key: the drawer of a call shows the proof.
  const isAtHub = useServes('fleet')
  return (
    <>
      <header class="page-head">
        <h1>Audit</h1>
        {mayVerify ? (
          <a class="button" download="sidegate-log.jsonl" href={`${API}/audit/export`}>
            Export the log
          </a>
        ) : null}
      </header>
      <div class="cards">
        <CheckpointCard />
        <VerificationCard mayVerify={mayVerify} />
      </div>
      {isAtHub ? null : <ReceiptCheck />}
      <Changes />
    </>
  )
}

function CheckpointCard() {
  const checkpoint = useResource<CheckpointAnswer>('/audit/checkpoint', IDLE_MS)
  const { data } = checkpoint
  return (
    <section class="card" aria-label="Newest checkpoint">
      <h2>Newest checkpoint</h2>
      <LoadState resource={checkpoint}>
        {data === null ? null : (
          <>
            <p>
              {showCount(data.size)} entries, signed <Time at={data.created_at} />
            </p>
            <pre tabIndex={0}>{data.checkpoint}</pre>
            <CopyButton label="Copy the checkpoint" text={data.checkpoint} />{' '}
            <CopyButton label="Copy the public key" text={data.public_key} />
          </>
        )}
      </LoadState>
    </section>
  )
}

interface LogFindings {
  readonly log: string | null
  /** The first place that may differ; null when no place is known. */
  readonly findings: readonly { readonly seq: number | null; readonly reason: string }[]
}

/** What a check found: in one log, or at a hub in those of all sidecars. */
interface CheckResult extends Partial<LogFindings> {
  readonly entries?: number
  /** Logs with findings. */
  readonly damaged?: number
  /** Logs with findings first. */
  readonly logs?: readonly (LogFindings & {
    /** Null for that of the hubs. */
    readonly sidecar: string | null
    readonly name: string | null
    readonly ok: boolean
  })[]
}

/** An answer of `GET /api/v1/audit/verify`. */
interface CheckState {
  readonly running: boolean
  /** From 0 to 1. */
  readonly progress: number
  readonly ok: boolean | null
  readonly finished_at: string | null
  readonly result: CheckResult | null
  readonly error: string | null
}

function VerificationCard({ mayVerify }: { readonly mayVerify: boolean }) {
  const [isFollowed, setFollowed] = useState(false)
  const check = useResource<CheckState>('/audit/verify', isFollowed ? FOLLOW_MS : IDLE_MS)
  const { data, reload } = check
  const isRunning = data?.running === true
  if (isFollowed !== isRunning && data !== null) setFollowed(isRunning)
  const [failure, setFailure] = useState<string | null>(null)
  const act = (method: 'POST' | 'DELETE') => async () => {
    setFailure(null)
    const sent = callApi('/audit/verify', { method }).catch((error: Error) => setFailure(error.message))
    setFollowed(true)
    await sent
    reload()
  }
  return (
    <section class="card" aria-label="Verification">
      <h2>Verification</h2>
      <LoadState resource={check}>
        {data === null ? null : (
          <>
            {isRunning ? (
              <p>
                <label>
                  Reading the whole log, {Math.round(data.progress * 100)} %
                  <progress max={1} value={data.progress} />
                </label>
              </p>
            ) : null}
            {data.ok === null ? (
              <p class="empty">Not checked since the start.</p>
            ) : (
              <p role="status" class={data.ok ? 'good' : 'failure'}>
                {data.ok
                  ? `Intact: ${showCount(data.result?.entries ?? null)} entries`
                  : damageOf(data.result)}
                , checked <Time at={data.finished_at} />
              </p>
            )}
            <DamagedLogs result={data.result} />
            {data.error === null ? null : (
              <p class="failure">
                <Inert text={data.error} />
              </p>
            )}
          </>
        )}
      </LoadState>
      {failure === null ? null : <p class="failure">{failure}</p>}
      {mayVerify ? (
        isRunning ? (
          <button type="button" onClick={act('DELETE')}>
            Cancel
          </button>
        ) : (
          <button type="button" onClick={act('POST')}>
            Verify the whole log
          </button>
        )
      ) : null}
    </section>
  )
}

/** Most damaged logs that are listed. */
const MAXIMUM_LOGS = 50

function damageOf(result: CheckResult | null): string {
  const { damaged, findings } = result ?? {}
  if (damaged === undefined) return `Damaged: ${showCount(findings?.length ?? null)} findings`
  return `Damaged: ${showCount(damaged)} ${damaged === 1 ? 'log' : 'logs'}`
}

/** Lists the damaged logs of a fleet, each with the first thing that was found. */
function DamagedLogs({ result }: { readonly result: CheckResult | null }) {
  const damaged = (result?.logs ?? []).filter(({ ok }) => !ok).slice(0, MAXIMUM_LOGS)
  if (damaged.length === 0) return null
  const more = (result?.damaged ?? damaged.length) - damaged.length
  return (
    <ul aria-label="Damaged logs">
      {damaged.map(({ sidecar, name, log, findings: [first] }) => (
        <li key={`${sidecar} ${log}`}>
          <Inert text={name ?? sidecar ?? 'hubs'} />, log <code>{log}</code>
          {first?.seq == null ? '' : `, at entry ${showCount(first.seq)}`}:{' '}
          <Inert text={first?.reason ?? 'no reason is known'} />
        </li>
      ))}
      {more > 0 ? <li>{showCount(more)} more</li> : null}
    </ul>
  )
}

function Changes() {
  const changes = useResource<ChangeList>(`/audit/changes?limit=${MAXIMUM_CHANGES}`)
  return (
    <section aria-labelledby="changes-title">
      <h2 id="changes-title">Who changed what</h2>
      <LoadState resource={changes}>
        <ChangeTable label="Changes, newest first" changes={changes.data?.changes ?? []} />
      </LoadState>
    </section>
  )
}
