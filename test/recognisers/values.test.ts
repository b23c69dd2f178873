// What in a text is no value of a recogniser.

import t from 'tap'
import { withoutPlaceholders } from '../../src/recognisers/values.ts'

t.test('placeholders of earlier turns are no values', async (t) => {
  const cases: [string, string[]][] = [
    ['[PERSON_1] met Bob', ['Bob']],
    ['[CREDIT_CARD_12] and [EMAIL_k3f9a2bc]', []],
    ['[Bob]', ['[Bob]']],
  ]
  for (const [text, expected] of cases) {
    const all = [...text.matchAll(/\S+/g)].map(({ 0: word, index }) => ({
      ...{ kind: 'person', start: index, end: index + word.length },
    }))
    const wanted = all.filter(({ start, end }) => /[[B]/.test(text.slice(start, end)))
    const values = withoutPlaceholders(text, wanted)
    t.strictSame(
      values.map(({ start, end }) => text.slice(start, end)),
      expected,
    )
  }
  const inside = withoutPlaceholders('[PERSON_1] Bob', [{ kind: 'person', start: 1, end: 14 }])
  t.strictSame(inside, [{ kind: 'person', start: 11, end: 14 }])
})
