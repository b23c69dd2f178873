// Where the ticks of a chart are, and what they say. No two ticks of an axis say the same.

import { DAY_SECONDS, fromCivil, toCivil, UTC } from './dates.ts'
import { showCompact } from './display.ts'

const HOUR_SECONDS = 3600
/** Distances of ticks within days, seconds; more is whole days, then whole months. */
const CLOCK_STEPS = [60, 300, 600, 900, 1800, ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR_SECONDS)]
const DAY_STEPS = [1, 2, 7, 14]
const MONTH_STEPS = [1, 2, 3, 6, 12]
const MONTHS_OF_YEAR = 12

export interface Tick {
  readonly at: number
  readonly label: string
}

/** A period in seconds since 1970. */
export interface Period {
  readonly since: number
  readonly until: number
}

/**
 * Returns ticks at round times of a zone.
 * @param maximum more than so many do not fit; the distance of ticks grows until they do
 * @param stepSeconds length of a bar; ticks are not closer, and those of whole days are of UTC days
 */
export function timeTicks(period: Period, stepSeconds: number, maximum: number, zone: string): Tick[] {
  const ofDays = stepSeconds >= DAY_SECONDS
  const place = ofDays ? UTC : zone
  const sinceMs = toCivil(period.since * 1000, place)
  const untilMs = toCivil(period.until * 1000, place)
  const spaced = (stepMs: number): number[] => {
    const first = Math.ceil(sinceMs / stepMs)
    const count = Math.floor(untilMs / stepMs) - first + 1
    return count > maximum ? [] : Array.from({ length: Math.max(0, count) }, (_, n) => (first + n) * stepMs)
  }
  const tries = [
    ...CLOCK_STEPS.filter((step) => !ofDays && step >= stepSeconds).map((step) => spaced(step * 1000)),
    ...DAY_STEPS.map((days) => spaced(days * DAY_SECONDS * 1000)),
    ...MONTH_STEPS.map((months) => spacedMonths(sinceMs, untilMs, months, maximum)),
  ]
  const civil = tries.find(({ length }) => length > 0) ?? []
  return withLabels(civil).map(({ at, label }) => ({ at: fromCivil(at, place) / 1000, label }))
}

function spacedMonths(sinceMs: number, untilMs: number, months: number, maximum: number): number[] {
  const since = new Date(sinceMs)
  const first = Math.floor((since.getUTCFullYear() * MONTHS_OF_YEAR + since.getUTCMonth()) / months) * months
  const found = []
  for (let month = first; found.length <= maximum; month += months) {
    const at = Date.UTC(Math.floor(month / MONTHS_OF_YEAR), month % MONTHS_OF_YEAR)
    if (at > untilMs) return found
    if (at >= sinceMs) found.push(at)
  }
  return []
}

/** A label is as short as it can be without repeating one before it. @param civil see `toCivil` */
function withLabels(civil: readonly number[]): Tick[] {
  const isMonthly = civil.length > 1 && civil[1]! - civil[0]! >= 28 * DAY_SECONDS * 1000
  const used = new Set<string>()
  return civil.map((at) => {
    const [day = '', clock = ''] = new Date(at).toISOString().slice(0, 16).split('T')
    const forms = isMonthly
      ? [day.slice(0, 7)]
      : [clock === '00:00' ? day.slice(5) : clock, `${day.slice(5)} ${clock}`, day]
    const label = forms.find((form) => !used.has(form)) ?? `${day} ${clock}`
    used.add(label)
    return { at, label }
  })
}

/** What an amount counts: calls and tokens are whole. */
export type Unit = 'count' | 'usd' | 'ms'

const ROUND_STEPS = [1, 2, 5, 10]
/** Ticks above zero. */
const AMOUNT_TICKS = 4

/** Returns ticks from zero to `highest` at round amounts. */
export function amountTicks(highest: number, unit: Unit): Tick[] {
  if (!(highest > 0)) return [{ at: 0, label: amountLabel(0, 1, unit) }]
  const raw = highest / AMOUNT_TICKS
  const power = 10 ** Math.floor(Math.log10(raw))
  const round = power * (ROUND_STEPS.find((step) => step * power >= raw * (1 - 1e-9)) ?? 10)
  const step = unit === 'count' ? Math.max(1, round) : round
  const count = Math.floor(highest / step + 1e-9)
  return Array.from({ length: count + 1 }, (_, n) => ({
    at: n * step,
    label: amountLabel(n * step, step, unit),
  }))
}

function amountLabel(at: number, step: number, unit: Unit): string {
  const digits = Math.min(12, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)))
  if (unit === 'count') return showCompact(at)
  if (unit === 'ms') return at < 1000 ? `${at.toFixed(digits)} ms` : `${Number((at / 1000).toFixed(3))} s`
  if (at >= 1000) return `$${showCompact(at)}`
  return `$${at.toFixed(digits === 0 ? 0 : Math.max(2, digits))}`
}
