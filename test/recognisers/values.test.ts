// How the values of recognisers join others, and what in a text is no value.

import t from 'tap'
import { mergeValues, withoutPlaceholders } from '../../src/recognisers/values.ts'

const TEXT = 'abcdefghijklmnopqrst'

/** Merges values `kind start end`; returns them as `kind text`. */
function merged(winning: readonly string[], added: readonly string[], text = TEXT): string[] {
  const read = (written: string) => {
    const [kind = '', start, end] = written.split(' ')
    return { kind, start: Number(start), end: Number(end) }
  }
  return mergeValues(winning.map(read), added.map(read), { start: 0, text }).map(
    ({ kind, start, end }) => `${kind} ${text.slice(start, end)}`,
  )
}

t.test('of a value that overlaps another that wins, the rest stays', async (t) => {
  const cases: [string[], string[], string[]][] = [
    [[], ['p 0 5'], ['p abcde']],
    [['e 0 5'], [], ['e abcde']],
    [['e 2 4'], ['p 0 9'], ['p ab', 'e cd', 'p efghi']],
    [['e 2 4', 'e 6 7'], ['p 0 9'], ['p ab', 'e cd', 'p ef', 'e g', 'p hi']],
    [['e 0 9'], ['p 2 4'], ['e abcdefghi']],
    [['e 0 4'], ['p 2 6', 'p 8 9'], ['e abcd', 'p ef', 'p i']],
    [['e 4 8'], ['p 0 4', 'p 8 9'], ['p abcd', 'e efgh', 'p i']],
    [['e 0 2', 'e 4 6'], ['p 2 4'], ['e ab', 'p cd', 'e ef']],
    [['e 0 4', 'e 4 9'], ['p 2 6'], ['e abcd', 'e efghi']],
  ]
  for (const [winning, added, expected] of cases)
    t.strictSame(merged(winning, added), expected, `${winning} + ${added}`)
})

t.test('a value that contains one of its own kind takes its place', async (t) => {
  t.strictSame(merged(['p 2 4', 'e 6 8'], ['p 0 5']), ['p abcde', 'e gh'])
  t.strictSame(merged(['p 0 5'], ['p 0 5']), ['p abcde'])
  t.strictSame(merged(['p 0 5'], ['p 2 4']), ['p abcde'])
  t.strictSame(merged(['p 2 4', 'e 4 6'], ['p 1 8']), ['p bcd', 'e ef', 'p gh'])
})

t.test('a rest of signs alone is no value, and signs around words are left out', async (t) => {
  const text = 'Maria Keller <mk@x.com>'
  t.strictSame(merged(['e 14 22'], ['p 0 23'], text), ['p Maria Keller', 'e mk@x.com'])
})

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
