// Where texts are cut for recognisers.

import t from 'tap'
import {
  GrowingSentences,
  JoinedValues,
  MAXIMUM_SENTENCE_CHARACTERS,
  OVERLAP_CHARACTERS,
  type TextWindow,
  windowsOf,
} from '../../src/recognisers/sentences.ts'

/** The text of windows without what they repeat. */
const joined = (windows: readonly TextWindow[]): string =>
  windows.map(({ start, text, until }) => text.slice(0, until - start)).join('')

/** The sentences of a text that arrives in pieces. */
function sentences(pieces: readonly string[]): string[] {
  const growing = new GrowingSentences()
  return windowsIn(growing, pieces).map(({ text }) => text)
}

const windowsIn = (growing: GrowingSentences, pieces: readonly string[]): TextWindow[] => [
  ...pieces.flatMap((piece) => growing.push(piece)),
  ...growing.finish(),
]

const piecesOf = (text: string, size: number): readonly string[] =>
  text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []

t.test('a sentence ends where a reader sees its end', async (t) => {
  const cases: [string, string[]][] = [
    ['Maria left. Bob came.', ['Maria left.', ' Bob came.']],
    ['Really?! Yes.', ['Really?!', ' Yes.']],
    ['"Come." He came.', ['"Come."', ' He came.']],
    ['I am Anna\nMüller. Hi', ['I am Anna\nMüller.', ' Hi']],
    ['Anna\r\nMüller\r\n\r\nBob', ['Anna\r\nMüller\r\n\r\n', 'Bob']],
    ['First\n \t\nsecond', ['First\n \t\n', 'second']],
    ['Done.\nBob', ['Done.', '\nBob']],
    ['Who:\n- Anna\n  Müller\n2. Bob', ['Who:\n', '- Anna\n  Müller\n', '2.', ' Bob']],
    ['Anna\n-Müller\n*', ['Anna\n-Müller\n*']],
    ['他来了。“好。”她说。', ['他来了。', '“好。”', '她说。']],
    [
      'Dr. Keller met J. R. Smith at St. Mary. Then left.',
      ['Dr. Keller met J. R. Smith at St. Mary.', ' Then left.'],
    ],
    ['Version 1.2.3 is out', ['Version 1.2.3 is out']],
    ['e.g. Bob', ['e.g. Bob']],
  ]
  for (const [text, expected] of cases) t.strictSame(sentences([text]), expected, text)
})

t.test('the pieces in which a text arrives do not matter', async (t) => {
  const text = `Dr. Keller left!? "Yes."\nAnna\nMüller:\n- Bob\n\t\n1. Ada\r\n \r\n他来了。“好。”… Then 😀. ${'word '.repeat(900)}${'x'.repeat(4500)}. Bob\n`
  const whole = windowsIn(new GrowingSentences(), [text])
  t.equal(joined(whole), text)
  t.ok(whole.every((one) => one.text.length <= MAXIMUM_SENTENCE_CHARACTERS))
  for (const size of [1, 2, 7, 100, 1999, 2000, 2001])
    t.strictSame(windowsIn(new GrowingSentences(), piecesOf(text, size)), whole, `${size}`)
})

t.test('a sentence without an end is cut at white space, and never inside a character', async (t) => {
  const words = sentences(['word '.repeat(1000)])
  t.ok(words.slice(0, -1).every((one) => one.length <= 2000 && one.endsWith(' ')))
  const faces = sentences(['😀'.repeat(3000)])
  t.ok(faces.every((one) => one.isWellFormed() && one.length <= 2000))
})

t.test('offsets count from the beginning of the growing text', async (t) => {
  const growing = new GrowingSentences()
  t.strictSame(growing.push('One. Tw'), [{ start: 0, text: 'One.', until: 4 }])
  t.equal(growing.waiting, 3)
  t.strictSame(growing.push('o. '), [{ start: 4, text: ' Two.', until: 9 }])
  t.strictSame(growing.finish(), [{ start: 9, text: ' ', until: 10 }])
  t.strictSame(growing.finish(), [])
  t.equal(growing.end, 10)
})

t.test('a long text is cut between sentences into windows that join to the text', async (t) => {
  t.strictSame(windowsOf('Bob.'), [{ start: 0, text: 'Bob.', until: 4 }])
  const text = 'Maria Keller lives in Berlin. '.repeat(2000)
  const windows = windowsOf(text)
  t.equal(joined(windows), text)
  t.ok(windows.every((one) => one.text.length <= 16_384 && text.startsWith(one.text, one.start)))
  t.ok(windows.slice(0, -1).every((one) => one.text.endsWith('Berlin.')))
  t.equal(joined(windowsOf('x'.repeat(40_000))).length, 40_000)
})

/** The names in a text, found window by window. */
function namesIn(windows: readonly TextWindow[], names: RegExp): [string, number][] {
  const values = new JoinedValues<{ kind: string; start: number; end: number; value: string }>()
  return windows.flatMap((window) => {
    const found = [...window.text.matchAll(names)].map(({ 0: value, index }) => ({
      ...{ kind: 'person', value, start: window.start + index, end: window.start + index + value.length },
    }))
    return values.add(window, found).map(({ value, start }): [string, number] => [value, start])
  })
}

t.test('wherever a name is, one window has all of it, and it counts once', async (t) => {
  const name = 'Anna Müller'
  const fillings = ['word ', 'x', 'Dr. x. ', '😀', '\n', 'Anna', 'Yes. No! ']
  for (const filling of fillings) {
    for (const [whole, limit] of [
      [true, 16_384],
      [false, 2000],
    ] as const) {
      for (let at = limit - 600; at <= limit + 20; at += 7) {
        const before = filling.repeat(Math.ceil(at / filling.length)).slice(0, at)
        const text = `${before.toWellFormed()}${name}${filling.repeat(40)}`
        const windows = whole ? windowsOf(text) : windowsIn(new GrowingSentences(), [text])
        const found = namesIn(windows, /Anna Müller/g)
        if (!isSame(found, [[name, at]])) return t.strictSame(found, [[name, at]], `${filling} ${at}`)
      }
    }
  }
})

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

t.test('of a value that two windows show, the part in the first and the rest count', async (t) => {
  const long = 'n'.repeat(2 * OVERLAP_CHARACTERS)
  const text = `${'x '.repeat(8000)}${long}${' x'.repeat(400)}`
  const windows = windowsOf(text)
  t.equal(windows.length, 2)
  const found = namesIn(windows, /n+/g)
  t.equal(found[0]![1], 16_000)
  const values = new JoinedValues<{ kind: string; start: number; end: number }>()
  t.strictSame(
    values.add({ until: 10 }, [
      { kind: 'n', start: 2, end: 14 },
      { kind: 'n', start: 15, end: 18 },
    ]),
    [{ kind: 'n', start: 2, end: 14 }],
  )
  t.strictSame(values.add({ until: 40 }, [{ kind: 'n', start: 10, end: 20 }]), [
    { kind: 'n', start: 14, end: 20 },
  ])
  t.strictSame(values.add({ until: 50 }, []), [])
  const both = new JoinedValues<{ kind: string; start: number; end: number }>()
  const inside = [
    { kind: 'n', start: 0, end: 9 },
    { kind: 'm', start: 3, end: 6 },
  ]
  t.strictSame(both.add({ until: 10 }, inside), inside, 'those of two kinds stay whole')
})
