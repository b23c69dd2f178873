// When ages mean nothing, because the wall clock may be wrong.

import t from 'tap'
import { ClockDoubt } from '../../src/store/log/clock-doubt.ts'
import { DAY_MS, START_MS } from './fixture.ts'

const MINUTE_MS = 60_000

function clockAt(startMs: number) {
  const time = { wallMs: startMs, passedMs: 0 }
  return {
    now: () => time.wallMs,
    monotonic: () => time.passedMs,
    pass(ms: number) {
      time.wallMs += ms
      time.passedMs += ms
    },
    set(wallMs: number) {
      time.wallMs = wallMs
    },
  }
}

t.test('a start long after the newest entry is doubted until the clock is steady for an hour', async (t) => {
  const clock = clockAt(START_MS + 1200 * DAY_MS)
  const doubt = new ClockDoubt(clock, START_MS)
  t.equal(doubt.isOpen(), true)
  clock.pass(50 * MINUTE_MS)
  clock.set(START_MS + DAY_MS)
  t.equal(doubt.isOpen(), true, 'NTP sets the clock')
  clock.pass(50 * MINUTE_MS)
  t.equal(doubt.isOpen(), true, 'the hour begins anew')
  clock.pass(10 * MINUTE_MS)
  t.equal(doubt.isOpen(), false)
})

t.test('a jump of more than a day is doubted, in either direction, and slow clocks are not', async (t) => {
  for (const jumpMs of [2 * DAY_MS, -2 * DAY_MS]) {
    const clock = clockAt(START_MS)
    const doubt = new ClockDoubt(clock, START_MS)
    t.equal(doubt.isOpen(), false)
    clock.pass(MINUTE_MS)
    clock.set(clock.now() + 30 * MINUTE_MS)
    t.equal(doubt.isOpen(), false)
    clock.set(clock.now() + jumpMs)
    t.equal(doubt.isOpen(), true)
    clock.pass(60 * MINUTE_MS)
    t.equal(doubt.isOpen(), false)
  }
})

t.test('a doubt that was ended begins anew with the next jump', async (t) => {
  const clock = clockAt(START_MS + 2 * DAY_MS)
  const doubt = new ClockDoubt(clock, START_MS)
  t.equal(doubt.isOpen(), true)
  doubt.end()
  t.equal(doubt.isOpen(), false)
  clock.set(clock.now() + 2 * DAY_MS)
  t.equal(doubt.isOpen(), true)
})

t.test('an empty log is no reason for doubt', async (t) => {
  t.equal(new ClockDoubt(clockAt(START_MS), null).isOpen(), false)
})
