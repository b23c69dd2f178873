import fc from 'fast-check'
import { Counter as PlainCounter, Histogram as PlainHistogram, Registry } from 'prom-client'
import t from 'tap'
import { Counter, Histogram } from '../../src/metrics/series.ts'

const BOUNDS = [0.1, 0.5, 1, 10]
const label = fc.constantFrom('ok', 'blocked', 'other "name"\n')
const pages = async (...registries: Registry[]) => Promise.all(registries.map((one) => one.metrics()))

t.test('a counter shows what prom-client shows', async (t) => {
  const additions = fc.array(fc.tuple(label, label, fc.nat(1000)))
  await fc.assert(
    fc.asyncProperty(additions, async (list) => {
      const [own, plain] = [new Registry(), new Registry()]
      const counter = new Counter('calls_total', 'Calls.', own, ['outcome', 'stream'])
      const labelNames = ['outcome', 'stream']
      const reference = new PlainCounter({
        name: 'calls_total',
        help: 'Calls.',
        labelNames,
        registers: [plain],
      })
      for (const [outcome, stream, by] of list) {
        counter.inc({ outcome, stream }, by)
        reference.inc({ outcome, stream }, by)
      }
      const [page, expected] = await pages(own, plain)
      t.equal(page, expected)
    }),
    { numRuns: 50 },
  )
})

t.test('a histogram shows what prom-client shows, on the bounds too', async (t) => {
  const value = fc.oneof(fc.constantFrom(0, ...BOUNDS, 10.5), fc.double({ min: 0, max: 20, noNaN: true }))
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(label, value)), async (list) => {
      const [own, plain] = [new Registry(), new Registry()]
      const labelled = new Histogram('spent_seconds', 'Spent.', own, BOUNDS, 'phase')
      const bare = new Histogram('score', 'Score.', own, BOUNDS, null)
      const common = { buckets: BOUNDS, registers: [plain] }
      const labelNames = ['phase']
      const labelledReference = new PlainHistogram({
        name: 'spent_seconds',
        help: 'Spent.',
        labelNames,
        ...common,
      })
      const bareReference = new PlainHistogram({ name: 'score', help: 'Score.', ...common })
      for (const [phase, seconds] of list) {
        labelled.observe(seconds, phase)
        bare.observe(seconds)
        labelledReference.observe({ phase }, seconds)
        bareReference.observe(seconds)
      }
      const [page, expected] = await pages(own, plain)
      t.equal(page, expected)
    }),
    { numRuns: 50 },
  )
})
