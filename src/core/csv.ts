// Writes CSV (RFC 4180) that a spreadsheet opens without running anything in it, and in which
// hidden characters are visible.

import { visible } from './hidden-characters.ts'

const QUOTED = /[",\n]/
/**
 * Beginnings of a cell that spreadsheets take for a formula: a sign, also full-width, after blanks
 * and characters that a font may not have.
 */
const FORMULA = /^(?:\t|[\s\p{C}]*[=+\-@＝＋－＠﹦﹢﹣﹫])/u

export type CsvCell = string | number | null

/** Returns a line with its end. A text that looks like a formula gets a leading apostrophe. */
export const csvLine = (cells: readonly CsvCell[]): string => `${cells.map(csvCell).join(',')}\r\n`

function csvCell(cell: CsvCell): string {
  if (cell === null) return ''
  // Only texts may come from a client.
  if (typeof cell === 'number') return String(cell)
  const shown = visible(cell)
  const text = FORMULA.test(shown) ? `'${shown}` : shown
  return QUOTED.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
