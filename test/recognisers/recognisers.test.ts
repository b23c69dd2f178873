// Recognisers that are asked about the texts of calls, against a stand-in for the Presidio analyzer.

import t, { type Test } from 'tap'
import type { RecogniserConfig } from '../../src/core/recogniser-config.ts'
import { answer, type OtherAnswer, startRecognisers } from './fixture.ts'

async function start(t: Test, ...more: Partial<RecogniserConfig>[]) {
  const { standIn, counts, recognisers, clock } = await startRecognisers(t, ...more)
  const left = new AbortController()
  const find = async (texts: readonly string[], keyId = 'k', place: 'prompt' | 'answer' = 'prompt') => {
    const found = await recognisers.find(texts, { keyId, place, left: left.signal })
    return found.map((values, index) =>
      values.map(({ kind, start, end }) => `${kind} ${texts[index]!.slice(start, end)}`),
    )
  }
  return { standIn, counts, recognisers, find, clock, left }
}

t.test('each text gets its values, and a text that was seen is not sent again', async (t) => {
  const { standIn, counts, find } = await start(t)
  const texts = ['😀 Maria Keller lives in Berlin.', 'No one.', 'Bob', '', ' \n?']
  const expected = [['person Maria Keller', 'location Berlin'], [], ['person Bob'], [], []]
  t.strictSame(await find(texts), expected)
  t.strictSame([...standIn.texts].sort(), ['Bob', 'No one.', texts[0]])
  t.strictSame(await find(texts), expected)
  t.equal(standIn.requests.length, 3)
  t.strictSame(await find(['Bob', 'Ada Lovelace']), [['person Bob'], ['person Ada Lovelace']])
  t.equal(standIn.requests.length, 4)
  t.strictSame(counts, new Array(4).fill('presidio ok'))
})

t.test('what one key has sent is not known for another', async (t) => {
  const { standIn, find } = await start(t)
  await find(['Bob'], 'a')
  await find(['Bob'], 'b')
  t.equal(standIn.requests.length, 2)
})

t.test('a long text is sent in windows, and equal texts of a call once', async (t) => {
  const { standIn, find } = await start(t)
  const long = `${'word '.repeat(4000)}Maria Keller. ${'word '.repeat(4000)}Berlin`
  t.strictSame(await find([long, 'Bob']), [['person Maria Keller', 'location Berlin'], ['person Bob']])
  t.ok(standIn.texts.every(({ length }) => length <= 16_384))
})

t.test('few requests of a call are under way together', async (t) => {
  const { standIn, find } = await start(t)
  const texts = Array.from({ length: 60 }, (_, index) => `Bob ${index}`)
  t.equal((await find(texts)).flat().length, 60)
  t.ok(standIn.mostTogether <= 8, `${standIn.mostTogether}`)
  await Promise.all(['a', 'b', 'c', 'd'].map((key) => find(texts, key)))
  t.ok(standIn.mostTogether <= 16, `${standIn.mostTogether}`)
})

t.test('several recognisers are asked for their kinds, and the first wins', async (t) => {
  const { find, recognisers } = await start(
    t,
    { name: 'a', kinds: ['location'] },
    { name: 'b', kinds: ['person', 'date_time'], streams: 'prompts' },
  )
  const text = 'Bob, Berlin, 2026-01-02'
  t.strictSame(await find([text]), [['person Bob', 'location Berlin', 'date_time 2026-01-02']])
  t.ok(recognisers.readsAnswers)
  t.strictSame(await find([text], 'k', 'answer'), [['location Berlin']])
})

