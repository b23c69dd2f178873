// Dialogs that change rules, and the rules as YAML for a pull request.

import { useState } from 'preact/hooks'
import { callApi } from '../gateway-api.ts'
import { RULE_TYPES, type RuleTypeFacts } from '../gateway-facts.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { ActionForm, Dialog, Field } from '../parts/dialog.tsx'
import { Select } from '../parts/select.tsx'
import { Inert, LoadState } from '../parts/text.tsx'
import type { PolicyRule } from '../policy-rule.ts'
import { useResource } from '../resource.ts'
import { BOTH_DIRECTIONS, EMPTY_DRAFT, type RuleDraft, ruleBody } from '../rule-draft.ts'

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

const asOption = (value: string) => ({ value, title: value.replaceAll('_', ' ') })

const FIELDS = [
  ...['name', 'type', 'pattern', 'arguments', 'after', 'afterInjection', 'per', 'placeholders', 'action'],
  ...['kind', 'context', 'checksum', 'except', 'placeholder', 'match.apis'],
  ...['match.models', 'match.keys', 'match.labels', 'match.direction', 'match.parts'],
]

/** The fields of values that some types have. */
const VALUE_FIELDS: readonly {
  readonly name: keyof RuleDraft
  readonly label: string
  readonly hint: string
  readonly isList?: true
}[] = [
  { name: 'kind', label: 'Kind', hint: 'A word of your own, such as case_number.' },
  { name: 'context', label: 'Near words', hint: 'Such as case, ticket; anywhere when empty.' },
  { name: 'checksum', label: 'Check digits', hint: 'luhn, mod97, mod11, or empty.' },
  {
    ...{ name: 'except', label: 'Except', isList: true },
    hint: 'On each line an expression of values to leave alone, or samples.',
  },
  { name: 'placeholder', label: 'Placeholder', hint: 'With redact: NAME for [NAME_1]; KEYWORD when empty.' },
]

export function NewRuleDialog({ onClose }: { readonly onClose: () => void }) {
  const [draft, setDraft] = useState(EMPTY_DRAFT)
  const [type, setType] = useState<RuleTypeFacts>(RULE_TYPES[0]!)
  const [action, setAction] = useState(type.actions[0])
  const set = (name: keyof RuleDraft) => (value: string) => setDraft({ ...draft, [name]: value })
  const input = (name: keyof RuleDraft) => ({
    value: draft[name],
    onInput: (event: { currentTarget: { value: string } }) => set(name)(event.currentTarget.value),
  })
  const selectType = (name: string) => {
    const selected = RULE_TYPES.find((one) => one.name === name)!
    setType(selected)
    setAction(selected.actions[0])
    const conditions = { arguments: '', after: '', afterInjection: '' }
    const { kind, context, checksum, except, placeholder } = EMPTY_DRAFT
    const values = { kind, context, checksum, except, placeholder }
    setDraft({ ...draft, ...conditions, ...values, per: '', placeholders: '', direction: BOTH_DIRECTIONS })
  }
  const send = async () => {
    await callApi('/rules', { method: 'POST', body: ruleBody(draft, type, action) })
    onClose()
  }
  return (
    <Dialog title="New rule" onClose={onClose}>
      <ActionForm action="Create" fields={FIELDS} send={send}>
        {(failure) => (
          <>
            <Field label="Name" name="name" failure={failure}>
              <input required {...input('name')} />
            </Field>
            <Field label="Type" name="type" failure={failure}>
              <Select
                options={RULE_TYPES.map(({ name }) => asOption(name))}
                value={type.name}
                onSelect={selectType}
              />
            </Field>
            <Field label="Pattern" name="pattern" failure={failure} hint={type.form.hint}>
              {type.form.isList ? (
                <textarea rows={4} {...input('pattern')} />
              ) : (
                <input {...input('pattern')} />
              )}
            </Field>
            {VALUE_FIELDS.filter(({ name }) => type.valueFields.includes(name)).map((field) => (
              <Field label={field.label} name={field.name} failure={failure} hint={field.hint}>
                {field.isList ? (
                  <textarea rows={2} {...input(field.name)} />
                ) : (
                  <input {...input(field.name)} />
                )}
              </Field>
            ))}
            {type.narrowsTools ? (
              <>
                <Field
                  label="With arguments"
                  name="arguments"
                  failure={failure}
                  hint="On each line a JSON pointer, a space and an expression, such as /command rm\s+-rf."
                >
                  <textarea rows={2} {...input('arguments')} />
                </Field>
                <Field
                  label="After results of"
                  name="after"
                  failure={failure}
                  hint="Globs of tools such as web_*, separated by commas."
                >
                  <input {...input('after')} />
                </Field>
                <Field
                  label="After a result that scores"
                  name="afterInjection"
                  failure={failure}
                  hint="For injection, such as 0.7."
                >
                  <input inputMode="decimal" {...input('afterInjection')} />
                </Field>
              </>
            ) : null}
            {type.isCounted ? (
              <Field
                label="Count per"
                name="per"
                failure={failure}
                hint="key (as when empty), all, run, user, or label:NAME."
              >
                <input {...input('per')} />
              </Field>
            ) : null}
            {action === undefined ? null : (
              <Field label="Action" name="action" failure={failure}>
                <Select options={type.actions.map(asOption)} value={action} onSelect={setAction} />
              </Field>
            )}
            {type.placeholders.length === 0 ? null : (
              <Field label="Placeholders" name="placeholders" failure={failure}>
                <Select
                  options={[{ value: '', title: 'as configured' }, ...type.placeholders.map(asOption)]}
                  value={draft.placeholders}
                  onSelect={set('placeholders')}
                />
              </Field>
            )}
            <fieldset>
              <legend>Only for some calls</legend>
              <Field
                label="Models"
                name="match.models"
                failure={failure}
                hint="Globs such as gpt-*, separated by commas."
              >
                <input {...input('models')} />
              </Field>
              <Field
                label="Keys"
                name="match.keys"
                failure={failure}
                hint="Globs of their names, separated by commas."
              >
                <input {...input('keys')} />
              </Field>
              <Field
                label="Labels"
                name="match.labels"
                failure={failure}
                hint="Such as team=search, separated by commas."
              >
                <input {...input('labels')} />
              </Field>
              <Field
                label="APIs"
                name="match.apis"
                failure={failure}
                hint="Such as chat or embeddings, separated by commas."
              >
                <input {...input('apis')} />
              </Field>
              {type.directions.length === 0 ? null : (
                <Field label="Direction" name="match.direction" failure={failure}>
                  <Select
                    options={[BOTH_DIRECTIONS, ...type.directions].map(asOption)}
                    value={draft.direction}
                    onSelect={set('direction')}
                  />
                </Field>
              )}
              {type.parts.length === 0 ? null : (
                <Field
                  label="Parts"
                  name="match.parts"
                  failure={failure}
                  hint={`Such as ${type.parts[0]}; all of ${type.parts.join(', ')} when empty.`}
                >
                  <input {...input('parts')} />
                </Field>
              )}
            </fieldset>
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
