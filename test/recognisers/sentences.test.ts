// Where texts are cut for recognisers.

import t from 'tap'
import { GrowingSentences, MAXIMUM_SENTENCE_CHARACTERS, windowsOf } from '../../src/recognisers/sentences.ts'

/** The sentences of a text that arrives in pieces. */
function sentences(pieces: readonly string[]): string[] {
  const growing = new GrowingSentences()
  return [...pieces.flatMap((piece) => growing.push(piece)), ...growing.finish()].map(({ text }) => text)
}

t.test('a sentence ends where a reader sees its end', async (t) => {
  const cases: [string, string[]][] = [
    ['Maria left. Bob came.', ['Maria left.', ' Bob came.']],
    ['Really?! Yes.', ['Really?!', ' Yes.']],
    ['"Come." He came.', ['"Come."', ' He came.']],
    ['First\nsecond', ['First\n', 'second']],
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
  const text = `Dr. Keller left!? "Yes." 他来了。“好。”… Then 😀. ${'word '.repeat(900)}${'x'.repeat(4500)}. Bob\n`
  const whole = sentences([text])
  t.equal(whole.join(''), text)
  t.ok(whole.every(({ length }) => length <= MAXIMUM_SENTENCE_CHARACTERS))
  for (const size of [1, 2, 7, 100, 1999, 2000, 2001])
    t.strictSame(sentences(text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []), whole, `${size}`)
})

t.test('a sentence without an end is cut at white space, and never inside a character', async (t) => {
  const words = sentences(['word '.repeat(1000)])
  t.ok(words.slice(0, -1).every((one) => one.length <= 2000 && one.endsWith(' ')))
  const faces = sentences(['😀'.repeat(3000)])
  t.ok(faces.every((one) => one.isWellFormed() && one.length <= 2000))
})

t.test('offsets count from the beginning of the growing text', async (t) => {
  const growing = new GrowingSentences()
  t.strictSame(growing.push('One. Tw'), [{ start: 0, text: 'One.' }])
  t.equal(growing.waiting, 3)
  t.strictSame(growing.push('o. '), [{ start: 4, text: ' Two.' }])
  t.strictSame(growing.finish(), [{ start: 9, text: ' ' }])
  t.strictSame(growing.finish(), [])
  t.equal(growing.end, 10)
})

t.test('a long text is cut between sentences into windows that join to the text', async (t) => {
  t.strictSame(windowsOf('Bob.'), [{ start: 0, text: 'Bob.' }])
  const text = 'Maria Keller lives in Berlin. '.repeat(2000)
  const windows = windowsOf(text)
  t.equal(windows.map((one) => one.text).join(''), text)
  t.ok(windows.every((one) => one.text.length <= 16_384 && text.startsWith(one.text, one.start)))
  t.ok(windows.slice(0, -1).every((one) => one.text.endsWith('Berlin.')))
  t.equal(
    windowsOf('x'.repeat(40_000))
      .map((one) => one.text)
      .join('').length,
    40_000,
  )
})