/** Ways to fail, with the metric's label and what the error says. */
const FAILURES: readonly [label: string, OtherAnswer, RegExp][] = [
  ['timeout', () => {}, /does not answer within 150 ms/],
  ['timeout', (response) => void response.writeHead(200).write('['), /does not answer within 150 ms/],
  ['unreachable', (response) => response.destroy(), /cannot be reached/],
  ['status', (response) => answer(response, 500, { error: 'Maria' }), /answers 500, not 200/],
  [
    'status',
    (response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
    /answers 302, not 200/,
  ],
  ['invalid', (response) => answer(response, 200, '<html>Maria'), /the answer is not JSON/],
  ['invalid', (response) => answer(response, 200, { error: 'Maria' }), /not a list of findings/],
  [
    'invalid',
    (response) => answer(response, 200, `[${' '.repeat(1024 * 1024)}]`),
    /larger than 1048576 bytes/,
  ],
  [
    'invalid',
    (response) => answer(response, 200, [{ entity_type: 'PERSON', start: 0, end: 99, score: 1 }]),
    /a finding is not inside the text/,
  ],
]

t.test('with onError: block a failure of any kind ends the call', async (t) => {
  const { standIn, counts, find } = await start(t, { timeoutMs: 150 })
  for (const [label, other, message] of FAILURES) {
    standIn.other = other
    counts.length = 0
    const error = await find(['Maria Keller']).catch((thrown: unknown) => thrown)
    t.match(error, { code: 'recogniser_unavailable', status: 503, headers: { 'retry-after': '1' } })
    t.match((error as Error).message, message)
    t.match((error as Error).message, /The recogniser presidio does not judge .* Send the call again later/)
    t.notMatch((error as Error).message, /Maria/)
    t.strictSame(counts, [`presidio ${label}`])
  }
  standIn.other = null
  t.strictSame(await find(['Maria Keller']), [['person Maria Keller']], 'a failure is not remembered')
})

t.test('with onError: ignore a failure is counted once, and the rest of the call is not asked', async (t) => {
  const { standIn, counts, find } = await start(t, { timeoutMs: 150, onError: 'ignore' })
  const texts = Array.from({ length: 50 }, (_, index) => `Bob ${index}`)
  for (const [label, other] of FAILURES) {
    standIn.other = other
    counts.length = 0
    standIn.requests.length = 0
    t.strictSame(
      await find(texts),
      texts.map(() => []),
    )
    t.strictSame(counts, [`presidio ${label}`])
    t.ok(standIn.texts.every((text) => texts.indexOf(text) < 8))
  }
})

t.test('a service that names every character of a long text gives no answer', async (t) => {
  const text = 'abcdefgh '.repeat(4800)
  const lettersOf = (asked: string) =>
    [...asked.matchAll(/[a-z]/g)].map(({ index: start }) => ({
      ...{ entity_type: 'PERSON', start, end: start + 1, score: 1 },
    }))
  for (const onError of ['block', 'ignore'] as const) {
    const { standIn, counts, find } = await start(t, { onError })
    standIn.other = (response, asked) => answer(response, 200, lettersOf(asked.text))
    const found = await find([text, 'an a']).catch((error: Error) => error.message)
    if (onError === 'ignore') t.strictSame(found, [[], ['person a', 'person n', 'person a']])
    else t.match(found, /names more than 32768 values in one text/)
    t.equal(counts.at(-1), 'presidio invalid')
  }
})

t.test('nothing listens at the URL', async (t) => {
  const { standIn, find } = await start(t)
  standIn.close()
  await t.rejects(find(['Bob']), { code: 'recogniser_unavailable', message: /cannot be reached/ })
})

t.test('a call does not wait for its texts without end', async (t) => {
  const { standIn, find, clock, counts } = await start(t)
  standIn.other = (response) => {
    clock.ms += 10_000
    answer(response, 200, [])
  }
  const texts = Array.from({ length: 50 }, (_, index) => `Bob ${index}`)
  await t.rejects(find(texts), { message: /its answers take more than 60000 ms/ })
  t.equal(counts.at(-1), 'presidio timeout')
})

t.test('a client that leaves ends the requests, and no failure is counted', async (t) => {
  const { standIn, find, left, counts } = await start(t)
  standIn.other = () => left.abort()
  await t.rejects(find(['Bob']), { message: 'The client has left.' })
  t.strictSame(counts, [])
})

t.test('a name at the end of a window is found whole and once', async (t) => {
  const { standIn, find } = await start(t)
  for (const filling of ['word ', 'x'.repeat(300), '\n']) {
    const before = filling.repeat(Math.ceil(16_378 / filling.length)).slice(0, 16_377)
    const text = `${before} Maria Keller ${filling.repeat(20)}`
    t.strictSame(await find([text]), [['person Maria Keller']])
  }
  t.ok(standIn.texts.every(({ length }) => length <= 16_384))
})
