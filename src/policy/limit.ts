// Computes limits over a sliding window of small buckets, or over a month of the calendar. Counts
// tokens; a request counts as one, and so does each 10⁻⁹ USD. Pure: time and state are arguments.
// Knows neither rules nor keys nor where the counts are kept.

import type { Milliseconds } from '../core/clock.ts'

/** The window of a limit that counts by the months of the calendar, in UTC. It does not slide. */
export const CALENDAR_MONTH: Milliseconds = 2 ** 40

/** The window of a limit that counts a whole run, until seven days after its last call. */
export const RUN_WINDOW: Milliseconds = 2 ** 41

/** The bucket of such a window. No other has this length: the longest window has 30 days. */
const RUN_BUCKET_MS: Milliseconds = 86_400_000

/** Buckets of a run that count: the current day and the seven before it. */
const LIVE_RUN_BUCKETS = 8

/** Buckets in a window: how finely it slides. */
const BUCKETS_PER_WINDOW = 60

/**
 * Buckets that count at any moment: one more than a window has. The oldest is only partly inside
 * the window and counts in full, so that no window of the rule's length, wherever it begins,
 * exceeds the limit.
 */
const LIVE_BUCKETS = BUCKETS_PER_WINDOW + 1

/** Expected tokens of an answer without a length limit, until the first of the window has ended. */
export const EXPECTED_ANSWER_TOKENS = 512

/** Expected tool calls of an answer, until the first of the window with one has ended. */
export const EXPECTED_TOOL_CALLS = 4

/** Weight of the newest answer in the expectation for the next. */
const NEWEST_SHARE = 1 / 8

/** The tokens used in a slice of time. */
export interface Bucket {
  /** Time since the epoch divided by the bucket's length, rounded down. */
  readonly index: number
  tokens: number
  /** The part of `tokens` that running calls hold. */
  held: number
}

/** The state of one limit for one key. */
export interface QuotaWindow {
  /** CALENDAR_MONTH for a window whose only bucket is the month. */
  readonly bucketMs: Milliseconds
  /** Ordered by index, at most about two windows long. */
  buckets: Bucket[]
  /**
   * Average tokens per choice of answers without a length limit, or the highest of tool calls after
   * the first; null before the first answer.
   */
  typicalAnswer: number | null
}

export interface QuotaAnswer {
  readonly allowed: boolean
  /** Tokens left after the reservation, never negative. */
  readonly remaining: number
  /** Time until none of the tokens used now counts. */
  readonly resetMs: Milliseconds
  /**
   * Time until the same reservation succeeds if nothing else happens and running calls use what
   * they hold; 0 when it was allowed, and when it never fits.
   */
  readonly retryAfterMs: Milliseconds
  /** Whether it fits as soon as running calls end that use less, which may be at any moment. */
  readonly isHeld: boolean
  /** The charged bucket; null when nothing was charged. */
  readonly bucketIndex: number | null
  /** Charged tokens: the requested and the expected ones. */
  readonly charged: number
}

export interface QuotaRequest {
  readonly limitTokens: number
  /** At least 1: a call always costs something. */
  readonly tokens: number
  /** Choices without a length limit, in addition to `tokens`. */
  readonly unlimitedChoices: number
  /** Expected tokens of each of them, until the first of the window has ended. */
  readonly expectedAnswer: number
  readonly nowMs: Milliseconds
  /** False for a rule that monitors: it charges tokens above the limit too. */
  readonly enforced: boolean
}

/** The length of a bucket; rounded up, so that the buckets cover the window. */
export function bucketLength(windowMs: Milliseconds): Milliseconds {
  if (windowMs === CALENDAR_MONTH) return CALENDAR_MONTH
  return windowMs === RUN_WINDOW ? RUN_BUCKET_MS : Math.ceil(windowMs / BUCKETS_PER_WINDOW)
}

const MONTHS_A_YEAR = 12
const FIRST_YEAR = 1970

/** The bucket of a time: counted from the epoch, in lengths of a bucket or in months. */
export function bucketAt(bucketMs: Milliseconds, nowMs: Milliseconds): number {
  if (bucketMs !== CALENDAR_MONTH) return Math.floor(nowMs / bucketMs)
  const now = new Date(nowMs)
  return (now.getUTCFullYear() - FIRST_YEAR) * MONTHS_A_YEAR + now.getUTCMonth()
}

