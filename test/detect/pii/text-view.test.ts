// Checks that invisible characters inside values hide nothing, whole and streamed.

import fc from 'fast-check'
import t from 'tap'
import { type Finding, PII_KINDS } from '../../../src/core/finding.ts'
import { detect } from '../../../src/detect/pii/detect.ts'
import { StreamDetector } from '../../../src/detect/pii/detect-stream.ts'
import { kindSet } from '../../../src/detect/pii/kinds.ts'

const INVISIBLE = [
  ...'\u00ad\u034f\u061c\u115f\u1160\u17b4\u180b\u180f\u200b\u200c\u200d\u2060\ufeff\u3164\ufe00\ufe0f\uffa0',
  '\u{e0001}',
  '\u{e0041}',
]
const VALUES = [
  'alice@example.com',
  '4111 1111 1111 1111',
  'DE89 3704 0044 0532 0130 00',
  'ghp_16C7e42F292c6912E7710c838347Ae178B4a',
  '+1 415 555 2671',
  '123-45-6789',
]

function streamed(text: string, size: number): Finding[] {
  const detector = new StreamDetector()
  const findings: Finding[] = []
  for (let at = 0; at < text.length; at += size) findings.push(...detector.push(text.slice(at, at + size)))
  return [...findings, ...detector.finish()]
}

t.test('an invisible character inside a value does not hide it', async (t) => {
  for (const value of VALUES)
    for (const hidden of INVISIBLE)
      for (let at = 1; at < value.length; at++) {
        const text = `see ${hidden}${value.slice(0, at)}${hidden}${value.slice(at)}${hidden} now`
        const start = 4 + hidden.length
        const found = detect(text)
        t.match(
          found,
          [{ start, end: start + value.length + hidden.length }],
          `${value} with U+${hidden.codePointAt(0)!.toString(16)} at ${at}`,
        )
        t.same(streamed(text, 1 + (at % 5)), found)
      }
})

t.test('a run of invisible characters of any length inside a value does not hide it', async (t) => {
  for (const value of VALUES)
    for (const hidden of ['\u200b', '\u00ad', '\u{e0041}'])
      for (const count of [31, 32, 33, 100, 5000]) {
        const run = hidden.repeat(count)
        for (const at of [1, 5, value.length - 1]) {
          const text = `see ${run}${value.slice(0, at)}${run}${value.slice(at)}${run} now`
          const start = 4 + run.length
          const found = detect(text)
          t.match(found, [{ start, end: start + value.length + run.length }], `${value}, ${count} at ${at}`)
          t.same(streamed(text, 997), found)
        }
      }
})

/** The digits of a value in a style of two units each; `first` is the zero. */
const paired = (value: string, first: number): string =>
  value.replaceAll(/\d/g, (digit) => String.fromCodePoint(first + Number(digit)))

t.test('digits of two units count as 0 to 9, and findings hold them whole', async (t) => {
  for (const first of [0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1fbf0])
    for (const value of ['4111 1111 1111 1111', '123-45-6789', '+1 415 555 2671', '4111111111111111']) {
      const hidden = paired(value, first)
      const text = `see ${hidden}, and ${value.slice(0, 3)}${paired(value.slice(3), first)}`
      const found = detect(text)
      t.match(found, [{ start: 4, end: 4 + hidden.length }, { end: text.length }], hidden)
      for (const size of [1, 2, 3, 7]) t.same(streamed(text, size), found)
    }
  t.same(detect('\u{1d7d0}\u{1d465} + \u{1d7d1} = 🤔 \u{1d400}'), [])
})

t.test('decimal digits of every script of one unit count as 0 to 9', async (t) => {
  for (let zero = 0x80; zero < 0x10000; zero++) {
    const digits = Array.from({ length: 10 }, (_, index) => String.fromCharCode(zero + index))
    if (!digits.every((digit) => /\p{Nd}/u.test(digit)) || /\p{Nd}/u.test(String.fromCharCode(zero - 1)))
      continue
    const text = '4111 1111 1111 1111'.replaceAll(/\d/g, (digit) => digits[Number(digit)]!)
    t.match(detect(text), [{ kind: 'credit_card', start: 0, end: text.length }], zero.toString(16))
  }
})

t.test('a stream finds what the whole text has with invisible characters', async (t) => {
  const part = fc.constantFrom(
    ...INVISIBLE,
    ...VALUES,
    ' ',
    '-----',
    '1 ',
    'word ',
    '👩‍💻',
    '\ud83d',
    '\udb40',
    '\ud835',
    '\udfd2',
    '\u{1d7d2}\u{1d7cf}',
    '\u{1fbf4}',
    '\u200b'.repeat(40),
    '\n',
  )
  fc.assert(
    fc.property(fc.array(part, { maxLength: 40 }), fc.integer({ min: 1, max: 9 }), (parts, size) => {
      const text = parts.join('')
      t.same(streamed(text, size), detect(text))
    }),
    { numRuns: 300 },
  )
})

t.test('a long run of invisible characters is not held back', async (t) => {
  const detector = new StreamDetector()
  let most = 0
  for (let at = 1; at <= 50_000; at++) {
    detector.push('\u200b')
    most = Math.max(most, at - detector.safe)
  }
  t.ok(most <= 1024, `${most}`)
})

t.test('emoji and Indic text with joiners have no finding', async (t) => {
  for (const text of ['👩‍👩‍👧‍👦 and 👩🏽‍💻 at work', 'क्‍ष and क्‌ष', 'می‌خواهم بروم', 'soft­hyphen­ated'])
    t.same(detect(text, kindSet([...PII_KINDS])), [], text)
})
