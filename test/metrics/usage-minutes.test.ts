// The minutes of usage in memory, compared with a model that keeps every minute apart.

import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { RING_MINUTES, UsageMinutes } from '../../src/metrics/usage-minutes.ts'

const MINUTE_MS = 60_000
/** Minutes from the epoch at which the model begins. */
const START = 29_000_000
const ENDED = { outcome: 'ok', firstTokenMs: null } as const

type Event =
  | {
      readonly type: 'call'
      readonly stopped: 'blocked' | 'refused' | null
      readonly tokens: number
      readonly cost: number | null
    }
  | { readonly type: 'began' | 'ended' | 'nothing' }

interface Cell {
  calls: Extract<Event, { type: 'call' }>[]
  streams: number
}

/** Passes through every minute one by one. A minute replaces the one a day before and after. */
class Model {
  readonly cells = new Map<number, Cell>()
  /** The minute that has each place of the ring. */
  readonly #places = new Map<number, number>()
  minute = START
  level = 0

  constructor() {
    this.#pass(START)
  }

  apply(minute: number, event: Event): void {
    for (let one = Math.min(this.minute + 1, minute); one <= minute; one++) this.#pass(one)
    this.minute = minute
    const cell = this.cells.get(minute)!
    if (event.type === 'call') cell.calls.push(event)
    if (event.type === 'ended') this.level = Math.max(0, this.level - 1)
    if (event.type === 'began') cell.streams = Math.max(cell.streams, ++this.level)
  }

  #pass(minute: number): void {
    const cell = this.cells.get(minute) ?? { calls: [], streams: 0 }
    const other = this.#places.get(minute % RING_MINUTES)
    if (other !== undefined) this.cells.delete(other)
    this.#places.set(minute % RING_MINUTES, minute)
    cell.streams = Math.max(cell.streams, this.level)
    this.cells.set(minute, cell)
  }

  column<T>(count: number, read: (cell: Cell) => T): (T | null)[] {
    return Array.from({ length: count }, (_, index) => {
      const cell = this.cells.get(this.minute - count + 1 + index)
      return cell === undefined ? null : read(cell)
    })
  }
}

const anyEvent = fc.oneof(
  fc.record({
    type: fc.constant('call' as const),
    stopped: fc.constantFrom('blocked' as const, 'refused' as const, null),
    tokens: fc.nat(100_000),
    cost: fc.option(fc.nat(1e9)),
  }),
  fc.record({ type: fc.constantFrom('began' as const, 'ended' as const, 'nothing' as const) }),
)
/** Mostly steps within a few minutes, some across the ring, forwards and backwards. */
const anyStepMs = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 3 * MINUTE_MS }) },
  { weight: 1, arbitrary: fc.integer({ min: -5 * MINUTE_MS, max: 0 }) },
  { weight: 2, arbitrary: fc.integer({ min: -2000 * MINUTE_MS, max: 3500 * MINUTE_MS }) },
)

t.test('the minutes equal a model, with any times and values', async (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(anyStepMs, anyEvent), { maxLength: 30 }),
      fc.integer({ min: 1, max: RING_MINUTES }),
      (steps, count) => {
        let nowMs = START * MINUTE_MS
        const minutes = new UsageMinutes(nowMs)
        const model = new Model()
        for (const [stepMs, event] of steps) {
          nowMs += stepMs
          if (event.type === 'call') minutes.addCall(nowMs, { ...event, ...ENDED, addedMs: event.tokens / 8 })
          else if (event.type === 'began') minutes.streamBegan(nowMs)
          else if (event.type === 'ended' && model.level > 0) minutes.streamEnded(nowMs)
          else minutes.read(nowMs, 1)
          model.apply(Math.floor(nowMs / MINUTE_MS), event)
        }
        const sum = (of: (call: Cell['calls'][number]) => number) =>
          model.column(count, ({ calls }) => calls.reduce((total, call) => total + of(call), 0))
        const series = minutes.read(nowMs, count)
        const first = (model.minute - count + 1) * 60
        const expected = {
          times: Array.from({ length: count }, (_, index) => first + index * 60),
          requests: sum(() => 1),
          blocked: sum(({ stopped }) => Number(stopped === 'blocked')),
          refused: sum(({ stopped }) => Number(stopped === 'refused')),
          tokens: sum(({ tokens }) => tokens),
          cost_usd: sum(({ cost }) => cost ?? 0).map((cost) => (cost === null ? null : cost / 1e9)),
          added_latency_ms: model.column(count, ({ calls }) =>
            calls.length === 0
              ? null
              : Math.round(
                  (calls.reduce((total, { tokens }) => total + tokens / 8, 0) / calls.length) * 1000,
                ) / 1000,
          ),
          streams_in_flight: model.column(count, ({ streams }) => streams),
        }
        const { step_seconds, since, until, ...columns } = series
        // A comparison that prints its difference is slow.
        if (!isDeepStrictEqual(columns, expected)) t.strictSame(columns, expected)
      },
    ),
    { numRuns: 400 },
  )
})

