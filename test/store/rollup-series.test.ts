// Series of usage from rollups: each step equals the sums of the calls sealed in it, at any stage of
// packing.

import fc from 'fast-check'
import t from 'tap'
import { openEnvironment } from '../../src/store/environment/journaled.ts'
import { writeFirstHour } from '../../src/store/rollup/call-rollup.ts'
import { beginOpen } from '../../src/store/rollup/packed-sums.ts'
import { seriesOfDays } from '../../src/store/rollup/rollup-series.ts'
import { CallSums, type CallValues } from '../../src/usage/call-sums.ts'
import { requestDraft } from '../audit/drafts.ts'
import { DAY_MS, id, openTestStore, START_MS } from './fixture.ts'

const HOUR_MS = 3_600_000
const HOUSEKEEPING_MS = 60_000
const NO_VALUES = new CallSums().values() as CallValues

interface Call {
  readonly afterMs: number
  readonly blocked: boolean
  readonly tokens: number
  readonly cost: number | null
  readonly model: string
}

const anyCall: fc.Arbitrary<Call> = fc.record({
  afterMs: fc.oneof(fc.nat(2 * HOUR_MS), fc.nat(5 * DAY_MS)),
  blocked: fc.boolean(),
  tokens: fc.nat(1000),
  cost: fc.option(fc.nat(1e9)),
  model: fc.constantFrom('a', 'b'),
})

t.test('each step is the sum of its calls, packed or not', async (t) => {
  let calls = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyCall, { maxLength: 12 }),
      fc.constantFrom(1, 2, 7, 8, 30, 365),
      fc.boolean(),
      async (sealed, days, packs) => {
        const { store, clock, tick } = openTestStore(t, { path: t.testdir() })
        const counted: (Call & { atMs: number })[] = []
        for (const call of sealed) {
          clock.advance(call.afterMs)
          const { tokens, blocked, cost, model } = call
          await store.log.append(
            requestDraft({ id: id(++calls), total_tokens: tokens, blocked, cost, model }),
          )
          counted.push({ ...call, atMs: clock.now() })
          if (packs) tick(HOUSEKEEPING_MS)
        }
        const series = await store.rollups.series(days)
        const stepMs = days <= 7 ? HOUR_MS : DAY_MS
        const endMs = (Math.floor(clock.now() / stepMs) + 1) * stepMs
        const steps = days <= 7 ? days * 24 : days
        const starts = Array.from({ length: steps }, (_, index) => endMs - (steps - index) * stepMs)
        const sum = (of: (call: Call) => number) =>
          starts.map((startMs) =>
            counted
              .filter(({ atMs }) => atMs >= startMs && atMs < startMs + stepMs)
              .reduce((total, call) => total + of(call), 0),
          )
        t.strictSame(series, {
          step_seconds: stepMs / 1000,
          since: new Date(endMs - steps * stepMs).toISOString(),
          until: new Date(endMs).toISOString(),
          times: starts.map((startMs) => startMs / 1000),
          requests: sum(() => 1),
          blocked: sum(({ blocked }) => Number(blocked)),
          refused: sum(() => 0),
          tokens: sum(({ tokens }) => tokens),
          cost_usd: sum(({ cost }) => cost ?? 0).map((cost) => cost / 1e9),
          added_latency_ms: starts.map(() => null),
          streams_in_flight: starts.map(() => null),
        })
        await store.close()
      },
    ),
    { numRuns: 40 },
  )
})

t.test('a step from before the log counted calls is null', async (t) => {
  const environment = openEnvironment(t.testdir(), { takesJournal: true })
  t.teardown(() => environment.close())
  const hour = Math.floor(START_MS / HOUR_MS)
  const requests = async (days: number) => (await seriesOfDays(environment, days, START_MS)).requests
  t.ok(
    (await requests(8)).every((count) => count === null),
    'a store without rollups',
  )
  await environment.transaction(() => {
    writeFirstHour(environment.tables, hour - 1)
    // Calls that a rebuild counted.
    const sums = new CallSums()
    sums.addCall({ ...NO_VALUES, requests: 3 })
    beginOpen(environment.tables, hour - 3, 1, sums)
  })
  t.strictSame((await requests(1)).slice(-5), [null, 3, null, 0, 0])
  t.strictSame((await requests(8)).slice(-2), [null, 3], 'a day that is counted in part is known')
})
