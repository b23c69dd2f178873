// Tests detection on a few hundred texts, whole and in chunks, and how much of a stream is held
// back.

import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import { DEFAULT_PII_KINDS, type Finding, PII_KINDS } from '../../../src/core/finding.ts'
import { detect } from '../../../src/detect/pii/detect.ts'
import { StreamDetector } from '../../../src/detect/pii/detect-stream.ts'
import { DEFAULT_KINDS, kindSet } from '../../../src/detect/pii/kinds.ts'
import { AMONG_LOOKALIKES, LOOKALIKES } from './lookalikes-data.ts'
import { TEXTS } from './texts-data.ts'

const EVERY_TEXT = [...TEXTS, ...LOOKALIKES, ...AMONG_LOOKALIKES]

const EVERY_KIND = kindSet(PII_KINDS)
const plain = (marked: string): string => marked.replace(/[«»]/g, '')

t.test('each text has exactly the marked findings', async (t) => {
  for (const marked of EVERY_TEXT) {
    const text = plain(marked)
    const expected = [...marked.matchAll(/«([^»]*)»/g)].map(([, value]) => value)
    t.same(
      detect(text).map(({ start, end }) => text.slice(start, end)),
      expected,
      text,
    )
  }
})

t.test('addresses and names are found only if their kinds are enabled', async (t) => {
  const text = 'Dear Maria Keller, ship it to 12 Baker Street, London.'
  t.same(detect(text), [])
  t.same(
    detect(text, EVERY_KIND).map(({ kind, start, end }) => `${kind} ${text.slice(start, end)}`),
    ['person Maria Keller', 'address 12 Baker Street, London'],
  )
  t.same(
    PII_KINDS.filter((kind) => !DEFAULT_PII_KINDS.includes(kind)),
    ['address', 'person'],
  )
})

const FILLER = [
  'the plan ',
  'Größe ',
  '日本語',
  '{"a":"',
  '"}',
  '\n',
  ' ',
  ', ',
  '(',
  '😀',
  'const x = ',
  '\\n',
  'ab ',
  '-',
]
const glued = fc
  .array(fc.oneof(fc.constantFrom(...EVERY_TEXT.map(plain)), fc.constantFrom(...FILLER)), { maxLength: 24 })
  .map((parts) => parts.join(''))

function inChunks(text: string, sizes: readonly number[], kinds = EVERY_KIND): Finding[] {
  const detector = new StreamDetector(kinds)
  const findings: Finding[] = []
  let at = 0
  for (let i = 0; at < text.length; i++) {
    const size = sizes[i % sizes.length] ?? 1
    findings.push(...detector.push(text.slice(at, at + size)))
    at += size
  }
  return [...findings, ...detector.finish()]
}

t.test('a stream finds what the whole text has, also with chunks that split a surrogate pair', async (t) => {
  const sizes = fc.oneof(
    fc.constant([1]),
    fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 20 }),
  )
  fc.assert(
    fc.property(glued, sizes, (text, chunkSizes) => {
      t.same(inChunks(text, chunkSizes), detect(text, EVERY_KIND))
      return true
    }),
    { numRuns: 400 },
  )
})

t.test('two chunks, split at any offset of any text, give the findings of the whole', async (t) => {
  for (const text of EVERY_TEXT.map(plain)) {
    const whole = detect(text, EVERY_KIND)
    for (let at = 1; at < text.length; at++) {
      const detector = new StreamDetector(EVERY_KIND)
      const findings = [
        ...detector.push(text.slice(0, at)),
        ...detector.push(text.slice(at)),
        ...detector.finish(),
      ]
      if (JSON.stringify(findings) !== JSON.stringify(whole)) t.same(findings, whole, `${text} cut at ${at}`)
    }
  }
  t.pass()
})

const PROSE =
  'The committee met on Tuesday to discuss the budget for the coming year. Several members asked whether the plan ' +
  'could be finished before the summer, and Anna decoded that the remaining work was mostly a matter of patience. ' +
  'Nobody objected. After lunch they looked at the drawings of the new library in Porto, which will have four ' +
  'floors, a small garden and a reading room that is open at night. '

