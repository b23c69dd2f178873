// A form for a rule of any type: its fields are those of the JSON Schema. The rule can be tried on
// past calls before it is saved, and copied as YAML for a pull request.

import { useState } from 'preact/hooks'
import { visible } from '../../core/hidden-characters.ts'
import { showCount } from '../display.ts'
import { callApi } from '../gateway-api.ts'
import {
  MAXIMUM_TRIED_CALLS,
  RULE_FIELDS,
  RULE_TYPES,
  type RuleFieldFacts,
  type RuleTypeFacts,
} from '../gateway-facts.ts'
import { entryHref } from '../log-address.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { ActionForm, Dialog, Field } from '../parts/dialog.tsx'
import { Select } from '../parts/select.tsx'
import { Inert, Time } from '../parts/text.tsx'
import { type RuleBody, type RuleDraft, ruleBody, ruleYaml } from '../rule-draft.ts'

const TRIED_CALLS = [100, 300, MAXIMUM_TRIED_CALLS].map((calls) => ({
  value: String(calls),
  title: `the last ${calls} calls`,
}))

const wordsOf = (value: string): string => value.replaceAll('_', ' ')
const asOption = (value: string) => ({ value, title: wordsOf(value) })

/** `match.models` is Models, `afterInjection` is After injection. */
function titleOf(path: string): string {
  const words = path.slice(path.indexOf('.') + 1).replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  return words[0]!.toUpperCase() + words.slice(1)
}

const fieldsOf = (type: RuleTypeFacts) => RULE_FIELDS.filter(({ types }) => types[type.name] !== undefined)

/** Fields that another type may have are kept; a choice that it does not offer is not. */
function draftFor(draft: RuleDraft, type: RuleTypeFacts): RuleDraft {
  const { types } = RULE_FIELDS.find(({ path }) => path === 'action')!
  return { ...draft, action: types[type.name]?.[0] ?? '', 'match.direction': '' }
}

export function NewRuleDialog({ onClose }: { readonly onClose: () => void }) {
  const [type, setType] = useState<RuleTypeFacts>(RULE_TYPES[0]!)
  const [draft, setDraft] = useState<RuleDraft>(() => draftFor({}, type))
  const body = bodyOf(draft, type)
  const set = (path: string, value: string) => setDraft({ ...draft, [path]: value })
  const selectType = (name: string) => {
    const selected = RULE_TYPES.find((one) => one.name === name)!
    setType(selected)
    setDraft(draftFor(draft, selected))
  }
  const send = async () => {
    if (typeof body === 'string') throw new Error(body)
    await callApi('/rules', { method: 'POST', body })
    onClose()
  }
  const fields = fieldsOf(type)
  const [name, ...others] = fields
  const own = others.filter(({ path }) => !path.startsWith('match.'))
  const match = others.filter(({ path }) => path.startsWith('match.'))
  return (
    <Dialog title="New rule" onClose={onClose}>
      <ActionForm action="Create" fields={['type', 'pattern', ...fields.map(({ path }) => path)]} send={send}>
        {(failure) => {
          const shown = (field: RuleFieldFacts) => (
            <RuleField key={field.path} {...{ field, type, draft, failure }} onInput={set} />
          )
          return (
            <>
              {shown(name!)}
              <Field label="Type" name="type" failure={failure}>
                <Select
                  options={RULE_TYPES.map((one) => asOption(one.name))}
                  value={type.name}
                  onSelect={selectType}
                />
              </Field>
              <Field label="Pattern" name="pattern" failure={failure} hint={type.form.hint}>
                {type.form.isList ? (
                  <textarea
                    rows={4}
                    value={draft['pattern'] ?? ''}
                    onInput={(event) => set('pattern', event.currentTarget.value)}
                  />
                ) : (
                  <input
                    value={draft['pattern'] ?? ''}
                    onInput={(event) => set('pattern', event.currentTarget.value)}
                  />
                )}
              </Field>
              {own.map(shown)}
              <fieldset>
                <legend>Only for some calls</legend>
                {match.map(shown)}
              </fieldset>
            </>
          )
        }}
      </ActionForm>
      <Trial key={type.name} type={type} body={body} />
      {typeof body === 'string' ? null : (
        <details>
          <summary>As YAML, to commit</summary>
          <pre tabIndex={0}>{visible(ruleYaml(body))}</pre>
          <CopyButton label="Copy the YAML" text={ruleYaml(body)} />
        </details>
      )}
    </Dialog>
  )
}

