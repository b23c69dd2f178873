// Numbers, times and texts as the console shows them.

const DASH = '–'

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
const decimals = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })
const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const
/** Smallest amount shown with two decimals, USD. */
const CENT = 0.01

export const showCount = (count: number | null): string => (count === null ? DASH : whole.format(count))

/** Short, for tiles and axes: 1.2K, 3.4M. */
export const showCompact = (count: number | null): string => (count === null ? DASH : compact.format(count))

/** @param usd small amounts show three significant digits */
export function showUsd(usd: number | null): string {
  if (usd === null) return DASH
  if (usd === 0 || usd >= CENT) return `$${usd.toFixed(2).replace(/\B(?=(\d{3})+(?!\d))/g, ',')}`
  return `$${Number(usd.toPrecision(3)).toFixed(9).replace(/0+$/, '')}`
}

export function showMs(ms: number | null): string {
  if (ms === null) return DASH
  if (ms < 1000) return `${decimals.format(ms < 100 ? ms : Math.round(ms))} ms`
  return `${decimals.format(ms / 1000)} s`
}

export function showBytes(bytes: number | null): string {
  if (bytes === null) return DASH
  let value = bytes
  let unit = 0
  while (value >= 1024 && unit < BYTE_UNITS.length - 1) {
    value /= 1024
    unit++
  }
  return `${decimals.format(value)} ${BYTE_UNITS[unit]}`
}

/** How long: `45 s`, `3 min`, `5 h`, `12 d`. */
export function showSpan(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 90) return `${seconds} s`
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`
  if (seconds < 48 * 3600) return `${Math.round(seconds / 3600)} h`
  return `${Math.round(seconds / 86_400)} d`
}

/** The first and last characters of a hash or an id. */
export const shorten = (text: string, keep = 8): string =>
  text.length <= 2 * keep + 1 ? text : `${text.slice(0, keep)}…${text.slice(-keep)}`
