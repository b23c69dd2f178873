// Compares the findings at boundaries between adjacent texts with those of a scan of the whole
// text.

import fc from 'fast-check'
import t from 'tap'
import { PII_KINDS } from '../../../src/core/finding.ts'
import { atOnce } from '../../../src/core/steps.ts'
import { detect } from '../../../src/detect/pii/detect.ts'
import { detectInAdjacentTexts } from '../../../src/detect/pii/engine/adjacent-texts.ts'
import { DEFAULT_KINDS, kindSet } from '../../../src/detect/pii/kinds.ts'

const PIECES = [
  'alice@example.com',
  '+49 1512 3453635',
  '(415) 555-2671',
  '4111 1111 1111 1111',
  'GB29 NWBK 6016 1331 9268 19',
  'born on 4 July 1973',
  'passport no. C01X00T47',
  '192.168.12.7',
  '2001:db8::ff00:42:8329',
  'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U',
  '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----',
  'the plan',
  'Plan',
  '日本語',
  '1',
  '17',
  '.',
  '@',
  ' ',
  ' ',
  '\n',
  '\uFFFE',
  '"',
  '","at":',
  '{"n":17,"price":12.25,"id":10000037,"',
  ';',
  ' 0170 55 12 ',
  '030 12',
  '-',
  '555',
  '2026-11-09T10:07:00Z',
  'x'.repeat(90),
  'x'.repeat(700),
  '4'.repeat(700),
]
const text = fc
  .array(fc.tuple(fc.constantFrom(...PIECES), fc.constantFrom('', ' ', ' ')), { maxLength: 40 })
  .map((parts) => parts.flat().join(''))

const KINDS = [DEFAULT_KINDS, kindSet(PII_KINDS), kindSet(['email']), kindSet(['phone', 'credit_card'])]

t.test('every finding of the whole text that crosses a boundary is found', async (t) => {
  let across = 0
  fc.assert(
    fc.property(
      text,
      fc.array(fc.nat(), { maxLength: 8 }),
      fc.constantFrom(...KINDS),
      (whole, places, kinds) => {
        const boundaries = places.map((place) => place % (whole.length + 1)).sort((a, b) => a - b)
        const isAcross = ({ start, end }: { start: number; end: number }) =>
          boundaries.some((boundary) => start < boundary && boundary < end)
        const expected = detect(whole, kinds).filter(isAcross)
        across += expected.length
        t.same(atOnce(detectInAdjacentTexts(whole, boundaries, kinds)).filter(isAcross), expected)
      },
    ),
    { numRuns: 2500 },
  )
  t.ok(across > 500, `findings across boundaries: ${across}`)
})

t.test('nothing is found that the whole text does not have', async (t) => {
  fc.assert(
    fc.property(text, fc.nat(), (whole, place) => {
      const known = new Set(detect(whole).map(({ kind, start, end }) => `${kind} ${start} ${end}`))
      for (const { kind, start, end } of atOnce(
        detectInAdjacentTexts(whole, [place % (whole.length + 1)], DEFAULT_KINDS),
      ))
        t.ok(known.has(`${kind} ${start} ${end}`))
    }),
    { numRuns: 1000 },
  )
})