/** The body, or why there is none. */
function bodyOf(draft: RuleDraft, type: RuleTypeFacts): RuleBody | string {
  try {
    return ruleBody(draft, type, RULE_FIELDS)
  } catch (error) {
    return (error as Error).message
  }
}

interface RuleFieldProps {
  readonly field: RuleFieldFacts
  readonly type: RuleTypeFacts
  readonly draft: RuleDraft
  readonly failure: Error | null
  readonly onInput: (path: string, value: string) => void
}

const HINTS: Readonly<Record<string, string>> = {
  items: 'Separated by commas.',
  lines: 'One a line.',
  pairs: 'Such as team=search, separated by commas.',
  json: 'As JSON.',
}

function RuleField({ field, type, draft, failure, onInput }: RuleFieldProps) {
  const { path, form, hint, isRequired, parts } = field
  const options = field.types[type.name] ?? []
  const value = draft[path] ?? ''
  const listed = form === 'items' && options.length > 0 ? ` Any of ${options.map(wordsOf).join(', ')}.` : ''
  const written = form === 'places' ? `On each line ${parts.join(', a space and ')}.` : (HINTS[form] ?? '')
  const input = {
    value,
    required: isRequired,
    onInput: (event: { currentTarget: { value: string } }) => onInput(path, event.currentTarget.value),
  }
  const choices = form === 'flag' ? ['true', 'false'] : options
  const isOpen = path !== 'action'
  return (
    <Field
      label={titleOf(path)}
      name={path}
      failure={failure}
      hint={path === 'action' ? undefined : `${hint} ${written}${listed}`.trim()}
    >
      {form === 'choice' || form === 'flag' ? (
        <Select
          options={[...(isOpen ? [{ value: '', title: 'as by default' }] : []), ...choices.map(asOption)]}
          value={value}
          onSelect={(next) => onInput(path, next)}
        />
      ) : form === 'prose' || form === 'lines' || form === 'places' || form === 'json' ? (
        <textarea rows={2} {...input} />
      ) : (
        <input inputMode={form === 'number' ? 'decimal' : undefined} {...input} />
      )}
    </Field>
  )
}

/** The part of an answer of `POST /api/v1/rules/try` that the page shows. */
interface TrialAnswer {
  readonly calls: number
  readonly skipped: number
  readonly fired: number
  readonly stopped: number
  readonly truncated: boolean
  readonly samples: readonly {
    readonly log_id: string
    readonly created_at: string
    readonly key_name: string
    readonly model: string
    readonly direction: string
    readonly live: string
    readonly candidate: string
  }[]
}

interface TrialProps {
  readonly type: RuleTypeFacts
  readonly body: RuleBody | string
}

/** What the rule would have done to past calls. */
function Trial({ type, body }: TrialProps) {
  const [calls, setCalls] = useState(TRIED_CALLS[0]!.value)
  const [result, setResult] = useState<{ readonly tried: string; readonly answer: TrialAnswer } | null>(null)
  const tried = JSON.stringify(body)
  // An edited rule has no result yet.
  const answer = result?.tried === tried ? result.answer : null
  if (type.isCounted)
    return <p class="muted">Past calls say nothing about a limit; try it with the action monitor.</p>
  const send = async () => {
    setResult(null)
    if (typeof body === 'string') throw new Error(body)
    const sent = { rule: body, calls: Number(calls) }
    setResult({ tried, answer: await callApi<TrialAnswer>('/rules/try', { method: 'POST', body: sent }) })
  }
  return (
    <section aria-labelledby="trial-title">
      <h3 id="trial-title">Try it before saving</h3>
      <ActionForm action="Try the rule" fields={[]} send={send}>
        {() => (
          <label>
            On <Select options={TRIED_CALLS} value={calls} onSelect={setCalls} />
          </label>
        )}
      </ActionForm>
      {answer === null ? null : (
        <div role="status">
          <p>
            It fires on {showCount(answer.fired)} of {showCount(answer.calls)} calls, and stops{' '}
            {showCount(answer.stopped)} that nothing stopped.
            {answer.skipped === 0 ? '' : ` ${showCount(answer.skipped)} calls have no stored text.`}
            {answer.truncated ? ' The time was over before all calls were judged.' : ''}
          </p>
          <ul>
            {answer.samples.slice(0, 10).map(({ log_id, created_at, key_name, model, live, candidate }) => (
              <li key={log_id}>
                <a href={entryHref(log_id)} target="_blank" rel="noreferrer">
                  <Time at={created_at} />
                </a>{' '}
                <Inert text={key_name} /> <Inert text={model} />: {live} → {candidate}
              </li>
            ))}
          </ul>
        </div>
      )}
    </section>
  )
}
