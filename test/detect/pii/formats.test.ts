// Checks that values are found in the formats in which people paste them, whole and streamed.

import fc from 'fast-check'
import t from 'tap'
import type { Finding } from '../../../src/core/finding.ts'
import { detect } from '../../../src/detect/pii/detect.ts'
import { StreamDetector } from '../../../src/detect/pii/detect-stream.ts'
import { FORMATS, isFoundIn, SAMPLES } from './formats-data.ts'

/** Combinations that are not found, each with a reason in the README. */
const MISSED: Readonly<Record<string, readonly string[]>> = {
  'percent-encoded path': ['phone national', 'phone US', 'ipv4', 'nino'],
  wrapped: ['phone national', 'phone US', 'nino'],
}

function streamed(text: string, size: number): Finding[] {
  const detector = new StreamDetector()
  const findings: Finding[] = []
  for (let at = 0; at < text.length; at += size) findings.push(...detector.push(text.slice(at, at + size)))
  return [...findings, ...detector.finish()]
}

for (const [name, format] of FORMATS)
  t.test(`values are found in ${name}`, async (t) => {
    for (const sample of SAMPLES) {
      const formatted = format(sample)
      const found = detect(formatted.text)
      const expected = MISSED[name]?.includes(sample.name) !== true
      t.equal(isFoundIn(formatted, sample.kind, found), expected, `${sample.name}: ${formatted.text}`)
      for (const size of [1, 3, 17])
        t.same(streamed(formatted.text, size), found, `${sample.name} in pieces of ${size}`)
    }
  })

t.test('regular expressions, widths of printf and settings are no escapes', async (t) => {
  for (const text of [
    '/^(?:https?|ftp):\\/\\/(?:\\S+(?::\\S*)?@)?[a-z.]+/.test(url)',
    'printf("%20s|%2d:%2d %5s", name, 41, 42)',
    'width=40px; height=20; id=2025; a = b+41',
    'EMPTY=\nNEXT=1\nh1:abcdefghijklmnopqrstuvwxyz0123456789=\ngithub.com/a/b v1.2.3',
  ])
    t.same(detect(text), [], text)
  // A number that begins as an escape does.
  t.match(detect('card=4012888888881881'), [{ kind: 'credit_card', start: 5, end: 21 }])
})

t.test('a stream finds what the whole text has, wherever escapes are cut', async (t) => {
  const piece = fc.constantFrom(
    ...['%', '%2', '%2B', '%40', '%2540', '%C2%A0', '%31%34', '%E2%80%8B', '=', '=2', '=20', '=40', '=\r\n'],
    ...['=\n', '=C3=BC', '=2B', '=28415=29', '&', '&#', '&#64;', '&#x2b;', '&nbsp;', '&amp;#46;', '&commat;'],
    ...['\\', '\\\\', '\\u00a0', '\\u0040', '\\\\u002b', '\\x40', '\\u{2b}', '\\/', '\\.', '\\\\\\"', '+'],
    ...['a=', '4111', '1111', '+1', '415', '5550187', 'jane', '@', 'example', '.org', ' ', ' ', '\n', '-'],
    ...['tel: ', 'dob=', '1990-05-12', '\u200b', '\u{1bca0}', '\u{1d7cf}', '\ud835', 'DE75', '512108'],
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), fc.integer({ min: 1, max: 9 }), (parts, size) => {
      const text = parts.join('')
      t.same(streamed(text, size), detect(text), JSON.stringify(text))
    }),
    { numRuns: 1000 },
  )
})

t.test('a column without a name may be all that follows the name of a column', async (t) => {
  const text = 'into t (dob)|---|---|\n(1990-05-12)|---|---|\n'
  t.same(detect(text), [{ kind: 'date_of_birth', start: 23, end: 33 }])
  t.same(streamed(text, 1), detect(text))
})

t.test('a stream finds what the whole text has in tables, wherever rows are cut', async (t) => {
  const piece = fc.constantFrom(
    ...[
      'name,dob,city\n',
      'a,1990-05-12,b\n',
      '"x, y","1990-05-12",\n',
      ',,\n',
      '\n',
      'dob;phone\n',
      '|   dob | x |\n',
      '\t',
    ],
    ...[
      '1990-05-12;030 901820 44\n',
      '| name | passport |\n',
      '|---|---|\n',
      '| Jo | K4729163 |\n',
      ' ',
      '"',
      "'",
    ],
    ...[
      'INSERT INTO t (a, dob) VALUES ',
      "('Jo', '1990-05-12')",
      ', ',
      ';\n',
      'values',
      ' (',
      ')',
      'into t (dob)',
    ],
    ...['name\tpassport\n', 'x\tK4729163\n', 'some words', '%2C', '\u200b', ',', '1990-05-12'],
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), fc.integer({ min: 1, max: 9 }), (parts, size) => {
      const text = parts.join('')
      t.same(streamed(text, size), detect(text), JSON.stringify(text))
    }),
    { numRuns: 1000 },
  )
})

t.test('a column gives its cells a word, and no other text', async (t) => {
  const found = (text: string) =>
    detect(text).map(({ kind, start, end }) => `${kind} ${text.slice(start, end)}`)
  t.same(found('id,dob,due\n1,1990-05-12,2030-01-01\n2,1991-06-13,2030-01-02\n'), [
    'date_of_birth 1990-05-12',
    'date_of_birth 1991-06-13',
  ])
  t.same(found('name;passport;seat\nJo;K4729163;L4729163\nAnn;K4729164;L4729164\n'), [
    'passport K4729163',
    'passport K4729164',
  ])
  // A row of another length, an empty line and other text end the table.
  t.same(found('name,dob\nJo,x,y\nAnn Other and some more words,1990-05-12\n'), [])
  t.same(found('name,dob\nJo,\n\nAnn Other and some more words,1990-05-12\n'), [])
  t.same(
    found("INSERT INTO t (a, dob) VALUES ('Jo', NULL); SELECT 'one and two and three', '1990-05-12'"),
    [],
  )
})

/** A text, and its values between `«` and `»`. */
const MARKED: readonly string[] = [
  'Jo, «12.05.1990» geboren, ledig',
  '«12. Mai 1990» geb.',
  '«12.05.1990» doğumlu',
  '«12.05.1990» tarihinde doğdu',
  '田中、«1990年5月12日»生まれ、東京',
  '«1990年5月12日»出生于上海',
  '«1990년 5월 12일» 출생',
  '«12.05.1990» г.р.',
  '12.05.1990 gesehen',
  '1990年5月12日生産開始',
  'pay «4539  5787  6362  1486» now',
  'sum 4539  5787  6362  1486  2290',
  'card: «4539\t5787\t6362\t1486»',
  'My card\n«4539\n5787\n6362\n1486»\n',
  '7,«529.982.247-25»,2024-01-02,55.10',
  'IBAN: «DE75 5121\r\n0800 1245 1261 99» ok',
  "curl 'https://api.example.com/v1/users?iban=«DE75%205121%200800%201245%201261%2099»'",
  '12MAY1990,birthDate: unknown',
  'IBAN: «DE75 5121 0800 1245\n1261 99»',
]

t.test('values are found after a wide gap, a line end, and before their word', async (t) => {
  for (const marked of MARKED) {
    const text = marked.replace(/[«»]/g, '')
    const found = detect(text)
    const values = [...marked.matchAll(/«([^»]*)»/g)].map(([, value]) => value)
    t.same(
      found.map(({ start, end }) => text.slice(start, end)),
      values,
      marked,
    )
    for (const size of [1, 2, 5]) t.same(streamed(text, size), found, `${marked} in pieces of ${size}`)
  }
})
