// The rules in force: where each comes from, what overrides it, and a place to try a prompt.

import { useState } from 'preact/hooks'
import { visible } from '../../core/hidden-characters.ts'
import { showSpan } from '../display.ts'
import { useActors } from '../last-changes.ts'
import { DataTable, type TableColumn } from '../parts/data-table.tsx'
import { ChangedBy, Inert, LoadState } from '../parts/text.tsx'
import {
  describeConditions,
  describeMatch,
  describeValues,
  type PolicyRule,
  type RuleList,
} from '../policy-rule.ts'
import { useResource } from '../resource.ts'
import { useServes } from '../served.ts'
import { useMay } from '../signed-in.ts'
import { CandidateResults } from './candidate-results.tsx'
import { NewRuleDialog } from './new-rule-dialog.tsx'
import { DeleteRuleDialog, RuleHistoryDialog, RulesYaml, ToggleRuleDialog } from './rule-dialogs.tsx'
import { TryPrompt } from './try-prompt.tsx'

const REFRESH_MS = 5000

type OpenDialog =
  | { readonly kind: 'toggle' | 'delete' | 'history'; readonly rule: PolicyRule }
  | { readonly kind: 'new' | 'yaml' }

export function RulesPage() {
  const list = useResource<RuleList>('/rules', REFRESH_MS)
  const actors = useActors(list.data === null ? null : versionOf(list.data))
  const mayChange = useMay('editor')
  const canTry = useServes('try-prompt')
  const hasCandidate = useServes('candidate')
  const [dialog, setDialog] = useState<OpenDialog | null>(null)
  const close = () => {
    setDialog(null)
    list.reload()
  }
  return (
    <>
      <header class="page-head">
        <h1>Rules</h1>
        <div class="row">
          <button type="button" onClick={() => setDialog({ kind: 'yaml' })}>
            Show as YAML
          </button>
          {mayChange ? (
            <button type="button" onClick={() => setDialog({ kind: 'new' })}>
              New rule
            </button>
          ) : null}
        </div>
      </header>
      <LoadState resource={list}>
        {list.data === null ? null : (
          <>
            <Revision list={list.data} />
            <RuleTable rules={list.data.rules} actors={actors} mayChange={mayChange} onOpen={setDialog} />
          </>
        )}
      </LoadState>
      {canTry ? <TryPrompt /> : null}
      {hasCandidate ? <CandidateResults /> : null}
      {dialog?.kind === 'toggle' ? <ToggleRuleDialog rule={dialog.rule} onClose={close} /> : null}
      {dialog?.kind === 'delete' ? <DeleteRuleDialog rule={dialog.rule} onClose={close} /> : null}
      {dialog?.kind === 'history' ? <RuleHistoryDialog rule={dialog.rule} onClose={close} /> : null}
      {dialog?.kind === 'new' ? <NewRuleDialog onClose={close} /> : null}
      {dialog?.kind === 'yaml' ? <RulesYaml onClose={close} /> : null}
    </>
  )
}

/** Another one after each change of a rule. */
const versionOf = ({ revision, rules }: RuleList): string =>
  [revision, ...rules.map(({ updated_at }) => updated_at)].join()

function Revision({ list }: { readonly list: RuleList }) {
  const { revision, declared_revision, errors } = list
  return (
    <>
      <p class="muted">
        Revision <code>{revision}</code>
        {revision === declared_revision
          ? '; the same as the files.'
          : '; it differs from the files, which have '}
        {revision === declared_revision ? null : <code>{declared_revision}</code>}
      </p>
      {errors.length === 0 ? null : (
        <div class="failure" role="alert">
          <p>The newest files have errors. The last good rules stay in force.</p>
          <ul>
            {errors.map(({ text }) => (
              <li key={text}>
                <Inert text={text} />
              </li>
            ))}
          </ul>
        </div>
      )}
    </>
  )
}

interface RuleTableProps {
  readonly rules: readonly PolicyRule[]
  /** Who changed a rule last, by its id. */
  readonly actors: ReadonlyMap<string, string>
  readonly mayChange: boolean
  readonly onOpen: (dialog: OpenDialog) => void
}

