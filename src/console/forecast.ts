// What a budget of a calendar month will be at its end, if calls continue as they did so far.

/** Share of a month that must be over: a single day says little. */
const LEAST_SHARE = 1 / 30

/** Returns the start of the UTC month of a time, and of the next. */
export function monthOf(timeMs: number): { readonly startMs: number; readonly endMs: number } {
  const time = new Date(timeMs)
  const [year, month] = [time.getUTCFullYear(), time.getUTCMonth()]
  return { startMs: Date.UTC(year, month), endMs: Date.UTC(year, month + 1) }
}

/**
 * Returns the amount at the end of a period, as a line through zero and the use now; null while
 * too little of the period is over.
 */
export function forecast(
  used: number,
  nowMs: number,
  { startMs, endMs }: ReturnType<typeof monthOf>,
): number | null {
  const share = (nowMs - startMs) / (endMs - startMs)
  return share < LEAST_SHARE ? null : used / Math.min(1, share)
}

/** The period of the same length before one. */
export const periodBefore = (sinceMs: number, untilMs: number) => ({
  sinceMs: sinceMs - (untilMs - sinceMs),
  untilMs: sinceMs,
})

/** How much more or less, in percent: `+12 %`; null without anything before. */
export function showChange(now: number, before: number): string | null {
  if (before === 0) return null
  const percent = Math.round(((now - before) / before) * 100)
  return percent === 0 ? '±0 %' : `${percent > 0 ? '+' : '−'}${Math.abs(percent)} %`
}