t.test('a value across the longest segment is found alike in all chunk sizes', async (t) => {
  const different: string[] = []
  for (const value of [
    'sk-proj-abcdefghijKLMNOPqrstUVWXyzABCDefGHij',
    'aa-bb-cc-dd-ee-ff',
    'abcd.abcd.abcd',
  ]) {
    for (const before of [':', '-', '.']) {
      for (let at = 1024 - value.length - 2; at <= 1024; at++) {
        const text = `${'x'.repeat(at)}${before}${value} and more`
        const whole = JSON.stringify(detect(text))
        for (const size of [40, 1024, 1030])
          if (JSON.stringify(inChunks(text, [size], DEFAULT_KINDS)) !== whole)
            different.push(`${value} at ${at} after ${before}, chunks of ${size}`)
      }
    }
  }
  t.same(different, [])
})

/**
 * The mean and the most characters that may be held back while the text arrives one character at a
 * time.
 */
const ANSWERS: readonly (readonly [kind: string, text: string, mean: number, most: number])[] = [
  ['English prose', PROSE, 4, 12],
  ['the first words of an answer', "Sure! Here's the list. Hello, World! I'm Bot. ", 5, 10],
  ['German nouns', 'Der Bundestag hat am Donnerstag das Gesetz zur Verwaltung der Bahn beschlossen. ', 6, 18],
  ['a title', 'The Quick Brown Fox Jumps Over The Lazy Dog And Goes Home To Eat Its Dinner ', 4, 10],
  ['capitals', 'THE QUICK BROWN FOX JUMPS OVER THE LAZY DOG AND THEN GOES HOME TO EAT DINNER ', 8, 24],
  [
    'a query',
    'SELECT A.ID, B.NAME FROM USERS A JOIN ORDERS B ON A.ID = B.USER_ID WHERE A.CREATED > 5 ',
    10,
    30,
  ],
  [
    'sums',
    'We have 3 + 4 = 7 and 7 * 6 = 42. So 42 / 2 = 21 and 21 - 1 = 20, which gives 20 when y = 3. ',
    6,
    24,
  ],
  ['statements', 'MOV EAX, 0x10; ADD EBX, 4; INT 0x80; MOV ECX, 0x2F; JMP 0x1C; ADD EAX, 12; INT 3; ', 8, 16],
  [
    'a row of a table',
    '| Portkey | 0.25 | 0.30 × (4.6) | 0.41 | 12 ms | 0.28 (0.26–0.33) | 1.16 | 119 MiB | ',
    6,
    20,
  ],
]

for (const [kind, text, mean, most] of ANSWERS) {
  t.test(`${kind}: little more than a word is held back`, async (t) => {
    const detector = new StreamDetector()
    const held: number[] = []
    for (let at = 0; at < text.length; at++) {
      detector.push(text[at] ?? '')
      held.push(at + 1 - detector.safe)
    }
    t.ok(held.reduce((sum, count) => sum + count, 0) / held.length <= mean)
    t.ok(Math.max(...held) <= most)
  })
}

t.test('the examples in the README hold for each kind', async (t) => {
  const readme = readFileSync(new URL('../../../src/detect/pii/README.md', import.meta.url), 'utf8')
  const rows = [...readme.matchAll(/^\| `(\w+)` \|.*\| `([^`]+)` \| `([^`]+)` \|$/gm)]
  t.same(rows.map(([, kind]) => kind).sort(), [...PII_KINDS].sort())
  for (const [, kind, found = '', missed = ''] of rows) {
    t.ok(
      detect(found, EVERY_KIND).some((finding) => finding.kind === kind),
      `${kind}: ${found}`,
    )
    t.notOk(
      detect(missed, EVERY_KIND).some((finding) => finding.kind === kind),
      `${kind} not: ${missed}`,
    )
  }
})
