// Points in time as people of a zone read them, and back. Zones are names of the IANA database; the
// caller says which one counts. Pure: no clock, and not the zone of the machine.

export const UTC = 'UTC'
export const DAY_SECONDS = 86_400
const MINUTE_MS = 60_000
export const DAY_MS = DAY_SECONDS * 1000

const formats = new Map<string, Intl.DateTimeFormat>()

/** The format that takes a time apart in a zone; UTC's for a name that is not known. */
function formatOf(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone)
  if (format === undefined) {
    const terms: Intl.DateTimeFormatOptions = {
      ...{ year: 'numeric', month: 'numeric', day: 'numeric' },
      ...{ hour: 'numeric', minute: 'numeric', second: 'numeric', hourCycle: 'h23' },
    } as const
    try {
      format = new Intl.DateTimeFormat('en', { ...terms, timeZone: zone })
    } catch {
      format = new Intl.DateTimeFormat('en', { ...terms, timeZone: UTC })
    }
    formats.set(zone, format)
  }
  return format
}

/** Milliseconds by which clocks of a zone are ahead of UTC at a time. */
function offsetOf(timeMs: number, zone: string): number {
  if (zone === UTC) return 0
  const found: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {}
  for (const { type, value } of formatOf(zone).formatToParts(timeMs)) found[type] = Number(value)
  const { year = 1970, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = found
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(timeMs / 1000) * 1000
}

/** What clocks of a zone show, as milliseconds of a clock that shows UTC. */
export const toCivil = (timeMs: number, zone: string): number => timeMs + offsetOf(timeMs, zone)

/**
 * When clocks of a zone show what `toCivil` returned. An hour shown twice is the first, and one
 * that is never shown is read as clocks went on before it.
 */
export function fromCivil(civilMs: number, zone: string): number {
  const before = civilMs - offsetOf(civilMs - DAY_MS, zone)
  const after = civilMs - offsetOf(civilMs + DAY_MS, zone)
  const shown = [before, after].filter((timeMs) => toCivil(timeMs, zone) === civilMs)
  return shown.length === 0 ? before : Math.min(...shown)
}

const isoOf = (civilMs: number): string => new Date(civilMs).toISOString()

/** The zone of a time: `UTC`, or how far ahead of it, such as `+01:00`. */
export function showOffset(timeMs: number, zone: string): string {
  const minutes = Math.round(offsetOf(timeMs, zone) / MINUTE_MS)
  if (minutes === 0) return UTC
  const two = (value: number) => String(value).padStart(2, '0')
  const ahead = Math.abs(minutes)
  return `${minutes < 0 ? '−' : '+'}${two(Math.floor(ahead / 60))}:${two(ahead % 60)}`
}

/** `2026-11-26 14:03:22 +01:00` */
export const showTime = (timeMs: number, zone: string): string =>
  `${showClock(timeMs, zone)} ${showOffset(timeMs, zone)}`

/** The same without its zone, to be shown next to it. */
export const showClock = (timeMs: number, zone: string): string =>
  isoOf(toCivil(timeMs, zone)).slice(0, 19).replace('T', ' ')

/** When a step of a chart begins: its UTC day, or its minute in the zone. */
export const showStep = (timeMs: number, stepSeconds: number, zone: string): string =>
  stepSeconds >= DAY_SECONDS
    ? `${isoOf(timeMs).slice(0, 10)} ${UTC}`
    : `${showClock(timeMs, zone).slice(0, 16)} ${showOffset(timeMs, zone)}`

/** The value of a `datetime-local` field for a time of the API; empty for none. */
export const toField = (iso: string | undefined, zone: string): string =>
  iso === undefined || Number.isNaN(Date.parse(iso)) ? '' : isoOf(toCivil(Date.parse(iso), zone)).slice(0, 19)

/** The time of the API for the value of a `datetime-local` field; empty for none. */
export function fromField(value: string, zone: string): string {
  const civilMs = Date.parse(`${value}Z`)
  return Number.isNaN(civilMs) ? '' : isoOf(fromCivil(civilMs, zone))
}

/** The start of each UTC day of a period. Its end is exclusive. */
export function daysOf(sinceMs: number, untilMs: number): number[] {
  const first = Math.floor(sinceMs / 1000 / DAY_SECONDS)
  const count = Math.max(0, Math.ceil(untilMs / 1000 / DAY_SECONDS) - first)
  return Array.from({ length: count }, (_, index) => (first + index) * DAY_SECONDS)
}
