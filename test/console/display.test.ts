import fc from 'fast-check'
import t from 'tap'
import { shorten, showBytes, showMs, showSpan, showUsd } from '../../src/console/display.ts'
import { visible } from '../../src/core/hidden-characters.ts'

t.test('characters that hide or turn text are shown as escapes', async (t) => {
  t.equal(visible('a\u202eb\u200bc\u0000d\u{e0041}'), 'a‹202E›b‹200B›c‹0000›d‹E0041›')
  t.equal(visible('two\nlines\tand é 漢 👩'), 'two\nlines\tand é 漢 👩')
  const bidi = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => !bidi.test(visible(text))))
})

t.test('amounts are short and exact enough', async (t) => {
  const usd = [
    [null, '–'],
    [0, '$0.00'],
    [1234567.891, '$1,234,567.89'],
    [0.01, '$0.01'],
    [0.0012345, '$0.00123'],
    [0.000000004, '$0.000000004'],
  ] as const
  for (const [amount, shown] of usd) t.equal(showUsd(amount), shown)
  t.strictSame([0, 1023, 1536, 5 * 1024 ** 3, 2 ** 60].map(showBytes), [
    '0 B',
    '1,023 B',
    '1.5 KiB',
    '5 GiB',
    '1,048,576 TiB',
  ])
  t.strictSame([0.25, 99.94, 751.2, 999, 1500].map(showMs), [
    ...['0.3 ms', '99.9 ms', '751 ms', '999 ms', '1.5 s'],
  ])
  t.strictSame([-5, 89_000, 600_000, 7_200_000, 864_000_000].map(showSpan), [
    '0 s',
    '89 s',
    '10 min',
    '2 h',
    '10 d',
  ])
})

t.test('a long hash is shortened in the middle, a short one is whole', async (t) => {
  t.equal(shorten('0123456789abcdef01', 4), '0123…ef01')
  t.equal(shorten('012345678', 4), '012345678')
})
