// Builds the recognisers of the configuration and counts their requests.

import type { Clock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import type { Metrics } from '../metrics/registry.ts'
import { REQUEST_RESULTS } from '../recognisers/analyzer-client.ts'
import { Recognisers } from '../recognisers/recognisers.ts'

/** Returns null without any in the configuration. */
export function buildRecognisers(
  { recognisers }: Pick<Config, 'recognisers'>,
  { recogniserRequests }: Pick<Metrics, 'recogniserRequests'>,
  clock: Clock,
): Recognisers | null {
  if (recognisers.length === 0) return null
  // No query sees the increase of a new series.
  for (const { name } of recognisers)
    for (const result of REQUEST_RESULTS) recogniserRequests.inc({ recogniser: name, result }, 0)
  return new Recognisers(recognisers, clock, (recogniser, result) =>
    recogniserRequests.inc({ recogniser, result }),
  )
}
