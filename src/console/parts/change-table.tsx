// Sealed changes: when, who, what.

import { useMemo } from 'preact/hooks'
import { shorten } from '../display.ts'
import type { ChangeEntry } from '../last-changes.ts'
import { DataTable, type TableColumn } from './data-table.tsx'
import { Inert, Time } from './text.tsx'

/** Members that have columns of their own. */
const OWN_COLUMNS = new Set(['seq', 'type', 'created_at', 'actor', 'hash'])

const CHANGE_COLUMNS: readonly TableColumn<ChangeEntry>[] = [
  { title: 'Time', cell: ({ created_at }) => <Time at={created_at} /> },
  { title: 'Who', cell: ({ actor }) => <Inert text={actor ?? '–'} /> },
  { title: 'What', cell: ({ type }) => type.replaceAll('_', ' ') },
  { title: 'Details', look: 'wide', cell: (change) => <Details change={change} /> },
  {
    title: 'Entry',
    cell: ({ seq, hash }) => (
      <>
        {seq} <code title={hash}>{shorten(hash, 11)}</code>
      </>
    ),
  },
]

interface ChangeTableProps {
  readonly label: string
  readonly changes: readonly ChangeEntry[]
}

export const ChangeTable = ({ label, changes }: ChangeTableProps) =>
  changes.length === 0 ? (
    <p class="empty">No change among the entries that were searched.</p>
  ) : (
    <DataTable label={label} columns={CHANGE_COLUMNS} rows={changes} keyOf={({ hash }) => hash} />
  )

function Details({ change }: { readonly change: ChangeEntry }) {
  const text = useMemo(
    () =>
      Object.entries(change)
        .filter(([name, value]) => !OWN_COLUMNS.has(name) && value !== null)
        .map(
          ([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`,
        )
        .join(', '),
    [change],
  )
  return <Inert text={text} />
}
