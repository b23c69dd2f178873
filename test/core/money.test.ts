import fc from 'fast-check'
import t from 'tap'
import { divide, formatUsd, MAXIMUM_NANO_USD, readUsd, toUsd, usdOf } from '../../src/core/money.ts'

const AMOUNT = fc.maxSafeNat()
/** Amounts below 2²³ USD are further apart than the numbers of JSON. */
const EXACT_AMOUNT = fc.maxSafeNat().map((amount) => amount % (2 ** 23 * 1e9))

t.test('a decimal number is read exactly, and the tenth digit rounds', async (t) => {
  const cases: readonly (readonly [string, number | null])[] = [
    ['0', 0],
    ['1', 1_000_000_000],
    ['1.25', 1_250_000_000],
    ['0.000000001', 1],
    ['0.0000000004', 0],
    ['0.0000000005', 1],
    ['0.00000000149', 1],
    ['1e-9', 1],
    ['5e-10', 1],
    ['4.9e-10', 0],
    ['1e-300', 0],
    ['1.5e+2', 150_000_000_000],
    ['007', 7_000_000_000],
    ['9007199.254740991', MAXIMUM_NANO_USD],
    ['9007199.254740992', null],
    ['1e+21', null],
    ['1e+999', null],
    ['', null],
    ['.5', null],
    ['5.', null],
    ['-1', null],
    ['+1', null],
    ['1,5', null],
    ['1.25 EUR', null],
    ['$1', null],
    [' 1', null],
    ['1\n', null],
    ['0x10', null],
    ['NaN', null],
    ['Infinity', null],
    ['١', null],
  ]
  for (const [text, amount] of cases) t.equal(readUsd(text), amount, JSON.stringify(text))
})

t.test('a number is read as its shortest decimal form says', async (t) => {
  t.equal(usdOf(0.1 + 0.2), 300_000_000)
  t.equal(usdOf(1e-7), 100)
  t.equal(usdOf(-0), 0)
  for (const none of [-1, -1e-9, Number.NaN, Number.POSITIVE_INFINITY, Number.MAX_VALUE])
    t.equal(usdOf(none), null, String(none))
})

t.test('text and numbers give an amount back', async () => {
  fc.assert(fc.property(AMOUNT, (amount) => readUsd(formatUsd(amount)) === amount))
  fc.assert(fc.property(EXACT_AMOUNT, (amount) => usdOf(toUsd(amount)) === amount))
})

t.test('an amount as text has two to nine digits after the point', async (t) => {
  const cases: readonly (readonly [number, string])[] = [
    [0, '0.00'],
    [1, '0.000000001'],
    [10_000_000, '0.01'],
    [999_999_999, '0.999999999'],
    [1_000_000_000, '1.00'],
    [12_500_000_000, '12.50'],
    [1_230_000_000, '1.23'],
    [1_234_000_000, '1.234'],
    [100_000_000_000, '100.00'],
    [MAXIMUM_NANO_USD, '9007199.254740991'],
  ]
  for (const [amount, text] of cases) t.equal(formatUsd(amount), text)
  fc.assert(fc.property(AMOUNT, (amount) => /^\d+\.\d{2,9}$/.test(formatUsd(amount))))
  // Below a whole number of USD, a quotient of floating point would round up to it.
  for (let usd = 1; usd < 9_007_199; usd += 9973)
    t.equal(formatUsd(usd * 1e9 - 1), `${usd - 1}.999999999`, `just below ${usd}`)
})

t.test('a division rounds halves up', async (t) => {
  t.same([divide(4n, 2n), divide(5n, 2n), divide(7n, 3n), divide(8n, 3n)], [2n, 3n, 2n, 3n])
  const positive = fc.bigInt(1n, 10n ** 30n)
  fc.assert(
    fc.property(fc.bigInt(0n, 10n ** 40n), positive, (dividend, divisor) => {
      const twiceRest = 2n * (divide(dividend, divisor) * divisor - dividend)
      return -divisor < twiceRest && twiceRest <= divisor
    }),
  )
})
