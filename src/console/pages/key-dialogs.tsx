// Dialogs that create, rotate and revoke API keys.

import { useEffect, useState } from 'preact/hooks'
import type { ApiKey, IssuedKey } from '../api-key.ts'
import { callApi } from '../gateway-api.ts'
import { changedTerms, draftOf, NO_KEY_TERMS, newKeyBody } from '../key-draft.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { ActionForm, Dialog, Field } from '../parts/dialog.tsx'
import type { KeyAction } from '../parts/key-parts.tsx'
import { Select } from '../parts/select.tsx'
import { TERM_NAMES, TermFields } from '../parts/term-fields.tsx'
import { Inert } from '../parts/text.tsx'
import { useZone } from '../zone.ts'

const GRACES = [
  { value: '0', title: 'stops at once' },
  { value: '3600', title: 'works for one more hour' },
  { value: '86400', title: 'works for one more day' },
  { value: '604800', title: 'works for one more week' },
] as const

export function CreateKeyDialog({ onClose }: { readonly onClose: () => void }) {
  const zone = useZone()
  const [name, setName] = useState('')
  const [draft, setDraft] = useState(NO_KEY_TERMS)
  const [issued, setIssued] = useState<IssuedKey | null>(null)
  const send = async () => {
    const body = newKeyBody(name, draft, zone)
    setIssued(await callApi<IssuedKey>('/keys', { method: 'POST', body }))
  }
  if (issued !== null) return <IssuedDialog title="Key created" issued={issued} onClose={onClose} />
  return (
    <Dialog title="Create a key" onClose={onClose}>
      <ActionForm action="Create" fields={['name', ...TERM_NAMES]} send={send}>
        {(failure) => (
          <>
            <Field label="Name" name="name" failure={failure} hint="The service, not a person.">
              <input
                required
                maxLength={128}
                value={name}
                onInput={(event) => setName(event.currentTarget.value)}
              />
            </Field>
            <TermFields draft={draft} onChange={setDraft} failure={failure} />
          </>
        )}
      </ActionForm>
    </Dialog>
  )
}

function EditKeyDialog({ apiKey, onClose }: KeyDialogProps) {
  const zone = useZone()
  const [before] = useState(() => draftOf(apiKey, zone))
  const [draft, setDraft] = useState(before)
  const body = changedTerms(before, draft, zone)
  const send = async () => {
    await callApi(`/keys/${encodeURIComponent(apiKey.id)}`, { method: 'PATCH', body })
    onClose()
  }
  return (
    <Dialog title="Change a key" onClose={onClose}>
      <ActionForm action="Save" isDisabled={Object.keys(body).length === 0} fields={TERM_NAMES} send={send}>
        {(failure) => (
          <>
            <p>
              The new terms of{' '}
              <strong>
                <Inert text={apiKey.name} />
              </strong>{' '}
              take effect with its next call.
            </p>
            <TermFields draft={draft} onChange={setDraft} failure={failure} />
          </>
        )}
      </ActionForm>
    </Dialog>
  )
}

interface KeyDialogProps {
  readonly apiKey: ApiKey
  readonly onClose: () => void
}

function RotateKeyDialog({ apiKey, onClose }: KeyDialogProps) {
  const [grace, setGrace] = useState<string>(GRACES[2].value)
  const [issued, setIssued] = useState<IssuedKey | null>(null)
  const send = async () => {
    const path = `/keys/${encodeURIComponent(apiKey.id)}/rotate`
    setIssued(await callApi<IssuedKey>(path, { method: 'POST', body: { grace_seconds: Number(grace) } }))
  }
  if (issued !== null) return <IssuedDialog title="Key rotated" issued={issued} onClose={onClose} />
  return (
    <Dialog title="Rotate a key" onClose={onClose}>
      <ActionForm action="Rotate" fields={['grace_seconds']} send={send}>
        {(failure) => (
          <>
            <p>
              A new key takes the place of{' '}
              <strong>
                <Inert text={apiKey.name} />
              </strong>
              , with the same limits.
            </p>
            <Field label="The old key" name="grace_seconds" failure={failure}>
              <Select options={GRACES} value={grace} onSelect={setGrace} />
            </Field>
          </>
        )}
      </ActionForm>
    </Dialog>
  )
}

/** Maximum rotations that are followed back. */
const MAXIMUM_PREDECESSORS = 8

/** Number of keys that a key replaced, at any distance, and that still work. */
function useWorkingPredecessors({ replaces }: ApiKey): number {
  const [count, setCount] = useState(0)
  useEffect(() => {
    const aborted = new AbortController()
    const look = async () => {
      let found = 0
      let id = replaces
      for (let step = 0; id !== null && step < MAXIMUM_PREDECESSORS; step++) {
        const path = `/keys/${encodeURIComponent(id)}`
        const older: ApiKey | null = await callApi<ApiKey>(path, aborted).catch(() => null)
        if (older?.state === 'active') found++
        id = older?.replaces ?? null
      }
      if (!aborted.signal.aborted) setCount(found)
    }
    void look()
    return () => aborted.abort()
  }, [replaces])
  return count
}

function RevokeKeyDialog({ apiKey, onClose }: KeyDialogProps) {
  const older = useWorkingPredecessors(apiKey)
  const [typed, setTyped] = useState('')
  const [isForOlder, setForOlder] = useState(false)
  const send = async () => {
    const query = isForOlder ? '?revoke_predecessor=true' : ''
    await callApi(`/keys/${encodeURIComponent(apiKey.id)}${query}`, { method: 'DELETE' })
    onClose()
  }
  return (
    <Dialog title="Revoke a key" onClose={onClose}>
      <ActionForm action="Revoke" isDangerous isDisabled={typed !== apiKey.name} fields={[]} send={send}>
        {() => (
          <>
            <p>
              Calls with{' '}
              <strong>
                <Inert text={apiKey.name} />
              </strong>{' '}
              fail at once. A revoked key never works again.
            </p>
            {older === 0 ? null : (
              <label class="check">
                <input
                  type="checkbox"
                  checked={isForOlder}
                  onChange={(event) => setForOlder(event.currentTarget.checked)}
                />
                <span>
                  {older === 1
                    ? 'Also revoke the older key that still works'
                    : `Also revoke the ${older} older keys that still work`}
                </span>
              </label>
            )}
            <label>
              <span>Type the name of the key</span>
              <input
                required
                autocomplete="off"
                value={typed}
                onInput={(event) => setTyped(event.currentTarget.value)}
              />
            </label>
          </>
        )}
      </ActionForm>
    </Dialog>
  )
}

interface IssuedDialogProps {
  readonly title: string
  readonly issued: IssuedKey
  readonly onClose: () => void
}

const IssuedDialog = ({ title, issued, onClose }: IssuedDialogProps) => (
  <Dialog title={title} onClose={onClose}>
    <p>
      This is the only time that the key of{' '}
      <strong>
        <Inert text={issued.name} />
      </strong>{' '}
      is shown. Keep it in a secret store.
    </p>
    <label>
      <span>API key</span>
      <input readOnly value={issued.key} onFocus={(event) => event.currentTarget.select()} />
    </label>
    <CopyButton label="Copy" text={issued.key} />
  </Dialog>
)

interface KeyActionDialogProps extends KeyDialogProps {
  readonly kind: KeyAction
}

export function KeyActionDialog({ kind, ...props }: KeyActionDialogProps) {
  if (kind === 'edit') return <EditKeyDialog {...props} />
  return kind === 'rotate' ? <RotateKeyDialog {...props} /> : <RevokeKeyDialog {...props} />
}
