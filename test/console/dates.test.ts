import t from 'tap'
import { amountTicks, timeTicks, type Unit } from '../../src/console/axis.ts'
import {
  daysOf,
  fromCivil,
  fromField,
  showStep,
  showTime,
  toCivil,
  toField,
} from '../../src/console/dates.ts'

const ms = (iso: string) => Date.parse(iso)
const seconds = (iso: string) => ms(iso) / 1000

t.test('a time names its zone, and one in an unknown zone is shown in UTC', async (t) => {
  const rows = [
    ['2026-11-26T23:30:00Z', 'UTC', '2026-11-26 23:30:00 UTC'],
    ['2026-11-26T23:30:00.999Z', 'Europe/Paris', '2026-11-27 00:30:00 +01:00'],
    ['2026-07-26T03:30:00Z', 'America/Los_Angeles', '2026-07-25 20:30:00 −07:00'],
    ['2026-11-26T23:30:00Z', 'Asia/Kolkata', '2026-11-27 05:00:00 +05:30'],
    ['2026-11-26T23:30:00Z', 'Europe/London', '2026-11-26 23:30:00 UTC'],
    ['2026-11-26T23:30:00Z', 'No/Such', '2026-11-26 23:30:00 UTC'],
  ] as const
  for (const [iso, zone, shown] of rows) t.equal(showTime(ms(iso), zone), shown)
})

t.test('a bar of a day is a UTC day west and east of UTC; a shorter one is of the zone', async (t) => {
  const day = ms('2026-11-26T00:00:00Z')
  for (const zone of ['UTC', 'America/Los_Angeles', 'Pacific/Auckland'])
    t.equal(showStep(day, 86_400, zone), '2026-11-26 UTC')
  t.equal(showStep(day, 3600, 'America/Los_Angeles'), '2026-11-25 16:00 −08:00')
})

t.test('a field of a form shows the zone of the page, and is read in it', async (t) => {
  for (const zone of ['UTC', 'Europe/Paris', 'America/Los_Angeles', 'Australia/Lord_Howe'])
    for (const iso of ['2026-03-29T00:59:59.000Z', '2026-11-26T23:30:00.000Z']) {
      t.equal(fromField(toField(iso, zone), zone), iso)
      t.equal(fromCivil(toCivil(ms(iso), zone), zone), ms(iso))
    }
  t.equal(toField('2026-11-26T23:30:00.000Z', 'Europe/Paris'), '2026-11-27T00:30:00')
  t.strictSame([toField(undefined, 'UTC'), toField('nonsense', 'UTC'), fromField('', 'UTC')], ['', '', ''])
})

t.test('an hour that clocks show twice is the first, east and west of UTC', async (t) => {
  const rows = [
    ['America/Los_Angeles', '2026-11-01T01:30:00', '2026-11-01T08:30:00.000Z'],
    ['Europe/Berlin', '2026-10-25T02:30:00', '2026-10-25T00:30:00.000Z'],
    ['Europe/London', '2026-10-25T01:30:00', '2026-10-25T00:30:00.000Z'],
    ['Australia/Lord_Howe', '2026-04-05T01:45:00', '2026-04-04T14:45:00.000Z'],
    // Never shown.
    ['Europe/Berlin', '2026-03-29T02:30:00', '2026-03-29T01:30:00.000Z'],
    ['America/Los_Angeles', '2026-03-08T02:30:00', '2026-03-08T10:30:00.000Z'],
  ] as const
  for (const [zone, civil, iso] of rows) t.equal(fromField(civil, zone), iso, `${zone} ${civil}`)
})

t.test('the days of a period are whole UTC days', async (t) => {
  const days = (since: string, until: string) => daysOf(ms(since), ms(until)).map((at) => at / 86_400)
  const first = seconds('2026-11-26T00:00:00Z') / 86_400
  t.strictSame(days('2026-11-26T05:00:00Z', '2026-11-26T06:00:00Z'), [first])
  t.strictSame(days('2026-11-26T00:00:00Z', '2026-11-28T00:00:00Z'), [first, first + 1])
  t.strictSame(days('2026-11-26T00:00:00Z', '2026-11-25T00:00:00Z'), [])
})