function RuleTable({ rules, actors, mayChange, onOpen }: RuleTableProps) {
  const columns: readonly TableColumn<PolicyRule>[] = [
    { title: 'Rule', cell: (rule) => <RuleName rule={rule} /> },
    { title: 'Type', cell: ({ type }) => type.replaceAll('_', ' ') },
    { title: 'Pattern', look: 'wide', cell: (rule) => <RulePattern rule={rule} /> },
    { title: 'Action', cell: ({ action }) => action ?? 'limit' },
    { title: 'Source', cell: ({ source }) => <RuleSource source={source} /> },
    {
      title: 'State',
      cell: (rule) => (
        <>
          <RuleState rule={rule} />
          <ChangedBy actor={actors.get(rule.id)} />
        </>
      ),
    },
    {
      title: 'Change',
      cell: (rule) => <RuleButtons rule={rule} mayChange={mayChange} onOpen={onOpen} />,
    },
  ]
  return (
    <DataTable
      label="Rules in force"
      columns={columns}
      rows={rules}
      keyOf={({ id }) => id}
      isOff={({ enabled }) => !enabled}
    />
  )
}

const RuleName = ({ rule: { name, description } }: { readonly rule: PolicyRule }) => (
  <>
    <strong>
      <Inert text={name} />
    </strong>
    {description === undefined ? null : (
      <small>
        <Inert text={description} />
      </small>
    )}
  </>
)

function RulePattern({ rule }: { readonly rule: PolicyRule }) {
  const { pattern, per, match } = rule
  const conditions = describeConditions(rule)
  const values = describeValues(rule)
  return (
    <>
      <code>
        <Inert text={typeof pattern === 'string' ? pattern : pattern.join(', ')} />
      </code>
      {per === undefined ? null : <Inert text={` per ${per}`} />}
      {values === '' ? null : (
        <small>
          <Inert text={values} />
        </small>
      )}
      {conditions === '' ? null : (
        <small>
          If <Inert text={conditions} />
        </small>
      )}
      {match === undefined ? null : (
        <small>
          Only <Inert text={describeMatch(match)} />
        </small>
      )}
    </>
  )
}

interface RuleButtonsProps extends Pick<RuleTableProps, 'mayChange' | 'onOpen'> {
  readonly rule: PolicyRule
}

function RuleButtons({ rule, mayChange, onOpen }: RuleButtonsProps) {
  const button = (text: string, kind: 'toggle' | 'delete' | 'history') => (
    <button type="button" aria-label={`${text} ${visible(rule.name)}`} onClick={() => onOpen({ kind, rule })}>
      {text}
    </button>
  )
  const isOwn = mayChange && rule.source.kind !== 'hub'
  return (
    <div class="buttons">
      {isOwn ? button(rule.enabled ? 'Disable' : 'Enable', 'toggle') : null}
      {isOwn && rule.source.kind === 'api' ? button('Delete', 'delete') : null}
      {button('History', 'history')}
      {mayChange && rule.source.kind === 'hub' ? 'Changed at the hub' : null}
    </div>
  )
}

function RuleSource({ source }: Pick<PolicyRule, 'source'>) {
  if (source.kind === 'api') return 'API'
  const { kind, path, line } = source
  return (
    <>
      {kind === 'hub' ? 'Hub ' : null}
      {path === undefined ? 'API' : <Inert text={path} />}
      {line === undefined ? null : `:${line}`}
    </>
  )
}

function RuleState({ rule: { enabled, override } }: { readonly rule: PolicyRule }) {
  const state = enabled ? 'enabled' : 'disabled'
  if (override === null) return <span class="tag">{state}</span>
  const until =
    override.expires_at === null
      ? 'until the file changes'
      : `for ${showSpan(Date.parse(override.expires_at) - Date.now())}`
  return (
    <>
      <span class="tag overridden">
        {state} by override {until}
      </span>
      {override.reason === '' ? null : (
        <small>
          <Inert text={override.reason} />
        </small>
      )}
    </>
  )
}
