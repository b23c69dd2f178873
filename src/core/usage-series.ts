// A series of usage over time as the management API shows it: one column for each number.

import { type NanoUsd, toUsd } from './money.ts'
import { isoTime } from './time.ts'

/** Columns of equal length, oldest step first. A null says that nothing is known. */
export type UsageSeries = {
  step_seconds: number
  /** Start of the first step, and the end of the last one, exclusive. */
  since: string
  until: string
  /** Start of each step, seconds since the epoch. */
  times: number[]
  requests: (number | null)[]
  blocked: (number | null)[]
  refused: (number | null)[]
  tokens: (number | null)[]
  cost_usd: (number | null)[]
  added_latency_ms: (number | null)[]
  streams_in_flight: (number | null)[]
}

/** What one step of a series sums. */
export interface UsageStep {
  readonly requests: number
  readonly blocked: number
  readonly refused: number
  readonly tokens: number
  /** Known costs, in 10⁻⁹ USD. */
  readonly cost: NanoUsd | bigint
  /** Mean time that the gateway added to a call; null when it is not known. */
  readonly addedMs: number | null
  /** Maximum streams at a time; null when it is not known. */
  readonly streams: number | null
}

/** Microseconds in a millisecond: a mean is shown to the microsecond. */
const US_PER_MS = 1000

/**
 * @param first number of the first step, counted from the epoch in steps
 * @param steps null for a step that is not known
 */
export function usageSeries(
  stepSeconds: number,
  first: number,
  steps: readonly (UsageStep | null)[],
): UsageSeries {
  const startOf = (index: number) => (first + index) * stepSeconds
  const column = (read: (step: UsageStep) => number | null) =>
    steps.map((step) => (step === null ? null : read(step)))
  return {
    step_seconds: stepSeconds,
    since: isoTime(startOf(0) * 1000),
    until: isoTime(startOf(steps.length) * 1000),
    times: steps.map((_, index) => startOf(index)),
    requests: column(({ requests }) => requests),
    blocked: column(({ blocked }) => blocked),
    refused: column(({ refused }) => refused),
    tokens: column(({ tokens }) => tokens),
    cost_usd: column(({ cost }) => toUsd(cost)),
    added_latency_ms: column(({ addedMs }) =>
      addedMs === null ? null : Math.round(addedMs * US_PER_MS) / US_PER_MS,
    ),
    streams_in_flight: column(({ streams }) => streams),
  }
}
