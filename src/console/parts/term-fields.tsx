// The fields of a key's terms, for a new key and for one that is changed.

import { visible } from '../../core/hidden-characters.ts'
import type { KeyList } from '../api-key.ts'
import { type KeyDraft, labelsIn } from '../key-draft.ts'
import { useResource } from '../resource.ts'
import { useZone } from '../zone.ts'
import { Field, FieldError } from './dialog.tsx'
import { Select } from './select.tsx'

export const TERM_NAMES = ['models', 'expires_at', 'owner', 'labels', 'capture', 'max_parallel']

/** Keys whose labels are suggested: the most that one answer holds. */
const SUGGESTING_KEYS = 200

const CAPTURES = [
  { value: '', title: 'as configured' },
  { value: 'full', title: 'full: the redacted text is stored' },
  { value: 'metadata', title: 'metadata: no text is stored' },
]

interface TermFieldsProps {
  readonly draft: KeyDraft
  readonly onChange: (draft: KeyDraft) => void
  readonly failure: Error | null
}

export function TermFields({ draft, onChange, failure }: TermFieldsProps) {
  const zone = useZone()
  const input = (name: 'models' | 'expires' | 'owner' | 'parallel') => ({
    value: draft[name],
    onInput: (event: { currentTarget: { value: string } }) =>
      onChange({ ...draft, [name]: event.currentTarget.value }),
  })
  return (
    <>
      <Field
        label="Models"
        name="models"
        failure={failure}
        hint="Names or globs such as openai/*, separated by commas, refused ones after !; empty for all."
      >
        <input {...input('models')} />
      </Field>
      <LabelFields draft={draft} onChange={onChange} failure={failure} />
      <Field label="Owner" name="owner" failure={failure} hint="Who answers for the key. Never sealed.">
        <input maxLength={128} {...input('owner')} />
      </Field>
      <Field label="Expires" name="expires_at" failure={failure} hint={`Empty for never. In ${zone}.`}>
        <input type="datetime-local" step="1" {...input('expires')} />
      </Field>
      <Field label="Texts of calls" name="capture" failure={failure}>
        <Select
          options={CAPTURES}
          value={draft.capture}
          onSelect={(capture) => onChange({ ...draft, capture })}
        />
      </Field>
      <Field
        label="Calls at a time"
        name="max_parallel"
        failure={failure}
        hint="Empty for no limit of its own."
      >
        <input inputMode="numeric" pattern="[0-9]*" {...input('parallel')} />
      </Field>
    </>
  )
}

function LabelFields({ draft, onChange, failure }: TermFieldsProps) {
  const { data } = useResource<KeyList>(`/keys?limit=${SUGGESTING_KEYS}`)
  const known = labelsIn(data?.keys ?? [])
  const { labels } = draft
  const set = (index: number, change: object) =>
    onChange({ ...draft, labels: labels.map((one, at) => (at === index ? { ...one, ...change } : one)) })
  return (
    <fieldset>
      <legend>Labels</legend>
      <datalist id="label-names">
        {[...known.keys()].map((name) => (
          <option key={name} value={visible(name)} />
        ))}
      </datalist>
      {labels.map(({ name, value }, index) => (
        <div key={index} class="row label-row">
          <input
            aria-label={`Name of label ${index + 1}`}
            placeholder="name"
            list="label-names"
            value={name}
            onInput={(event) => set(index, { name: event.currentTarget.value })}
          />
          <input
            aria-label={`Value of label ${index + 1}`}
            placeholder="value"
            list={`label-values-${index}`}
            value={value}
            onInput={(event) => set(index, { value: event.currentTarget.value })}
          />
          <datalist id={`label-values-${index}`}>
            {known.get(name)?.map((one) => (
              <option key={one} value={visible(one)} />
            ))}
          </datalist>
          <button
            type="button"
            aria-label={`Remove label ${index + 1}`}
            onClick={() => onChange({ ...draft, labels: labels.filter((_, at) => at !== index) })}
          >
            ×
          </button>
        </div>
      ))}
      <FieldError name="labels" failure={failure} />
      <button
        type="button"
        onClick={() => onChange({ ...draft, labels: [...labels, { name: '', value: '' }] })}
      >
        Add a label
      </button>
    </fieldset>
  )
}
