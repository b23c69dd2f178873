// Delay of the event loop, measured by one native timer for all metrics that show it.

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Gauge, type Registry } from 'prom-client'

/** Interval of the samples, milliseconds. Each one wakes the process. */
const RESOLUTION_MS = 1000
const RESOLUTION_NS = RESOLUTION_MS * 1e6
const NANOSECONDS = 1e9

const PERCENTILES = [0.5, 0.9, 0.99] as const

/** prom-client's precision for its own monitor, which shows the interval itself as delay. */
export const MONITORING_PRECISION = { eventLoopMonitoringPrecision: RESOLUTION_MS }

/** Node reports NaN while there are too few samples, which no query can use. */
const finite = (seconds: number): number => (Number.isFinite(seconds) ? seconds : 0)

/**
 * Registers `sidegate_event_loop_delay_seconds`, and replaces prom-client's metrics of the delay.
 */
export function registerEventLoopDelay(registry: Registry): void {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delay.enable()
  // A sample is the time between two ticks of the timer. Nothing is measured before the second.
  const seconds = (sampleNs: number): number =>
    delay.count === 0 ? 0 : finite(Math.max(0, sampleNs - RESOLUTION_NS) / NANOSECONDS)
  const percentile = (share: number) => () => seconds(delay.percentile(share * 100))
  const replace = (suffix: string, help: string, read: () => number): void => {
    const name = `nodejs_eventloop_lag_${suffix}_seconds`
    registry.removeSingleMetric(name)
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read())
      },
    })
  }
  replace('min', 'Minimum delay of the event loop since the last scrape.', () => seconds(delay.min))
  replace('max', 'Maximum delay of the event loop since the last scrape.', () => seconds(delay.max))
  replace('mean', 'Mean delay of the event loop since the last scrape.', () => seconds(delay.mean))
  replace('stddev', 'Standard deviation of the delay of the event loop since the last scrape.', () =>
    delay.count === 0 ? 0 : finite(delay.stddev / NANOSECONDS),
  )
  for (const share of PERCENTILES)
    replace(
      `p${share * 100}`,
      `Percentile ${share * 100} of the delay of the event loop since the last scrape.`,
      percentile(share),
    )
  // Registered last, because it starts the next interval.
  new Gauge({
    name: 'sidegate_event_loop_delay_seconds',
    help: 'Delay of the event loop since the last scrape, by percentile.',
    labelNames: ['percentile'],
    registers: [registry],
    collect() {
      for (const share of PERCENTILES) this.labels(String(share)).set(percentile(share)())
      delay.reset()
    },
  })
}
