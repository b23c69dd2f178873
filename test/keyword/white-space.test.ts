// Tests that `\s` and `\S` follow Unicode's White_Space.

import t from 'tap'
import { matcher } from './fixture.ts'

/** Every character of White_Space (UCD PropList). */
const WHITE_SPACE = [
  ...[0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x20, 0x85, 0xa0, 0x1680],
  ...Array.from({ length: 11 }, (_, index) => 0x2000 + index),
  ...[0x2028, 0x2029, 0x202f, 0x205f, 0x3000],
].map((code) => String.fromCodePoint(code))

/** Matches `x`, one white-space character, `y`. */
const SPACED = [
  'x\\sy',
  'x[\\s]y',
  'x[\\s-]y',
  'x[\\s,]y',
  'x[-\\s]y',
  'x[^\\S]y',
  'x[^\\S,]y',
  'x[[:space:]]y',
  'x[^[:^space:]]y',
  'x(?:\\s|-)y',
  '(?s)x\\s+y',
]
/** Matches `x`, one other character, `y`. */
const UNSPACED = [
  'x\\Sy',
  'x[\\S]y',
  'x[^\\s]y',
  'x[^\\s,]y',
  'x[\\S,]y',
  'x[\\S-]y',
  'x[[:^space:]]y',
  'x[^[:space:]]y',
]

t.test('the table is complete', async (t) => {
  const all = Array.from({ length: 0x11_0000 }, (_, code) => code)
    .filter((code) => /\p{White_Space}/u.test(String.fromCodePoint(code)))
    .map((code) => String.fromCodePoint(code))
  t.same(WHITE_SPACE, all)
})

for (const pattern of SPACED) {
  t.test(`${pattern} matches every white-space character and no other`, async (t) => {
    const one = matcher([pattern])
    for (const space of WHITE_SPACE) t.equal(one.match(`x${space}y`).length, 1, escape(space))
    for (const other of ['z', 'é', '密', '𐐀', '·']) t.equal(one.match(`x${other}y`).length, 0, other)
  })
}

for (const pattern of UNSPACED) {
  t.test(`${pattern} matches every character but white space`, async (t) => {
    const one = matcher([pattern])
    for (const space of WHITE_SPACE) t.equal(one.match(`x${space}y`).length, 0, escape(space))
    for (const other of ['z', 'é', '密', '𐐀', '·']) t.equal(one.match(`x${other}y`).length, 1, other)
  })
}

t.test('a quoted or escaped s is a letter', async (t) => {
  t.equal(matcher(['x\\Q\\s\\E+']).match('x y').length, 0)
  t.equal(matcher(['x\\\\s+']).match('x\\s').length, 1)
  t.equal(matcher(['x[\\\\s]+y']).match('x y').length, 0)
})

t.test('an error shows the pattern as it was written', async (t) => {
  t.throws(() => matcher(['x[\\s']), /missing closing \]: `\[\\s`/)
  t.throws(() => matcher(['x(\\S']), /missing closing \): `x\(\\S`/)
})

t.test('the length of a pattern is counted as it was written', async (t) => {
  t.equal(matcher([`x${'\\s'.repeat(900)}y`]).match('x y').length, 0)
})
