// One call in full: its exchange, what was found and decided, where the time went, and its proof.

import { useState } from 'preact/hooks'
import type { UsageView } from '../../audit/entry-fields.ts'
import { visible } from '../../core/hidden-characters.ts'
import { showBytes, showCount, showMs, showUsd } from '../display.ts'
import { API_PATHS } from '../gateway-facts.ts'
import { logHref } from '../log-address.ts'
import { decidingRule, OutcomeTag, TERMS_OF_KEY } from '../parts/call-table.tsx'
import { CopyButton } from '../parts/copy-button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Fact } from '../parts/fact.tsx'
import { KeyLabels, keyHref } from '../parts/key-parts.tsx'
import { ProofView } from '../parts/proof-view.tsx'
import { Inert, LoadState, Time } from '../parts/text.tsx'
import type { ReceiptDocument } from '../proof-check.ts'
import { useResource } from '../resource.ts'
import { useServes } from '../served.ts'
import { useMay } from '../signed-in.ts'

/** What redaction leaves in place of a value: numbered for a call, with a pseudonym, or neither. */
const PLACEHOLDER = /(\[[A-Z][A-Z_]*(?:_(?:\d+|[2-9a-kmnp-z]{8,51}))?\])/
/** Characters of a text shown before the reader asks for the rest. */
const SHOWN_CHARACTERS = 20_000

/** An answer of `GET /api/v1/usage/logs/{id}`. */
interface WholeEntry extends UsageView {
  readonly request: unknown
  readonly response: unknown
  readonly erased: boolean
  /** Only at a hub: the name of the sidecar that sealed it. */
  readonly sidecar?: string | null
}

interface EntryDrawerProps {
  readonly id: string
  readonly onClose: () => void
}

export function EntryDrawer({ id, onClose }: EntryDrawerProps) {
  const resource = useResource<WholeEntry>(`/usage/logs/${encodeURIComponent(id)}`)
  return (
    <Dialog title="Call" isDrawer onClose={onClose}>
      <LoadState resource={resource}>
        {resource.data === null ? null : <Entry entry={resource.data} />}
      </LoadState>
    </Dialog>
  )
}

function Entry({ entry }: { readonly entry: WholeEntry }) {
  const mayReadTexts = useMay('auditor')
  const [isProofShown, setProofShown] = useState(false)
  const hasReceipts = useServes('receipts')
  return (
    <>
      <dl>
        <Fact name="Time">
          <Time at={entry.created_at} />
        </Fact>
        <Fact name="Outcome">
          <OutcomeTag {...entry} />
        </Fact>
        <DecidedBy entry={entry} />
        <Fact name="Key">
          <a href={keyHref(entry.key_id)}>
            <Inert text={entry.key_name} />
          </a>{' '}
          <a href={logHref({ key_id: entry.key_id })}>its calls</a>
        </Fact>
        {entry.labels === undefined ? null : (
          <Fact name="Labels">
            <KeyLabels labels={entry.labels} />
          </Fact>
        )}
        {entry.user === null ? null : (
          <Fact name="User">
            <Inert text={entry.user} />
          </Fact>
        )}
        {entry.run === undefined ? null : (
          <Fact name="Run">
            <a href={logHref({ run: entry.run })}>
              <Inert text={entry.run} />
            </a>
          </Fact>
        )}
        {entry.sidecar == null ? null : (
          <Fact name="Sidecar">
            <Inert text={entry.sidecar} />
          </Fact>
        )}
        <Fact name="Model">
          <Inert text={entry.model} /> <span class="muted">{entry.api}</span>
        </Fact>
        {entry.upstream === undefined ? null : (
          <Fact name="Upstream">
            <Inert text={entry.upstream} />
          </Fact>
        )}
        {entry.attempts === undefined ? null : (
          <Fact name="Attempts">{`${entry.attempts} sent upstream`}</Fact>
        )}
        {entry.unscanned === undefined ? null : (
          <>
            <Fact name="Scan">Passed unscanned</Fact>
            <Fact name="Request">
              {entry.method} <Inert text={entry.path ?? ''} />
            </Fact>
            <Fact name="Sizes">
              {`${showBytes(entry.request_bytes ?? null)} sent, ${showBytes(entry.response_bytes ?? null)} received`}
            </Fact>
          </>
        )}
        <Fact name="Tokens">
          {`${showCount(entry.prompt_tokens)} + ${showCount(entry.completion_tokens)}`}{' '}
          <span class="muted">
            {entry.usage_source === 'upstream' ? 'counted by the provider' : 'estimated'}
          </span>
        </Fact>
        <Fact name="Cost">{showUsd(entry.cost)}</Fact>
        <Fact name="Personal data">{entry.pii_types.join(', ') || 'none found'}</Fact>
        <Fact name="Rules">
          {entry.rules.length === 0
            ? 'none fired'
            : entry.rules.map(({ id, name, action }) => (
                <span key={id} class="tag">
                  <Inert text={name} />: {action}
                </span>
              ))}
        </Fact>
        {entry.tools === undefined ? null : (
          <Fact name="Tools">
            {entry.tools.map((tool) => (
              <div key={tool.name}>
                <Inert text={tool.name} />: {describeTool(tool)}
              </div>
            ))}
          </Fact>
        )}
        <Fact name="Rule set">
          <code>{entry.policy_revision}</code>
        </Fact>
        <Fact name="Request id">
          <code>{entry.id}</code>
        </Fact>
      </dl>
      <TimingBar entry={entry} />
      <Exchange entry={entry} mayRead={mayReadTexts} />
      <h3>Proof</h3>
      <p class="muted">
        Entry {showCount(entry.seq)} of the chain, hash <code>{entry.hash}</code>
      </p>
      {!hasReceipts ? null : isProofShown ? (
        <Proof id={entry.id} />
      ) : (
        <button type="button" onClick={() => setProofShown(true)}>
          Show the proof
        </button>
      )}
    </>
  )
}

