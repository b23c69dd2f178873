// Hints may say yes too often, never no wrongly: whatever a decoder would find, its hint is set.

import fc from 'fast-check'
import t from 'tap'
import { encodingHints } from '../../../src/detect/injection/encoding-hints.ts'

const bytes = fc.uint8Array({ minLength: 24, maxLength: 60 }).map((array) => Buffer.from(array))
const around = fc.tuple(fc.string({ maxLength: 40 }), fc.string({ maxLength: 40 }))
const spaces = fc.constantFrom('', ' ', '\n', '\t', '\u00a0', '\u2003', '\u3000', '\ufeff')

t.test('everyday text has no hints', async (t) => {
  const text = 'It was the best of times, it was the worst of times; we had 100% of it & more.'
  t.same(encodingHints(text), {
    base64: [],
    digits: false,
    selectors: false,
    escapes: false,
    turned: false,
  })
})

t.test('base64 is seen wherever it stands', async (t) => {
  fc.assert(
    fc.property(bytes, around, (data, [before, after]) => {
      return encodingHints(`${before} ${data.toString('base64')} ${after}`).base64.some(
        (at) => at <= before.length + 1,
      )
    }),
  )
  t.pass()
})

t.test('hexadecimal and binary digits are seen with whatever may stand between them', async (t) => {
  const filler = fc.constantFrom('', ' ', ', ', ':', '\n', '\u00a0', '\\x', '0x', ' 0x')
  fc.assert(
    fc.property(bytes, filler, around, (data, between, [before, after]) => {
      const hex = data.toString('hex').replace(/../g, `${between}$&`)
      return encodingHints(`${before}|${hex}|${after}`).digits
    }),
  )
  fc.assert(
    fc.property(bytes, spaces, (data, space) => {
      const binary = Array.from(data, (byte) => byte.toString(2).padStart(8, '0')).join(space)
      return encodingHints(`see ${binary}`).digits
    }),
  )
  t.pass()
})

t.test('eight selectors and three escapes are enough', async (t) => {
  t.ok(encodingHints(`x${'\ufe01'.repeat(8)}`).selectors)
  t.ok(encodingHints(`x${'\u{e0141}'.repeat(8)}`).selectors)
  t.notOk(encodingHints('❤\ufe0f '.repeat(7)).selectors)
  for (const sequence of ['%41', '&#65;', '&lt;', '\\u0041']) {
    t.ok(encodingHints(`a${sequence.repeat(3)}`).escapes, sequence)
    t.notOk(encodingHints(`a${sequence.repeat(2)}`).escapes, sequence)
  }
})

const TURNED =
  'rot13 rot-13 rot\u000013 rot\u00a013 caesar gur lbh lbhe naq vtaber cebzcg nyy cerivbhf flfgrz reverse backwards ' +
  'erongi tpmorp suoiverp snoitcurtsni metsys eveilebsid drowssap tegrof ' +
  'gung guvf sebz fubj eht uoy ruoy taht siht tahw morf'
for (const word of TURNED.split(' ')) {
  t.test(`a hint of turned text: ${word}`, async (t) => {
    for (const form of [word, word.toUpperCase(), `${word}. And more`, `so ${word}`]) {
      t.ok(encodingHints(form.replaceAll('\u0000', ' ')).turned, form)
    }
  })
}
