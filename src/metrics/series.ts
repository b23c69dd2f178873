// Counters and histograms that calls add to: a few additions each, where prom-client's own spend most of their time on
// hashing and checking labels. What is shown of them is prom-client's to format. Knows no metric's name.

import type { Metric, Registry } from 'prom-client'

/** Values of a series' labels, joined. A character that no label value of ours holds. */
const SEPARATOR = '\0'

interface Sample {
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
  readonly metricName?: string
}

/** What a registry of prom-client asks of a metric. */
abstract class Series {
  readonly name: string
  readonly help: string
  abstract readonly type: 'counter' | 'histogram'
  readonly aggregator = 'sum'

  constructor(name: string, help: string, registry: Registry) {
    this.name = name
    this.help = help
    // Its type names prom-client's classes; what it uses is a name and `get`.
    registry.registerMetric(this as unknown as Metric)
  }

  protected abstract samples(): Sample[]

  get() {
    const { name, help, type, aggregator } = this
    return Promise.resolve({ name, help, type, aggregator, values: this.samples() })
  }
}

interface Count<Label extends string> {
  readonly labels: Readonly<Record<Label, string>>
  value: number
}

/** A number that only grows, for each set of label values. */
export class Counter<Label extends string> extends Series {
  readonly type = 'counter'
  readonly #labelNames: readonly Label[]
  readonly #counts = new Map<string, Count<Label>>()

  constructor(name: string, help: string, registry: Registry, labelNames: readonly Label[]) {
    super(name, help, registry)
    this.#labelNames = labelNames
  }

  inc(labels: Readonly<Record<Label, string>>, by = 1): void {
    let key = ''
    for (const name of this.#labelNames) key += labels[name] + SEPARATOR
    const count = this.#counts.get(key)
    if (count === undefined) this.#counts.set(key, { labels: { ...labels }, value: by })
    else count.value += by
  }

  protected samples(): Sample[] {
    return [...this.#counts.values()].map(({ labels, value }) => ({ labels, value }))
  }
}

interface Buckets {
  readonly counts: Float64Array
  sum: number
  count: number
}

/** How often a measured value was at most each of some bounds, by the value of one label or of none. */
export class Histogram extends Series {
  readonly type = 'histogram'
  readonly #bounds: readonly number[]
  readonly #labelName: string | null
  readonly #byLabel = new Map<string, Buckets>()

  /** @param bounds ascending */
  constructor(
    name: string,
    help: string,
    registry: Registry,
    bounds: readonly number[],
    labelName: string | null,
  ) {
    super(name, help, registry)
    this.#bounds = bounds
    this.#labelName = labelName
    if (labelName === null) this.#buckets('')
  }

  /** @param label empty for a histogram without one */
  observe(value: number, label = ''): void {
    const buckets = this.#byLabel.get(label) ?? this.#buckets(label)
    const bounds = this.#bounds
    let at = 0
    while (at < bounds.length && value > bounds[at]!) at++
    // What is above all bounds is in the count alone.
    if (at < bounds.length) buckets.counts[at]! += 1
    buckets.sum += value
    buckets.count++
  }

  #buckets(label: string): Buckets {
    const buckets = { counts: new Float64Array(this.#bounds.length), sum: 0, count: 0 }
    this.#byLabel.set(label, buckets)
    return buckets
  }

  protected samples(): Sample[] {
    return [...this.#byLabel].flatMap(([label, buckets]) => this.#samplesOf(label, buckets))
  }

  #samplesOf(label: string, { counts, sum, count }: Buckets): Sample[] {
    const labels = this.#labelName === null ? {} : { [this.#labelName]: label }
    const metricName = `${this.name}_bucket`
    let below = 0
    const upTo = this.#bounds.map((bound, at) => {
      below += counts[at]!
      return { metricName, labels: { le: bound, ...labels }, value: below }
    })
    return [
      ...upTo,
      { metricName, labels: { le: '+Inf', ...labels }, value: count },
      { metricName: `${this.name}_sum`, labels, value: sum },
      { metricName: `${this.name}_count`, labels, value: count },
    ]
  }
}
