// The arithmetic of token limits: a sliding window kept as a row of small buckets. Pure: the time comes in,
// and what is remembered is handed in. Knows neither rules nor keys nor where the counts are kept.

import type { Milliseconds } from '../core/clock.ts'

/** Buckets a window is cut into: how finely it slides. */
const BUCKETS_PER_WINDOW = 60

/**
 * Buckets that count at any moment. One more than a window has, because the oldest is only partly inside it:
 * it counts in full, so that no window of the rule's length, wherever it begins, ever holds more than the limit.
 */
const LIVE_BUCKETS = BUCKETS_PER_WINDOW + 1

/** Tokens expected of an answer whose length nobody has limited, until one of the window has ended. */
const EXPECTED_ANSWER_TOKENS = 512

/** The share of the newest answer in what is expected of the next. */
const NEWEST_SHARE = 1 / 8

/** Where only calls under way stand in the way, room may come back at any moment. */
const RETRY_BESIDE_RUNNING_MS = 1000

/** A slice of time, tokens used in it. */
export interface Bucket {
  /** Time since the epoch divided by the bucket's length, rounded down. */
  readonly index: number
  tokens: number
  /** Those of `tokens` that calls under way hold. */
  held: number
}

/** What is remembered of one limit for one key. */
export interface QuotaWindow {
  readonly bucketMs: Milliseconds
  /** Ordered by index, at most about two windows long. */
  buckets: Bucket[]
  /** What answers of unlimited length have had on average, a choice; null before the first. */
  typicalAnswer: number | null
}

export interface QuotaAnswer {
  readonly allowed: boolean
  /** Tokens left after what was asked for, never negative. */
  readonly remaining: number
  /** Until nothing of what is used now counts any more. */
  readonly resetMs: Milliseconds
  /**
   * Until the same reservation could succeed if nothing else happened, a second at most where calls under way hold the
   * room; 0 when it was allowed.
   */
  readonly retryAfterMs: Milliseconds
  /** The bucket that was charged, null when nothing was. */
  readonly bucketIndex: number | null
  /** What was charged: the tokens asked for, and those expected. */
  readonly charged: number
}

export interface QuotaRequest {
  readonly limitTokens: number
  /** At least 1: a call always costs something. */
  readonly tokens: number
  /** Answers of unlimited length that come on top. */
  readonly unlimitedChoices: number
  readonly nowMs: Milliseconds
  /** False for a limit that only watches: it charges even what is over the limit. */
  readonly enforced: boolean
}

/** The length of a window's buckets; rounded up, so that the row covers the window or more. */
export function bucketLength(windowMs: Milliseconds): Milliseconds {
  return Math.ceil(windowMs / BUCKETS_PER_WINDOW)
}

export function bucketAt(bucketMs: Milliseconds, nowMs: Milliseconds): number {
  return Math.floor(nowMs / bucketMs)
}

/**
 * Whether a bucket still counts. One that lies ahead does too, as after the clock was set back a little;
 * one further ahead than a whole window is a remnant of a wrong clock and must not block for ever.
 */
export function isLive(index: number, currentIndex: number): boolean {
  return index > currentIndex - LIVE_BUCKETS && index < currentIndex + LIVE_BUCKETS
}

export const openWindow = (windowMs: Milliseconds): QuotaWindow => ({
  bucketMs: bucketLength(windowMs),
  buckets: [],
  typicalAnswer: null,
})

/**
 * Takes `tokens` out of the window if they fit, or in any case when the limit is not enforced. Answers of unlimited
 * length refuse nobody by themselves, as one after the other they would not; but the calls beside them find as much of the
 * room taken as such answers have needed.
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
  const left = Math.max(0, limitTokens - used - (takes ? tokens : 0))
  const charged = takes ? tokens + Math.min(left, expectedTokens(window, request.unlimitedChoices)) : 0
  if (takes) charge(window, current, charged, charged)
  return {
    allowed,
    remaining: left,
    resetMs: timeUntilEmpty(window, nowMs),
    retryAfterMs,
    bucketIndex: takes ? current : null,
    charged,
  }
}

const expectedTokens = (window: QuotaWindow, choices: number): number =>
  Math.ceil(choices * (window.typicalAnswer ?? EXPECTED_ANSWER_TOKENS))

/** Learns from an answer of unlimited length; one that never came says nothing. */
export function learn(window: QuotaWindow, answerTokens: number, choices: number): void {
  if (answerTokens === 0) return
  const perChoice = answerTokens / choices
  const before = window.typicalAnswer ?? perChoice
  window.typicalAnswer = before + (perChoice - before) * NEWEST_SHARE
}

/**
 * Adds to a bucket, or takes from it what was reserved and not used; a bucket never falls below nothing.
 * @param held those that a call under way holds from now on, or less than 0 for what it held
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

/** Forgets buckets that no longer count. */
export function expire(window: QuotaWindow, currentIndex: number): void {
  const { buckets } = window
  const first = buckets[0]
  const last = buckets.at(-1)
  if (first === undefined || last === undefined) return
  if (isLive(first.index, currentIndex) && isLive(last.index, currentIndex)) return
  window.buckets = buckets.filter((bucket) => isLive(bucket.index, currentIndex))
}

export function usedTokens(window: QuotaWindow): number {
  let used = 0
  for (const bucket of window.buckets) used += bucket.tokens
  return used
}

/** When a bucket stops counting, milliseconds since the epoch. */
function endOf(window: QuotaWindow, bucket: Bucket): Milliseconds {
  return (bucket.index + LIVE_BUCKETS) * window.bucketMs
}

function timeUntilEmpty(window: QuotaWindow, nowMs: Milliseconds): Milliseconds {
  const last = window.buckets.findLast((bucket) => bucket.tokens > 0)
  return last === undefined ? 0 : Math.max(0, endOf(window, last) - nowMs)
}

function timeUntilFits(
  window: QuotaWindow,
  request: QuotaRequest,
  used: number,
  tokens: number,
): Milliseconds {
  let left = used
  let held = 0
  for (const bucket of window.buckets) held += bucket.held
  const soonest = used - held + tokens <= request.limitTokens ? RETRY_BESIDE_RUNNING_MS : Infinity
  for (const bucket of window.buckets) {
    left -= bucket.tokens
    if (left + tokens <= request.limitTokens) {
      return Math.min(soonest, Math.max(1, endOf(window, bucket) - request.nowMs))
    }
  }
  // More than the limit in one call never fits; a whole window is what there is to say.
  return LIVE_BUCKETS * window.bucketMs
}