t.test('ticks are at round times inside the period, and no two say the same', async (t) => {
  const rows: [string, string, number, number, string, string[]][] = [
    ['2026-11-26T09:07:00Z', '2026-11-26T10:07:00Z', 60, 5, 'UTC', ['09:15', '09:30', '09:45', '10:00']],
    [
      ...(['2026-11-25T15:00:00Z', '2026-11-26T15:00:00Z', 60, 6, 'UTC'] as const),
      ['18:00', '11-26', '06:00', '12:00'],
    ],
    ['2026-11-25T12:00:00Z', '2026-11-26T12:00:00Z', 60, 3, 'UTC', ['12:00', '11-26', '11-26 12:00']],
    ['2026-11-26T00:00:00Z', '2026-11-27T00:00:00Z', 86_400, 6, 'America/Los_Angeles', ['11-26', '11-27']],
    ['2026-11-26T00:00:00Z', '2026-11-26T06:00:00Z', 3600, 3, 'Asia/Kolkata', ['06:00', '08:00', '10:00']],
    [
      '2026-03-28T23:00:00Z',
      '2026-03-29T22:00:00Z',
      3600,
      5,
      'Europe/Paris',
      ['03-29', '06:00', '12:00', '18:00', '03-30'],
    ],
    [
      '2025-11-27T00:00:00Z',
      '2026-11-27T00:00:00Z',
      86_400,
      6,
      'UTC',
      ['2026-01', '2026-03', '2026-05', '2026-07', '2026-09', '2026-11'],
    ],
  ]
  for (const [since, until, step, maximum, zone, labels] of rows) {
    const period = { since: seconds(since), until: seconds(until) }
    const ticks = timeTicks(period, step, maximum, zone)
    t.strictSame(
      ticks.map(({ label }) => label),
      labels,
      `${since} in ${zone}`,
    )
    t.ok(ticks.every(({ at }) => at >= period.since && at <= period.until))
  }
  for (let hours = 1; hours < 20_000; hours = Math.ceil(hours * 1.3)) {
    const until = seconds('2026-11-26T14:03:00Z')
    const period = { since: until - hours * 3600, until }
    const step = hours <= 24 ? 60 : hours <= 168 ? 3600 : 86_400
    const labels = timeTicks(period, step, 7, 'America/New_York').map(({ label }) => label)
    t.equal(new Set(labels).size, labels.length, `${hours} hours`)
    t.ok(labels.length <= 7)
  }
})

t.test('amounts have ticks at round values, whole ones for calls, and no two say the same', async (t) => {
  const rows: [number, Unit, string[]][] = [
    [0, 'count', ['0']],
    [1, 'count', ['0', '1']],
    [3, 'count', ['0', '1', '2', '3']],
    [7300, 'count', ['0', '2K', '4K', '6K']],
    [0.021, 'usd', ['$0.00', '$0.01', '$0.02']],
    [0.00031, 'usd', ['$0.0000', '$0.0001', '$0.0002', '$0.0003']],
    [5200, 'usd', ['$0', '$2K', '$4K']],
    [0.31, 'ms', ['0.0 ms', '0.1 ms', '0.2 ms', '0.3 ms']],
    [1600, 'ms', ['0 ms', '500 ms', '1 s', '1.5 s']],
  ]
  for (const [highest, unit, labels] of rows)
    t.strictSame(
      amountTicks(highest, unit).map(({ label }) => label),
      labels,
      `${highest} ${unit}`,
    )
  for (const unit of ['count', 'usd', 'ms'] as const)
    for (let highest = 1e-6; highest < 1e9; highest *= 1.37) {
      const labels = amountTicks(highest, unit).map(({ label }) => label)
      t.equal(new Set(labels).size, labels.length, `${highest} ${unit}: ${labels}`)
    }
})
