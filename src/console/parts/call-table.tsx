// Some calls, each with a link to all that is known of it.

import type { UsageView } from '../../audit/entry-fields.ts'
import { showCount, showUsd } from '../display.ts'
import { entryHref } from '../log-address.ts'
import { DataTable, type TableColumn } from './data-table.tsx'
import { Inert, Time } from './text.tsx'

/** How a call ended. One that a limit, model or tool refused is not said to be blocked. */
export const OutcomeTag = ({
  outcome,
  stopped,
  status,
}: Pick<UsageView, 'outcome' | 'stopped' | 'status'>) => (
  <span class={`tag outcome-${outcome}`}>
    {`${stopped === 'refused' ? stopped : outcome.replaceAll('_', ' ')} ${status}`}
  </span>
)

/** When a call was sealed, with a link to its details. */
export const CALL_TIME: TableColumn<UsageView> = {
  title: 'Time',
  cell: ({ id, created_at }) => (
    <a href={entryHref(id)}>
      <Time at={created_at} />
    </a>
  ),
}

/** The rule that stopped a call; undefined where none did, as for the terms of its key. */
export const decidingRule = ({ rules }: Pick<UsageView, 'rules'>) =>
  rules.find(({ action }) => action === 'block') ?? rules.find(({ action }) => action === 'remove')

export const TERMS_OF_KEY = 'the terms of the key'

/** Whether no rule stopped a call, but what its key may do. */
export const isStoppedByTerms = (call: Pick<UsageView, 'rules' | 'stopped'>): boolean =>
  call.stopped !== null && decidingRule(call) === undefined

/** The rules that fired, or what else stopped the call. */
export const CALL_RULES: TableColumn<UsageView> = {
  title: 'Rules',
  look: 'wide',
  cell: (call) => (
    <>
      {call.rules.map(({ id, name, action }) => (
        <span key={id + action} class="tag">
          <Inert text={name} />: {action}
        </span>
      ))}
      {isStoppedByTerms(call) ? TERMS_OF_KEY : null}
    </>
  ),
}

export const CALL_OUTCOME: TableColumn<UsageView> = {
  title: 'Outcome',
  cell: (call) => <OutcomeTag {...call} />,
}

const CALL_COLUMNS: readonly TableColumn<UsageView>[] = [
  CALL_TIME,
  CALL_OUTCOME,
  { title: 'Model', cell: ({ model }) => <Inert text={model} /> },
  CALL_RULES,
  { title: 'Tokens', look: 'number', cell: ({ total_tokens }) => showCount(total_tokens) },
  { title: 'Cost', look: 'number', cell: ({ cost }) => showUsd(cost) },
]

interface CallTableProps {
  readonly label: string
  readonly calls: readonly UsageView[]
  /** Said when there is no call. */
  readonly none: string
}

export const CallTable = ({ label, calls, none }: CallTableProps) =>
  calls.length === 0 ? (
    <p class="empty">{none}</p>
  ) : (
    <DataTable label={label} columns={CALL_COLUMNS} rows={calls} keyOf={({ id }) => id} />
  )
