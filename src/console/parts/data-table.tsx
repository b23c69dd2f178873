// A table of rows, which are cards on narrow screens: each cell then shows the title of its column.
// Its roles are written out, because a browser takes them from a table that is not laid out as one.

import type { ComponentChildren } from 'preact'
import { ScrollArea } from './scroll-area.tsx'

export interface TableColumn<Row> {
  readonly title: string
  /** `number` aligns to the right, `wide` takes a whole line of a card. */
  readonly look?: 'number' | 'wide'
  readonly cell: (row: Row) => ComponentChildren
}

interface DataTableProps<Row> {
  readonly label: string
  readonly columns: readonly TableColumn<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string | number
  /** Whether a row is shown as one that is not in force. */
  readonly isOff?: (row: Row) => boolean
  /** A row that sums the others. */
  readonly total?: Row
}

/** Spread into the elements, whose own roles they are. */
const AS = {
  table: { role: 'table' },
  rowgroup: { role: 'rowgroup' },
  row: { role: 'row' },
  columnheader: { role: 'columnheader' },
  cell: { role: 'cell' },
} as const

export function DataTable<Row>(props: DataTableProps<Row>) {
  const { label, columns, rows, keyOf, isOff, total } = props
  const cells = (row: Row) =>
    columns.map(({ title, look, cell }) => (
      <td key={title} {...AS.cell} class={look} data-label={title}>
        {cell(row)}
      </td>
    ))
  return (
    <ScrollArea label={label}>
      <table {...AS.table}>
        <thead {...AS.rowgroup}>
          <tr {...AS.row}>
            {columns.map(({ title, look }) => (
              <th key={title} {...AS.columnheader} class={look}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody {...AS.rowgroup}>
          {rows.map((row) => (
            <tr key={keyOf(row)} {...AS.row} class={isOff?.(row) === true ? 'off' : undefined}>
              {cells(row)}
            </tr>
          ))}
        </tbody>
        {total === undefined ? null : (
          <tfoot {...AS.rowgroup}>
            <tr {...AS.row}>{cells(total)}</tr>
          </tfoot>
        )}
      </table>
    </ScrollArea>
  )
}
