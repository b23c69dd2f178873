// Parses and formats points in time (RFC 3339).

/** RFC 3339 §5.6 with optional seconds, or only the date. */
const TIME =
  /^\d{4}-\d{2}-\d{2}(?:[Tt](?:[01]\d|2[0-3]):\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d{2}:\d{2}))?$/
const DAY_CHARACTERS = 'YYYY-MM-DD'.length
const SECOND_MS = 1000
const DAY_MS = 86_400_000

/**
 * Returns milliseconds since the epoch, of a date its midnight UTC; null for any other text and for
 * dates that do not exist.
 */
export function parseTime(text: string): number | null {
  if (!TIME.test(text)) return null
  // Date.parse turns 30 February into 2 March.
  if (Number(text.slice(8, DAY_CHARACTERS)) > daysIn(Number(text.slice(0, 4)), Number(text.slice(5, 7))))
    return null
  const timeMs = Date.parse(text.toUpperCase())
  return Number.isFinite(timeMs) ? timeMs : null
}

/** @param month from 1 to 12 */
function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

/**
 * The last second formatted: each call formats several times, and a Date costs as much as a hash.
 */
let formatted: { readonly second: number; readonly text: string } = { second: Number.NaN, text: '' }

/**
 * Formats like `Date.toISOString`: RFC 3339 §5.6, UTC, milliseconds.
 * @throws RangeError outside the range of Date
 */
export function isoTime(timeMs: number): string {
  const wholeMs = Math.trunc(timeMs)
  const second = Math.floor(wholeMs / SECOND_MS)
  if (formatted.second !== second)
    formatted = { second, text: new Date(second * SECOND_MS).toISOString().slice(0, -'000Z'.length) }
  const restMs = wholeMs - second * SECOND_MS
  return `${formatted.text}${restMs < 10 ? '00' : restMs < 100 ? '0' : ''}${restMs}Z`
}

export const isoTimeOrNull = (timeMs: number | null): string | null =>
  timeMs === null ? null : isoTime(timeMs)

/**
 * Parses the inclusive end of a period: like `parseTime`, but a date means its last millisecond.
 */
export function parseEndTime(text: string): number | null {
  const timeMs = parseTime(text)
  return timeMs === null || text.length > DAY_CHARACTERS ? timeMs : timeMs + DAY_MS - 1
}
