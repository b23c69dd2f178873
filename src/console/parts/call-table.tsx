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

/** The rules that fired. */
export const CALL_RULES: TableColumn<UsageView> = {
  title: 'Rules',
  look: 'wide',
  cell: ({ rules }) =>
    rules.map(({ id, name, action }) => (
      <span key={id + action} class="tag">
        <Inert text={name} />: {action}
      </span>
    )),
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
