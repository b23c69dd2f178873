import fc from 'fast-check'
import * as client from 'prom-client'
import t from 'tap'
import { Counter, Histogram } from '../../src/metrics/series.ts'

const BOUNDS = [0.1, 0.5, 1, 10]
const LABELS = ['rule', 'action'] as const
const text = fc.constantFrom('a', 'b', 'with "quotes"', 'back\\slash', 'line\nbreak', '')
const value = fc.oneof(fc.constantFrom(0, ...BOUNDS), fc.double({ min: 0, max: 20, noNaN: true }))
const observations = fc.array(fc.record({ rule: text, action: text, value }), { maxLength: 40 })

t.test('the page is that of prom-client for the same observations', async () => {
  await fc.assert(
    fc.asyncProperty(observations, async (all) => {
      const [own, theirs] = [new client.Registry(), new client.Registry()]
      const config = { help: 'Help.', registers: [theirs] }
      const counters = [
        new Counter(own, { name: 'calls_total', help: 'Help.', labels: LABELS }),
        new client.Counter({ ...config, name: 'calls_total', labelNames: LABELS }),
      ]
      const histograms = [
        new Histogram(own, { name: 'time', help: 'Help.', labels: LABELS }, BOUNDS),
        new client.Histogram({ ...config, name: 'time', labelNames: LABELS, buckets: BOUNDS }),
      ]
      const bare = [
        new Counter(own, { name: 'bare_total', help: 'Help.', labels: [] }),
        new client.Counter({ ...config, name: 'bare_total' }),
      ]
      const bareHistograms = [
        new Histogram(own, { name: 'bare', help: 'Help.', labels: [] }, BOUNDS),
        new client.Histogram({ ...config, name: 'bare', buckets: BOUNDS }),
      ]
      for (const { rule, action, value } of all) {
        for (const counter of counters) {
          counter.inc({ rule, action })
          counter.inc({ action, rule }, value)
        }
        for (const histogram of histograms) histogram.observe({ rule, action }, value)
        for (const counter of bare) counter.inc(value)
        for (const histogram of bareHistograms) histogram.observe(value)
      }
      const [page, expected] = [await own.metrics(), await theirs.metrics()]
      if (page !== expected) throw new Error(`${page}\n--- instead of\n${expected}`)
    }),
    { numRuns: 100 },
  )
})

t.test('a counter without an amount grows by 1, and 0 creates its series', async (t) => {
  const registry = new client.Registry()
  const bare = new Counter(registry, { name: 'bare_total', help: 'Help.', labels: [] })
  const labelled = new Counter(registry, { name: 'calls_total', help: 'Help.', labels: ['code'] })
  bare.inc()
  labelled.inc({ code: 'x' }, 0)
  t.match(await registry.metrics(), /\nbare_total 1\n[\s\S]*\ncalls_total\{code="x"\} 0\n/)
})

t.test('wrong amounts, wrong labels and a repeated name are errors', async (t) => {
  const registry = new client.Registry()
  const counter = new Counter(registry, { name: 'calls_total', help: 'Help.', labels: LABELS })
  const histogram = new Histogram(registry, { name: 'time', help: 'Help.', labels: [] }, BOUNDS)
  const labels = { rule: 'a', action: 'b' }
  for (const amount of [-1, Number.NaN]) t.throws(() => counter.inc(labels, amount), RangeError)
  for (const amount of [Number.NaN, Number.POSITIVE_INFINITY])
    t.throws(() => histogram.observe(amount), RangeError)
  for (const wrong of [{ rule: 'a' }, { ...labels, other: 'c' }, { rule: 'a', action: 1 }])
    t.throws(() => counter.inc(wrong as unknown as typeof labels), /calls_total has the labels rule, action/)
  t.throws(
    () => new Counter(registry, { name: 'calls_total', help: 'Help.', labels: [] }),
    /already been registered/,
  )
})
