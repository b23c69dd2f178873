// A table of any number of rows, of which only those in view exist. It is one tab stop: the arrow
// keys move, Enter opens a row.

import type { ComponentChildren, RefObject } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'

/** Height of a row before the first measurement, pixels; then that of the style sheet. */
const FIRST_ROW_PX = 34
/** Browsers limit the height of an element; more rows share its pixels. */
const MAXIMUM_BODY_PX = 8_000_000
/** Rows in view before the first measurement. */
const FIRST_ROWS = 30

export interface GridColumn<Row> {
  /** Class of its cells; the style sheet hides some on narrow screens. */
  readonly name: string
  readonly title: string
  readonly cell: (row: Row) => ComponentChildren
}

interface VirtualGridProps<Row> {
  readonly label: string
  readonly columns: readonly GridColumn<Row>[]
  readonly total: number
  /** A row; undefined while it loads. */
  readonly rowAt: (index: number) => Row | undefined
  /** Receives the rows in view, last exclusive, when they change. */
  readonly onView: (first: number, last: number) => void
  readonly onOpen: (row: Row) => void
}

export function VirtualGrid<Row>({ label, columns, total, rowAt, onView, onOpen }: VirtualGridProps<Row>) {
  const grid = useRef<HTMLDivElement>(null)
  const { top, rows, rowPx, measure, active, setActive } = useGridView(grid)
  const bodyPx = Math.min(Math.max(total, rows) * rowPx, MAXIMUM_BODY_PX)
  const scrollPx = Math.max(1, bodyPx - rows * rowPx)
  const scrollRows = Math.max(0, total - rows)
  /** The row at the top edge, with the hidden part of it as fraction. */
  const position = Math.min(1, top / scrollPx) * scrollRows
  const first = Math.floor(position)
  const last = Math.min(total, first + Math.ceil(rows) + 1)
  useEffect(() => onView(first, last), [first, last, onView])
  const activate = (index: number) => {
    const next = Math.min(Math.max(index, 0), total - 1)
    setActive(next)
    const low = next - Math.floor(rows) + 1
    const target = next < position ? next : low > position ? low : null
    if (target !== null) grid.current!.scrollTop = (target / Math.max(1, scrollRows)) * scrollPx
  }
  const press = (event: KeyboardEvent) => {
    const next = stepsFrom(active, Math.max(1, Math.floor(rows)), total)[event.key]
    const row = rowAt(active)
    if (next !== undefined) activate(next)
    else if (event.key === 'Enter' && row !== undefined) onOpen(row)
    else return
    event.preventDefault()
  }
  const indexes = Array.from({ length: Math.max(0, last - first) }, (_, at) => first + at)
  return (
    <div
      ref={grid}
      class="grid"
      role="grid"
      tabIndex={0}
      aria-label={label}
      aria-rowcount={total + 1}
      aria-activedescendant={active >= first && active < last ? `row-${active}` : undefined}
      onScroll={measure}
      onKeyDown={press}
    >
      <GridHead columns={columns} />
      <div role="rowgroup" style={{ height: `${bodyPx}px` }}>
        <div class="grid-view" role="presentation" style={{ height: `${rows * rowPx}px` }}>
          <div role="presentation" style={{ transform: `translateY(${(first - position) * rowPx}px)` }}>
            {indexes.map((index) => (
              <GridRow
                key={index}
                index={index}
                columns={columns}
                row={rowAt(index)}
                isActive={index === active}
                onClick={(row) => {
                  setActive(index)
                  if (row !== undefined) onOpen(row)
                }}
              />
            ))}
          </div>
        </div>
      </div>
    </div>
  )
}

/** What of the grid is in view, and which row is active. Sizes are those of the style sheet. */
function useGridView(grid: RefObject<HTMLDivElement | null>) {
  const [view, setView] = useState({ top: 0, rows: FIRST_ROWS, rowPx: FIRST_ROW_PX })
  const measure = () => {
    // An observer may report once more after the grid is gone.
    if (grid.current === null) return
    const { scrollTop, clientHeight } = grid.current
    const style = getComputedStyle(grid.current)
    const pixels = (name: string) => Number.parseFloat(style.getPropertyValue(name))
    const rowHeight = pixels('--row') || FIRST_ROW_PX
    // The header covers a part.
    const bodyHeight = clientHeight - (pixels('--head') || 0)
    setView({ top: scrollTop, rows: Math.max(1, bodyHeight / rowHeight), rowPx: rowHeight })
  }
  useLayoutEffect(() => {
    measure()
    const sized = new ResizeObserver(measure)
    sized.observe(grid.current!)
    return () => sized.disconnect()
  }, [])
  const [active, setActive] = useState(0)
  return { ...view, measure, active, setActive }
}

/** Row that a key leads to from the row `active`. */
const stepsFrom = (active: number, page: number, total: number): Partial<Record<string, number>> => ({
  ArrowUp: active - 1,
  ArrowDown: active + 1,
  PageUp: active - page,
  PageDown: active + page,
  Home: 0,
  End: total - 1,
})

const GridHead = <Row,>({ columns }: Pick<VirtualGridProps<Row>, 'columns'>) => (
  <div class="grid-row grid-head" role="row" aria-rowindex={1}>
    {columns.map(({ name, title }) => (
      <span key={name} class={`cell ${name}`} role="columnheader">
        {title}
      </span>
    ))}
  </div>
)

interface GridRowProps<Row> extends Pick<VirtualGridProps<Row>, 'columns'> {
  readonly index: number
  readonly row: Row | undefined
  readonly isActive: boolean
  readonly onClick: (row: Row | undefined) => void
}

const GridRow = <Row,>({ index, row, columns, isActive, onClick }: GridRowProps<Row>) => (
  <div
    id={`row-${index}`}
    class={`grid-row ${isActive ? 'active' : ''}`}
    role="row"
    aria-rowindex={index + 2}
    onClick={() => onClick(row)}
  >
    {columns.map(({ name, cell }) => (
      <span key={name} class={`cell ${name}`} role="gridcell">
        {row === undefined ? '…' : cell(row)}
      </span>
    ))}
  </div>
)