/** When a bucket begins, milliseconds since the epoch. */
export const bucketStart = (bucketMs: Milliseconds, index: number): Milliseconds =>
  bucketMs === CALENDAR_MONTH ? Date.UTC(FIRST_YEAR, index) : index * bucketMs

/**
 * Whether a bucket counts. A bucket in the future counts too, because the clock may have been set
 * back a little. One more than a window ahead comes from a wrong clock and must not block for ever.
 */
export function isLive(bucketMs: Milliseconds, index: number, currentIndex: number): boolean {
  const [first, last] = liveRange(bucketMs, currentIndex)
  return index >= first && index <= last
}

/** The first and the last bucket that count. */
export function liveRange(bucketMs: Milliseconds, currentIndex: number): readonly [number, number] {
  const beside = liveBuckets(bucketMs) - 1
  return [currentIndex - beside, currentIndex + beside]
}

function liveBuckets(bucketMs: Milliseconds): number {
  if (bucketMs === CALENDAR_MONTH) return 1
  return bucketMs === RUN_BUCKET_MS ? LIVE_RUN_BUCKETS : LIVE_BUCKETS
}

export const openWindow = (windowMs: Milliseconds): QuotaWindow => ({
  bucketMs: bucketLength(windowMs),
  buckets: [],
  typicalAnswer: null,
})

/**
 * Reserves `tokens` if they fit, or in any case when the limit is not enforced. The expected length
 * of unlimited answers is charged as far as it fits, but never refuses the call itself: it only
 * leaves less for concurrent calls.
 */
export function reserveTokens(window: QuotaWindow, request: QuotaRequest): QuotaAnswer {
  const { limitTokens, nowMs, enforced } = request
  const tokens = Math.max(1, request.tokens)
  const current = bucketAt(window.bucketMs, nowMs)
  expire(window, current)
  const used = usedTokens(window)
  const allowed = used + tokens <= limitTokens
  const takes = allowed || !enforced
  const retryAfterMs = allowed ? 0 : timeUntilFits(window, request, used, tokens)
  const isHeld = !allowed && used - heldTokens(window) + tokens <= limitTokens
  const left = Math.max(0, limitTokens - used - (takes ? tokens : 0))
  const charged = takes ? tokens + Math.min(left, expectedTokens(window, request)) : 0
  if (takes) charge(window, current, charged, charged)
  return {
    allowed,
    remaining: left,
    resetMs: timeUntilEmpty(window, nowMs),
    retryAfterMs,
    isHeld,
    bucketIndex: takes ? current : null,
    charged,
  }
}

/** Tokens that the answers of a call without a length limit are expected to have. */
export const expectedTokens = (
  { typicalAnswer }: Pick<QuotaWindow, 'typicalAnswer'>,
  { unlimitedChoices, expectedAnswer }: Pick<QuotaRequest, 'unlimitedChoices' | 'expectedAnswer'>,
): number => Math.ceil(unlimitedChoices * (typicalAnswer ?? expectedAnswer))

/**
 * Updates the average from an answer without a length limit. An answer of no tokens does not count.
 */
export function learn(
  window: Pick<QuotaWindow, 'typicalAnswer'>,
  answerTokens: number,
  choices: number,
): void {
  if (answerTokens === 0) return
  const perChoice = answerTokens / choices
  const before = window.typicalAnswer ?? perChoice
  window.typicalAnswer = before + (perChoice - before) * NEWEST_SHARE
}

/** Raises what is expected of an answer to what one has taken. */
export function learnHighest(window: QuotaWindow, tokens: number): void {
  window.typicalAnswer = Math.max(window.typicalAnswer ?? 0, tokens)
}

/**
 * Adds tokens to a bucket, or subtracts those reserved and not used. A bucket never becomes
 * negative.
 * @param held tokens that a running call holds from now on; negative to release them
 */
export function charge(window: QuotaWindow, index: number, tokens: number, held = 0): void {
  const { buckets } = window
  let place = buckets.length
  while (place > 0 && (buckets[place - 1] as Bucket).index > index) place--
  const bucket = buckets[place - 1]
  if (bucket?.index === index) {
    bucket.tokens = Math.max(0, bucket.tokens + tokens)
    bucket.held = Math.max(0, bucket.held + held)
  } else if (tokens > 0) buckets.splice(place, 0, { index, tokens, held: Math.max(0, held) })
}

