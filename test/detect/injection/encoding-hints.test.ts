// Tests that hints never miss an encoding that a decoder would find. False hints are allowed.

import fc from 'fast-check'
import t from 'tap'
import { atOnce } from '../../../src/core/steps.ts'
import { HintReader } from '../../../src/detect/injection/encoding-hints.ts'

const reader = new HintReader()
const encodingHints = (text: string) => atOnce(reader.read(text))

const bytes = fc.uint8Array({ minLength: 24, maxLength: 60 }).map((array) => Buffer.from(array))
const around = fc.tuple(fc.string({ maxLength: 40 }), fc.string({ maxLength: 40 }))
const spaces = fc.constantFrom('', ' ', '\n', '\t', '\u00a0', '\u2003', '\u3000', '\ufeff')

t.test('ordinary text has no hints', async (t) => {
  const text = 'It was the best of times, it was the worst of times; we had 100% of it & more.'
  t.same(encodingHints(text), {
    base64: [],
    digits: [],
    selectors: false,
    escapes: false,
    rot13: null,
    reversed: null,
  })
})

t.test('base64 is reported anywhere in a text', async (t) => {
  fc.assert(
    fc.property(bytes, around, (data, [before, after]) => {
      return encodingHints(`${before} ${data.toString('base64')} ${after}`).base64.some(
        (at) => at <= before.length + 1,
      )
    }),
  )
  t.pass()
})

t.test('hexadecimal and binary digits are reported with any separator', async (t) => {
  const filler = fc.constantFrom('', ' ', ', ', ':', '\n', '\u00a0', '\\x', '0x', ' 0x')
  fc.assert(
    fc.property(bytes, filler, around, (data, between, [before, after]) => {
      const hex = data.toString('hex').replace(/../g, `${between}$&`)
      const start = before.length + 1
      return encodingHints(`${before}|${hex}|${after}`).digits.some(
        (span) => span.start <= start && span.end >= start + hex.length,
      )
    }),
  )
  fc.assert(
    fc.property(bytes, spaces, (data, space) => {
      const binary = Array.from(data, (byte) => byte.toString(2).padStart(8, '0')).join(space)
      return encodingHints(`see ${binary}`).digits.some(
        ({ start, end }) => start <= 4 && end === 4 + binary.length,
      )
    }),
  )
  t.pass()
})

t.test('eight selectors or three escapes are reported', async (t) => {
  t.ok(encodingHints(`x${'\ufe01'.repeat(8)}`).selectors)
  t.ok(encodingHints(`x${'\u{e0141}'.repeat(8)}`).selectors)
  t.notOk(encodingHints('❤\ufe0f '.repeat(7)).selectors)
  for (const sequence of ['%41', '&#65;', '&lt;', '\\u0041']) {
    t.ok(encodingHints(`a${sequence.repeat(3)}`).escapes, sequence)
    t.notOk(encodingHints(`a${sequence.repeat(2)}`).escapes, sequence)
  }
})

/** The hints as patterns, for comparison. */
const ROT13 = /\b(?:rot-?\s?13|caesar|gur|lbhe?|naq|gung|guvf|sebz|fubj|vtaber|cebzcg|nyy|cerivbhf|flfgrz)\b/i
const REVERSED =
  /\b(?:revers|backward|(?:eht|r?uoy|taht|siht|tahw|morf)\b)|(?:erongi|tpmorp|suoiverp|snoitcurtsni|metsys|eveilebsid|drowssap|tegrof)/i
const WORDS =
  'rot13 rot-13 rot\u000013 rot\u00a013 rot-\u000013 caesar gur lbh lbhe naq gung guvf sebz fubj vtaber cebzcg nyy cerivbhf ' +
  'flfgrz reverse backwards eht uoy ruoy taht siht tahw morf erongi tpmorp suoiverp snoitcurtsni metsys eveilebsid ' +
  'drowssap tegrof'

const isMarked = (blocks: Uint8Array | null) => blocks?.includes(1) ?? false

for (const word of WORDS.split(' ')) {
  t.test(`the word ${word} is a hint of rotated or reversed text`, async (t) => {
    for (const form of [word, word.toUpperCase(), `${word}. And more`, `so ${word}`]) {
      const text = form.replaceAll('\u0000', ' ')
      const { rot13, reversed } = encodingHints(text)
      t.equal(isMarked(rot13), ROT13.test(text), `rot13: ${text}`)
      t.equal(isMarked(reversed), REVERSED.test(text), `reversed: ${text}`)
      t.ok(isMarked(rot13) || isMarked(reversed), text)
    }
  })
}

t.test('hints of rotated and reversed text agree with the patterns in any context', async (t) => {
  const parts = fc.constantFrom(
    ...WORDS.replaceAll('\u0000', '_').split(' '),
    'x',
    '_',
    '-',
    ' ',
    '13',
    'ſ',
    'é',
    '\n',
    'GUR',
  )
  fc.assert(
    fc.property(fc.array(parts, { maxLength: 12 }), (list) => {
      const text = list.join('')
      const { rot13, reversed } = encodingHints(text)
      return isMarked(rot13) === ROT13.test(text) && isMarked(reversed) === REVERSED.test(text)
    }),
    { numRuns: 2000 },
  )
  t.pass()
})

t.test('a hint marks its block, and near a boundary also the next', async (t) => {
  for (const at of [0, 100, 2000, 2030, 2040, 2048, 2060, 2070, 4090, 5000]) {
    const { rot13 } = encodingHints(`${' '.repeat(at)}gur${' '.repeat(3000)}`)
    const marked = Array.from(rot13 ?? [], (mark, block) => (mark === 1 ? block : -1)).filter(
      (block) => block >= 0,
    )
    const around = [at + 3 - 16, at + 16].map((place) => Math.floor(Math.max(0, place) / 2048))
    t.same(marked, [...new Set(around)], `at ${at}`)
  }
})
