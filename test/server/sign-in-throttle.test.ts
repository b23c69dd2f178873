// How often sign-ins may be tried: networks, and the size of the table.

import t from 'tap'
import { ATTEMPTS, COMPARISONS, SignInThrottle } from '../../src/server/sign-in-throttle.ts'
import { testClock } from '../store/fixture.ts'

/** Attempts of these addresses in turn that are admitted at once. */
function admitted(addresses: readonly string[], tries: number): number {
  const throttle = new SignInThrottle(testClock(), ATTEMPTS)
  let count = 0
  for (let i = 0; i < tries; i++) if (throttle.admit(addresses[i % addresses.length]!)) count++
  return count
}

t.test('an IPv6 address counts as its /64, and an IPv4 address in any spelling as itself', async (t) => {
  const one: string[][] = [
    ['10.0.0.1', '::ffff:10.0.0.1', '::FFFF:10.0.0.1'],
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff::9', '2001:DB8:1:2:3:4:5:6'],
    ['fe80::1%eth0', 'fe80::2%eth0', 'fe80:0:0:0:1::'],
    ['::1', '::2'],
    [''],
  ]
  for (const addresses of one) t.equal(admitted(addresses, 50), 5, addresses.join())
  const two = [
    ['10.0.0.1', '10.0.0.2'],
    ['2001:db8:1:2::1', '2001:db8:1:3::1'],
    ['::1', '0:0:0:1::1'],
  ]
  for (const addresses of two) t.equal(admitted(addresses, 50), 10, addresses.join())
})

t.test('any number of addresses takes a bounded table', async (t) => {
  for (const [limits, most] of [
    [ATTEMPTS, 120],
    [COMPARISONS, 2000],
  ] as const) {
    const clock = testClock()
    const throttle = new SignInThrottle(clock, limits)
    let largest = 0
    for (let i = 0; i < 20_000; i++) {
      throttle.admit(`2001:db8:${(i >> 8).toString(16)}:${(i & 255).toString(16)}::1`)
      clock.advance(i % 5 === 0 ? 5 : 0)
      largest = Math.max(largest, throttle.size)
    }
    t.ok(largest <= most, String(largest))
    clock.advance(5000)
    throttle.admit('10.0.0.1')
    t.equal(throttle.size, 1, 'idle addresses are forgotten')
  }
})