/** Says what a call did with a tool. */
const describeTool = ({ defined, called, refused }: NonNullable<UsageView['tools']>[number]): string =>
  [
    ...(defined ? ['defined'] : []),
    ...(called > 0 ? [`called ${called}×`] : []),
    ...(refused > 0 ? [`refused ${refused}×`] : []),
  ].join(', ')

/** The rule that stopped a call: the first that blocks. */
function DecidedBy({ entry }: { readonly entry: WholeEntry }) {
  if (entry.stopped === null) return null
  const deciding = decidingRule(entry)
  return (
    <Fact name="Decided by">
      {deciding === undefined ? (
        TERMS_OF_KEY
      ) : (
        <a href={logHref({ rule: deciding.name })}>
          <Inert text={deciding.name} />
        </a>
      )}
    </Fact>
  )
}

/** Where the time of a call went: the gateway's part, and the upstream's until its first token. */
function TimingBar({ entry }: { readonly entry: WholeEntry }) {
  const { latency_ms, overhead_ms, ttft_ms } = entry
  const own = Math.min(overhead_ms, latency_ms)
  const first = Math.min(latency_ms, Math.max(own, ttft_ms ?? own))
  const phases = [
    { name: 'Sidegate', ms: own },
    ...(ttft_ms === null ? [] : [{ name: 'until the first token', ms: first - own }]),
    { name: ttft_ms === null ? 'upstream' : 'the rest of the answer', ms: latency_ms - first },
  ]
  return (
    <>
      <h3>Time taken: {showMs(latency_ms)}</h3>
      <div class="phases" aria-hidden="true">
        {phases.map(({ name, ms }) => (
          <span key={name} style={{ flexGrow: ms }} />
        ))}
      </div>
      <ul class="phase-names">
        {phases.map(({ name, ms }) => (
          <li key={name}>
            {name} {showMs(ms)}
          </li>
        ))}
      </ul>
    </>
  )
}

function Exchange({ entry, mayRead }: { readonly entry: WholeEntry; readonly mayRead: boolean }) {
  if (!mayRead) return <p class="empty">The texts of calls are shown to auditors and above.</p>
  if (entry.erased) return <p class="empty">The texts were erased. The entry and its proof remain.</p>
  if (entry.captured === false) return <p class="empty">The texts of this call were not to be stored.</p>
  const request = print(entry.request)
  const path = API_PATHS[entry.api]
  const curl = `curl "$SIDEGATE${path}" -H "authorization: Bearer $SIDEGATE_KEY" -H 'content-type: application/json' -d '${JSON.stringify(entry.request).replaceAll("'", "'\\''")}'`
  return (
    <>
      <header class="row">
        <h3>Request</h3>
        {entry.request === null || path === undefined ? null : (
          <CopyButton label="Copy as curl" text={curl} />
        )}
      </header>
      <Captured text={request} />
      <h3>Response</h3>
      <Captured text={print(entry.response)} />
    </>
  )
}

const print = (value: unknown): string =>
  value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value, null, 2)

/** A captured text, with its placeholders marked. */
function Captured({ text }: { readonly text: string }) {
  const [isWhole, setWhole] = useState(false)
  if (text === '') return <p class="empty">Nothing was captured.</p>
  const shown = isWhole ? text : text.slice(0, SHOWN_CHARACTERS)
  return (
    <>
      <pre tabIndex={0}>
        {visible(shown)
          .split(PLACEHOLDER)
          .map((part, index) => (index % 2 === 1 ? <mark key={index}>{part}</mark> : part))}
      </pre>
      {shown.length < text.length ? (
        <button type="button" onClick={() => setWhole(true)}>
          Show all {showCount(text.length)} characters
        </button>
      ) : null}
    </>
  )
}

function Proof({ id }: { readonly id: string }) {
  const resource = useResource<ReceiptDocument>(`/audit/receipts/${encodeURIComponent(id)}`)
  const { data } = resource
  return (
    <LoadState resource={resource}>
      {data === null ? null : <ProofView receipt={data} trustedKey={data.checkpoint.public_key} />}
    </LoadState>
  )
}
