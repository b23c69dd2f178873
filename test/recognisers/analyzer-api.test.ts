// What the Presidio analyzer takes and answers.

import t from 'tap'
import { readAnswer, requestBody } from '../../src/recognisers/analyzer-api.ts'
import { findNames, recogniser } from './fixture.ts'

const ASKED = recogniser('http://127.0.0.1/analyze')
const item = (entity_type: unknown, start: unknown, end: unknown, score: unknown = 0.85) => ({
  ...{ entity_type, start, end, score },
  analysis_explanation: null,
})
const read = (items: unknown, text = 'Maria Keller lives in Berlin') =>
  readAnswer(JSON.stringify(items), text, ASKED)

t.test('a request names the text, its language, the kinds in capitals and the lowest score', async (t) => {
  t.strictSame(JSON.parse(requestBody('Hi Bob\ud83d', ASKED)), {
    text: 'Hi Bob\ufffd',
    language: 'en',
    entities: ['PERSON', 'LOCATION'],
    score_threshold: 0.5,
  })
})

t.test('offsets of code points become offsets of UTF-16 units', async (t) => {
  for (const text of ['Maria Keller', '😀 Maria Keller 😀 São Paulo', 'é𝒜😀Maria', '😀 Bob\ud83d Berlin']) {
    const found = read(findNames({ text, entities: ['PERSON', 'LOCATION'] }), text)
    for (const { start, end } of found)
      t.match(text.slice(start, end), /^(?:Maria Keller|São Paulo|Bob|Berlin)$/)
  }
})

t.test('only the kinds that were asked for count, in lower case, from the lowest score on', async (t) => {
  const items = [
    item('LOCATION', 22, 28),
    item('NRP', 0, 5),
    item('PERSON', 0, 12),
    item('PERSON', 13, 18, 0.4),
  ]
  t.strictSame(read(items), [
    { kind: 'person', start: 0, end: 12 },
    { kind: 'location', start: 22, end: 28 },
  ])
  t.strictSame(read([]), [])
})

t.test('values of one kind that overlap are cut, and those of two kinds stay whole', async (t) => {
  const cases: [unknown[], [string, number, number][]][] = [
    [[item('PERSON', 0, 12), item('PERSON', 0, 5)], [['person', 0, 12]]],
    [
      [item('PERSON', 6, 12), item('PERSON', 0, 8)],
      [
        ['person', 0, 8],
        ['person', 8, 12],
      ],
    ],
    [
      [item('LOCATION', 6, 12), item('PERSON', 0, 8)],
      [
        ['person', 0, 8],
        ['location', 6, 12],
      ],
    ],
  ]
  for (const [items, expected] of cases)
    t.strictSame(
      read(items).map(({ kind, start, end }) => [kind, start, end]),
      expected,
    )
})

t.test('an answer that the API does not give is an error without any of its text', async (t) => {
  const cases: [unknown, RegExp][] = [
    [{ error: 'Maria' }, /^the answer is not a list of findings$/],
    [null, /not a list/],
    [[null], /^a finding has no entity_type$/],
    [[item(7, 0, 5)], /no entity_type/],
    [[item('PERSON', 0, 5, '1')], /^a finding has no score$/],
    [[item('PERSON', 0, 29)], /^a finding is not inside the text$/],
    [[item('PERSON', -1, 5)], /not inside/],
    [[item('PERSON', 5, 5)], /not inside/],
    [[item('PERSON', 6, 5)], /not inside/],
    [[item('PERSON', 0.5, 5)], /not inside/],
    [[item('OTHER', 0, 29)], /not inside/],
  ]
  for (const [answer, expected] of cases) t.throws(() => read(answer), { message: expected })
  t.throws(() => readAnswer('<html>', 'x', ASKED), { message: 'the answer is not JSON' })
  t.throws(() => read([item('PERSON', 0, 29)], '😀'.repeat(28)), { message: /not inside/ })
})
