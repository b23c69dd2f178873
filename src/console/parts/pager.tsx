// Which part of a list is shown, and the way to the next and the last.

import { showCount } from '../display.ts'

interface PagerProps {
  /** Rows on the page, and on the pages before it. */
  readonly shown: number
  readonly before: number
  readonly total: number
  /** What the rows are. */
  readonly unit: string
  /** Null at an end. */
  readonly onBack: (() => void) | null
  readonly onNext: (() => void) | null
}

export const Pager = ({ shown, before, total, unit, onBack, onNext }: PagerProps) => (
  <div class="pager" role="group" aria-label={`Pages of ${unit}`}>
    <span class="muted" role="status">
      {shown === total
        ? `${showCount(total)} ${unit}`
        : `${showCount(before + 1)}–${showCount(before + shown)} of ${showCount(total)} ${unit}`}
    </span>
    {onBack === null && onNext === null ? null : (
      <>
        <button type="button" disabled={onBack === null} onClick={() => onBack?.()}>
          Back
        </button>
        <button type="button" disabled={onNext === null} onClick={() => onNext?.()}>
          Next
        </button>
      </>
    )}
  </div>
)
