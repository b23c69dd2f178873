// Tests which digits and signs are read as letters.

import fc from 'fast-check'
import t from 'tap'
import { readLeet } from '../../../src/detect/injection/leet-text.ts'

const CASES: readonly (readonly [name: string, text: string, want: string])[] = [
  ['digits inside words', '1gn0r3 4ll', 'ignore all'],
  ['signs inside words', 'p@$$word pr3v10u$ ru|es', 'password previous ruies'],
  ['letters of any case', 'IGN0RE', 'IGNoRE'],
  ['numbers as they are', 'on 12 May 2024', 'on 12 May 2024'],
  ['marks at the end of a word as they are', 'n0w! stop|', 'now! stop|'],
  ['letters of other scripts', 'пр0мпт', 'прoмпт'],
]
for (const [name, text, want] of CASES) t.test(`reads ${name}`, async (t) => t.equal(readLeet(text), want))

t.test('every offset stays the same', async (t) => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => readLeet(text).length === text.length))
  t.pass()
})
