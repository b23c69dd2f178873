// Points in time as people write them.

/** RFC 3339 §5.6, or its day alone; seconds may be left out. */
const TIME = /^\d{4}-\d{2}-\d{2}(?:T(?:[01]\d|2[0-3]):\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/
const DAY_CHARACTERS = 'YYYY-MM-DD'.length
const SECOND_MS = 1000
const DAY_MS = 86_400_000

/** Milliseconds since the epoch, of a day its midnight UTC; null for what is no time, and for days that do not exist. */
export function parseTime(text: string): number | null {
  if (!TIME.test(text)) return null
  const timeMs = Date.parse(text)
  const day = text.slice(0, DAY_CHARACTERS)
  const dayMs = Date.parse(day)
  if (!Number.isFinite(timeMs) || !Number.isFinite(dayMs)) return null
  // The 30th of February is the 2nd of March to the engine.
  return new Date(dayMs).toISOString().startsWith(day) ? timeMs : null
}

/** The newest second that was written out, up to its fraction: each call has several times, and a date takes as long as a hash. */
let written: { readonly second: number; readonly text: string } = { second: Number.NaN, text: '' }

/** RFC 3339 §5.6 in UTC with three digits of the second, as `Date.toISOString`. @throws RangeError for what is no time */
export function isoTime(timeMs: number): string {
  const wholeMs = Math.trunc(timeMs)
  const second = Math.floor(wholeMs / SECOND_MS)
  if (written.second !== second)
    written = { second, text: new Date(second * SECOND_MS).toISOString().slice(0, -'000Z'.length) }
  const restMs = wholeMs - second * SECOND_MS
  return `${written.text}${restMs < 10 ? '00' : restMs < 100 ? '0' : ''}${restMs}Z`
}

export const isoTimeOrNull = (timeMs: number | null): string | null =>
  timeMs === null ? null : isoTime(timeMs)

/** As `parseTime`, for the end of a stretch of time: of a day its last millisecond, since who names the day means all of it. */
export function parseEndTime(text: string): number | null {
  const timeMs = parseTime(text)
  return timeMs === null || text.length > DAY_CHARACTERS ? timeMs : timeMs + DAY_MS - 1
}
