// Dialogs that change rules, and the rules as YAML for a pull request.

import { useState } from 'preact/hooks'
import { callApi } from '../gateway-api.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { ActionForm, Dialog, Field } from '../parts/dialog.tsx'
import { Select } from '../parts/select.tsx'
import { Inert, LoadState } from '../parts/text.tsx'
import { type PolicyRule, RULE_ACTIONS, RULE_TYPES } from '../policy-rule.ts'
import { useResource } from '../resource.ts'

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

export function NewRuleDialog({ onClose }: { readonly onClose: () => void }) {
  const [rule, setRule] = useState({ name: '', type: 'keyword_block', pattern: '', action: 'block' })
  const set = (name: keyof typeof rule) => (value: string) => setRule({ ...rule, [name]: value })
  const input = (name: keyof typeof rule) => (event: { currentTarget: { value: string } }) =>
    set(name)(event.currentTarget.value)
  const send = async () => {
    await callApi('/rules', { method: 'POST', body: { ...rule, enabled: true } })
    onClose()
  }
  return (
    <Dialog title="New rule" onClose={onClose}>
      <ActionForm action="Create" fields={Object.keys(rule)} send={send}>
        {(failure) => (
          <>
            <Field label="Name" name="name" failure={failure}>
              <input required value={rule.name} onInput={input('name')} />
            </Field>
            <Field label="Type" name="type" failure={failure}>
              <Select options={RULE_TYPES} value={rule.type} onSelect={set('type')} />
            </Field>
            <Field
              label="Pattern"
              name="pattern"
              failure={failure}
              hint="Words or an expression; kinds of personal data or *; a threshold; or a limit such as 1M/1d."
            >
              <input value={rule.pattern} onInput={input('pattern')} />
            </Field>
            <Field label="Action" name="action" failure={failure}>
              <Select options={RULE_ACTIONS} value={rule.action} onSelect={set('action')} />
            </Field>
          </>
        )}
      </ActionForm>
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