/** A bucket whose tokens, as far as no running call holds them, count in a later one. */
export interface MovedTokens {
  readonly index: number
  readonly tokens: number
}

/**
 * Lets all that counts of a run count in its current bucket, so that it counts until the run has
 * been idle.
 * @returns what moved
 */
export function gatherRun(window: QuotaWindow, nowMs: Milliseconds): readonly MovedTokens[] {
  const current = bucketAt(window.bucketMs, nowMs)
  const last = window.buckets.at(-1)
  if (last === undefined || (window.buckets.length === 1 && last.index >= current)) return []
  expire(window, current)
  const index = Math.max(current, window.buckets.at(-1)?.index ?? current)
  const moved = window.buckets.filter((bucket) => bucket.index < index)
  const all = { index, tokens: usedTokens(window), held: heldTokens(window) }
  window.buckets = all.tokens > 0 || all.held > 0 ? [all] : []
  return moved.map(({ index, tokens, held }) => ({ index, tokens: tokens - held }))
}

/** Drops buckets that no longer count. */
export function expire(window: QuotaWindow, currentIndex: number): void {
  const { buckets } = window
  const first = buckets[0]
  const last = buckets.at(-1)
  if (first === undefined || last === undefined) return
  const isCounted = ({ index }: Bucket) => isLive(window.bucketMs, index, currentIndex)
  if (isCounted(first) && isCounted(last)) return
  window.buckets = buckets.filter(isCounted)
}

export function usedTokens(window: QuotaWindow): number {
  let used = 0
  for (const bucket of window.buckets) used += bucket.tokens
  return used
}

const heldTokens = ({ buckets }: QuotaWindow): number => buckets.reduce((sum, { held }) => sum + held, 0)

/** What counts of a window at a time, and the time until none of it does; 0 when nothing counts. */
export interface WindowUse {
  readonly used: number
  readonly resetMs: Milliseconds
}

/** Returns what counts of a window at a time. Leaves the window as it is. */
export function windowUse(window: QuotaWindow, nowMs: Milliseconds): WindowUse {
  const live = { ...window }
  expire(live, bucketAt(window.bucketMs, nowMs))
  return { used: usedTokens(live), resetMs: timeUntilEmpty(live, nowMs) }
}

/**
 * The length of the window of a limit; of a month of the calendar, that of the current one, and of
 * a run the time after its last call.
 */
export function windowLength(windowMs: Milliseconds, nowMs: Milliseconds): Milliseconds {
  if (windowMs === RUN_WINDOW) return (LIVE_RUN_BUCKETS - 1) * RUN_BUCKET_MS
  if (windowMs !== CALENDAR_MONTH) return windowMs
  const month = bucketAt(CALENDAR_MONTH, nowMs)
  return bucketStart(CALENDAR_MONTH, month + 1) - bucketStart(CALENDAR_MONTH, month)
}

/** When the window of a month of the calendar ends; null for any other, which slides. */
export const windowEnd = (windowMs: Milliseconds, nowMs: Milliseconds): Milliseconds | null =>
  windowMs === CALENDAR_MONTH ? bucketStart(CALENDAR_MONTH, bucketAt(CALENDAR_MONTH, nowMs) + 1) : null

/** The time at which a bucket stops counting, milliseconds since the epoch. */
export const countsUntil = (bucketMs: Milliseconds, index: number): Milliseconds =>
  bucketStart(bucketMs, index + liveBuckets(bucketMs))

function timeUntilEmpty(window: QuotaWindow, nowMs: Milliseconds): Milliseconds {
  const last = window.buckets.findLast((bucket) => bucket.tokens > 0)
  return last === undefined ? 0 : Math.max(0, countsUntil(window.bucketMs, last.index) - nowMs)
}

function timeUntilFits(
  window: QuotaWindow,
  request: QuotaRequest,
  used: number,
  tokens: number,
): Milliseconds {
  let left = used
  for (const bucket of window.buckets) {
    left -= bucket.tokens
    if (left + tokens <= request.limitTokens)
      return Math.max(1, countsUntil(window.bucketMs, bucket.index) - request.nowMs)
  }
  return 0
}
