// Dialogs that change rules, and the rules as YAML for a pull request.

import { useState } from 'preact/hooks'
import { visible } from '../../core/hidden-characters.ts'
import { callApi } from '../gateway-api.ts'
import type { ChangeList } from '../last-changes.ts'
import { ChangeTable } from '../parts/change-table.tsx'
import { CopyButton } from '../parts/copy-button.tsx'
import { ActionForm, Dialog, Field } from '../parts/dialog.tsx'
import { Select } from '../parts/select.tsx'
import { Inert, LoadState, Time } from '../parts/text.tsx'
import type { PolicyRule } from '../policy-rule.ts'
import { useResource } from '../resource.ts'
import { type RuleBody, ruleYaml } from '../rule-draft.ts'

const DURATIONS = [
  { value: '3600', title: 'one hour' },
  { value: '14400', title: 'four hours' },
  { value: '86400', title: 'one day' },
  { value: '604800', title: 'one week' },
  { value: '', title: 'until the file changes' },
] as const

interface RuleDialogProps {
  readonly rule: PolicyRule
  readonly onClose: () => void
}

export function ToggleRuleDialog({ rule, onClose }: RuleDialogProps) {
  const [reason, setReason] = useState('')
  const [ttl, setTtl] = useState<string>(DURATIONS[0].value)
  const isFile = rule.source.kind === 'file'
  const verb = rule.enabled ? 'Disable' : 'Enable'
  const send = async () => {
    const body = {
      enabled: !rule.enabled,
      ...(reason === '' ? {} : { reason }),
      ...(isFile && ttl !== '' ? { ttl_seconds: Number(ttl) } : {}),
    }
    await callApi(`/rules/${encodeURIComponent(rule.id)}`, { method: 'PATCH', body })
    onClose()
  }
  return (
    <Dialog title={`${verb} a rule`} onClose={onClose}>
      <ActionForm
        action={verb}
        isDangerous={rule.enabled}
        isDisabled={reason.trim() === ''}
        fields={['reason', 'ttl_seconds']}
        send={send}
      >
        {(failure) => (
          <>
            <p>
              <strong>
                <Inert text={rule.name} />
              </strong>
              : the change takes effect at once, in your name, and is sealed in the log.
            </p>
            <Field label="Reason" name="reason" failure={failure}>
              <input
                required
                maxLength={500}
                value={reason}
                onInput={(event) => setReason(event.currentTarget.value)}
              />
            </Field>
            {isFile ? (
              <Field label="For" name="ttl_seconds" failure={failure} hint="Then the file decides again.">
                <Select options={DURATIONS} value={ttl} onSelect={setTtl} />
              </Field>
            ) : null}
          </>
        )}
      </ActionForm>
    </Dialog>
  )
}

export function DeleteRuleDialog({ rule, onClose }: RuleDialogProps) {
  const send = async () => {
    await callApi(`/rules/${encodeURIComponent(rule.id)}`, { method: 'DELETE' })
    onClose()
  }
  return (
    <Dialog title="Delete a rule" onClose={onClose}>
      <ActionForm action="Delete" isDangerous fields={[]} send={send}>
        {() => (
          <p>
            <strong>
              <Inert text={rule.name} />
            </strong>{' '}
            stops applying at once.
          </p>
        )}
      </ActionForm>
    </Dialog>
  )
}

/** An item of an answer of `GET /api/v1/rules/{id}/history`. */
interface RuleVersion {
  readonly revision: string
  readonly first_seen_at: string
  /** Null for a set without the rule. */
  readonly rule: RuleBody | null
}

/** What a rule said in the rule sets of the log, and who changed it through the API. */
export function RuleHistoryDialog({ rule, onClose }: RuleDialogProps) {
  const id = encodeURIComponent(rule.id)
  const history = useResource<{ readonly versions: readonly RuleVersion[] }>(`/rules/${id}/history`)
  const changes = useResource<ChangeList>(`/audit/changes?limit=100&about=${id}`)
  return (
    <Dialog title="History of a rule" isDrawer onClose={onClose}>
      <p>
        <strong>
          <Inert text={rule.name} />
        </strong>
      </p>
      <LoadState resource={history}>
        <ol class="versions">
          {history.data?.versions.map(({ revision, first_seen_at, rule: said }) => (
            <li key={revision}>
              <p>
                Since <Time at={first_seen_at} />, revision <code>{revision}</code>
              </p>
              {said === null ? (
                <p class="empty">Not in the set.</p>
              ) : (
                <pre tabIndex={0}>{visible(ruleYaml(said))}</pre>
              )}
            </li>
          ))}
        </ol>
      </LoadState>
      <h3>Changes through the API</h3>
      <LoadState resource={changes}>
        <ChangeTable label="Changes of the rule" changes={changes.data?.changes ?? []} />
      </LoadState>
    </Dialog>
  )
}

export function RulesYaml({ onClose }: { readonly onClose: () => void }) {
  const yaml = useResource<string>('/rules?format=yaml')
  return (
    <Dialog title="Rules as YAML" isDrawer onClose={onClose}>
      <p>The effective rules as one file. Commit it to make overrides permanent.</p>
      <LoadState resource={yaml}>
        {yaml.data === null ? null : (
          <>
            <CopyButton label="Copy" text={yaml.data} />
            <pre tabIndex={0}>{yaml.data}</pre>
          </>
        )}
      </LoadState>
    </Dialog>
  )
}
