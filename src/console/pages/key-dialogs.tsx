// Dialogs that create, rotate and revoke API keys.

import { useState } from 'preact/hooks'
import type { ApiKey, IssuedKey } from '../api-key.ts'
import { callApi } from '../gateway-api.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { ActionForm, Dialog, Field } from '../parts/dialog.tsx'
import { Select } from '../parts/select.tsx'
import { Inert } from '../parts/text.tsx'

const GRACES = [
  { value: '0', title: 'stops at once' },
  { value: '3600', title: 'works for one more hour' },
  { value: '86400', title: 'works for one more day' },
  { value: '604800', title: 'works for one more week' },
] as const

export function CreateKeyDialog({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('')
  const [models, setModels] = useState('')
  const [expires, setExpires] = useState('')
  const [issued, setIssued] = useState<IssuedKey | null>(null)
  const send = async () => {
    const globs = models.split(/[\s,]+/).filter((one) => one !== '')
    const body = {
      name,
      ...(globs.length === 0 ? {} : { models: globs }),
      ...(expires === '' ? {} : { expires_at: new Date(expires).toISOString() }),
    }
    setIssued(await callApi<IssuedKey>('/keys', { method: 'POST', body }))
  }
  if (issued !== null) return <IssuedDialog title="Key created" issued={issued} onClose={onClose} />
  return (
    <Dialog title="Create a key" onClose={onClose}>
      <ActionForm action="Create" fields={['name', 'models', 'expires_at']} send={send}>
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
            <Field
              label="Models"
              name="models"
              failure={failure}
              hint="Names or globs such as openai/*, separated by commas; empty for all."
            >
              <input value={models} onInput={(event) => setModels(event.currentTarget.value)} />
            </Field>
            <Field label="Expires" name="expires_at" failure={failure} hint="Empty for never.">
              <input
                type="datetime-local"
                value={expires}
                onInput={(event) => setExpires(event.currentTarget.value)}
              />
            </Field>
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

export function RotateKeyDialog({ apiKey, onClose }: KeyDialogProps) {
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

interface RevokeKeyDialogProps extends KeyDialogProps {
  /** Number of keys that it replaced and that still work. */
  readonly older: number
}

export function RevokeKeyDialog({ apiKey, older, onClose }: RevokeKeyDialogProps) {
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
