// Recognises card numbers whose groups have separators that other numbers do not have: tabs,
// several spaces, slashes, long dashes, dots in the middle.

/** Three or four groups with equal separators, and no group more. */
const GROUPED =
  /\d{4}([\t \u1680\u3000]{1,3}| ?[\u2014\u2015\u2212\ufe58\ufe63\u00b7\u2022\u2219\u2043\u30fb/_~] ?)(?:\d{4}\1\d{4}\1\d{4}|\d{6}\1\d{4,5})(?!\w|\1\d)/y
/** Separators between the columns of a table. */
const COLUMNS = /^\s+$/

/** The groups that start at `at`, up to the end of the last; null without such groups. */
export function cardGroups(text: string, at: number): { digits: string; end: number; isRow: boolean } | null {
  GROUPED.lastIndex = at
  const match = GROUPED.exec(text)
  const separator = match?.[1] ?? ' '
  if (match === null || separator === ' ' || text.endsWith(separator, at)) return null
  return { digits: match[0].replace(/\D/g, ''), end: at + match[0].length, isRow: COLUMNS.test(separator) }
}