t.test('a series names its first and last moment, and what was before the start is null', async (t) => {
  const startMs = Date.UTC(2026, 2, 1, 12, 30, 10)
  const minutes = new UsageMinutes(startMs)
  minutes.addCall(startMs + 65_000, { ...ENDED, stopped: 'blocked', tokens: 7, cost: null, addedMs: 1.23456 })
  t.strictSame(minutes.read(startMs + 2 * MINUTE_MS, 4), {
    step_seconds: 60,
    since: '2026-03-01T12:29:00.000Z',
    until: '2026-03-01T12:33:00.000Z',
    times: [0, 60, 120, 180].map((more) => Date.UTC(2026, 2, 1, 12, 29) / 1000 + more),
    requests: [null, 0, 1, 0],
    blocked: [null, 0, 1, 0],
    refused: [null, 0, 0, 0],
    tokens: [null, 0, 7, 0],
    cost_usd: [null, 0, 0, 0],
    added_latency_ms: [null, null, 1.235, null],
    streams_in_flight: [null, 0, 0, 0],
  })
})

t.test('a stream counts in every minute that it lasts', async (t) => {
  const minutes = new UsageMinutes(0)
  minutes.streamBegan(0)
  minutes.streamBegan(1)
  minutes.streamEnded(MINUTE_MS)
  minutes.streamEnded(3 * MINUTE_MS)
  t.strictSame(minutes.read(5 * MINUTE_MS, 6).streams_in_flight, [2, 2, 1, 1, 0, 0])
})

t.test('a summary counts how calls ended, and tells percentiles to within a tenth', async (t) => {
  const startMs = Date.UTC(2026, 2, 1, 12, 30)
  const minutes = new UsageMinutes(startMs)
  const none = minutes.summary(startMs, 1)
  t.match(none, { sinceMs: startMs, outcomes: { ok: 0 }, added: null, firstToken: null })
  const use = { ...ENDED, stopped: null, tokens: 1, cost: null }
  for (let n = 1; n <= 1000; n++)
    minutes.addCall(startMs + n, { ...use, addedMs: n / 10, firstTokenMs: n % 2 === 0 ? n : null })
  const late = startMs + 2 * 60 * MINUTE_MS
  minutes.addCall(late, { ...use, outcome: 'upstream_error', addedMs: 0, firstTokenMs: 1e9 })
  const { outcomes, added, firstToken, sinceMs } = minutes.summary(late, 3)
  t.match([outcomes, sinceMs], [{ ok: 1000, upstream_error: 1, blocked: 0, rate_limited: 0 }, startMs])
  const near = (value: number, wanted: number) => Math.abs(value / wanted - 1) < 0.1
  t.ok(near(added!.p50, 50) && near(added!.p95, 95), JSON.stringify(added))
  t.ok(near(firstToken!.p50, 500) && near(firstToken!.p95, 950), JSON.stringify(firstToken))
  const lastHour = minutes.summary(late, 1)
  t.match(lastHour.outcomes, { ok: 0, upstream_error: 1 }, 'older slices are left out')
  t.ok(lastHour.added!.p95 <= 0.1 && lastHour.firstToken!.p50 < 6e6, 'ends of the range')
})

t.test('a summary keeps a day, also when the clock is set back', async (t) => {
  const minutes = new UsageMinutes(0)
  const use = { ...ENDED, stopped: null, tokens: 1, cost: null, addedMs: 1 }
  const DAY_MS = RING_MINUTES * MINUTE_MS
  for (let atMs = 0; atMs < 3 * DAY_MS; atMs += 10 * MINUTE_MS) minutes.addCall(atMs, use)
  t.equal(minutes.summary(3 * DAY_MS - 1, 24).outcomes.ok, 144)
  t.equal(minutes.summary(2 * DAY_MS - 1, 24).outcomes.ok, 0, 'the day before is forgotten')
  minutes.addCall(DAY_MS, use)
  t.equal(minutes.summary(DAY_MS, 1).outcomes.ok, 1)
})
