import fc from 'fast-check'
import t from 'tap'
import { isoTime, isoTimeOrNull, parseEndTime, parseTime } from '../../src/core/time.ts'

const CASES: readonly (readonly [text: string, time: string | null, end: string | null])[] = [
  ['2026-03-01T12:00:00Z', '2026-03-01T12:00:00.000Z', '2026-03-01T12:00:00.000Z'],
  ['2026-03-01T12:00:00.25+02:00', '2026-03-01T10:00:00.250Z', '2026-03-01T10:00:00.250Z'],
  ['2026-03-01t12:00:00z', '2026-03-01T12:00:00.000Z', '2026-03-01T12:00:00.000Z'],
  ['2026-03-01t12:00:00.25+02:00', '2026-03-01T10:00:00.250Z', '2026-03-01T10:00:00.250Z'],
  ['2026-03-01T12:00Z', '2026-03-01T12:00:00.000Z', '2026-03-01T12:00:00.000Z'],
  ['2026-03-01', '2026-03-01T00:00:00.000Z', '2026-03-01T23:59:59.999Z'],
  ['2024-02-29', '2024-02-29T00:00:00.000Z', '2024-02-29T23:59:59.999Z'],
  ['2026-02-29', null, null],
  ['2026-02-30T00:00:00Z', null, null],
  ['2026-03-01T12:00:00', null, null],
  ['2026-03-01T24:00:00Z', null, null],
  ['01.03.2026', null, null],
  ['now', null, null],
  ['', null, null],
]

const engine = (timeMs: number | null) => (timeMs === null ? null : new Date(timeMs).toISOString())

t.test('times and dates are parsed, and a date as an end is its last millisecond', async (t) => {
  for (const [text, time, end] of CASES) {
    t.equal(engine(parseTime(text)), time, text)
    t.equal(engine(parseEndTime(text)), end, `${text} as an end`)
  }
})

t.test('isoTime formats like Date.toISOString, in any order of times', async (t) => {
  const near = fc.integer({ min: 0, max: 5000 }).map((ms) => 1_764_000_000_000 + ms)
  const any = fc.double({ min: -8.64e15, max: 8.64e15, noNaN: true })
  fc.assert(
    fc.property(fc.array(fc.oneof(near, any)), (times) => times.every((ms) => isoTime(ms) === engine(ms))),
  )
  t.equal(isoTime(-1), '1969-12-31T23:59:59.999Z')
  t.equal(isoTime(1_764_000_000_999.9), '2025-11-24T16:00:00.999Z')
  t.equal(isoTimeOrNull(null), null)
  for (const none of [Number.NaN, Number.POSITIVE_INFINITY, 8.65e15])
    t.throws(() => isoTime(none), RangeError)
})
