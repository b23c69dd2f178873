// Streams whose sentences are judged by recognisers: what they find is redacted, and what they did
// not judge never leaves.

import t, { type Test } from 'tap'
import { CHAT } from '../../src/chat/chat-api.ts'
import { MESSAGES } from '../../src/chat/messages/messages-api.ts'
import { RESPONSES } from '../../src/chat/responses/responses-api.ts'
import type { RecogniserConfig } from '../../src/core/recogniser-config.ts'
import { OutsideValues } from '../../src/pipeline/scan/outside-values.ts'
import { messageEvents, streamedText } from '../process/messages-upstream.ts'
import { responseEvents, streamedMessage } from '../process/responses-upstream.ts'
import { answer as answerWith, type OtherAnswer, startRecognisers } from '../recognisers/fixture.ts'
import { cutText, deliverWhole, END, event, RELAY_SCAN, relay, textOf } from './fixture.ts'

async function start(t: Test, more: Partial<RecogniserConfig> = {}) {
  const { recognisers, ...others } = await startRecognisers(t, more)
  const left = new AbortController().signal
  const outside = () => new OutsideValues(recognisers, { keyId: 'k', place: 'answer', left })
  return { ...others, outside }
}

const said = (content: string) => event({ delta: { content } })
const content = (sent: readonly string[]) => textOf(sent, (delta) => delta.content)

t.test('a name is redacted, and its sentence waits for its end', async (t) => {
  const { outside, standIn } = await start(t)
  const seen: string[] = []
  const words = ['Hi. ', 'I am Maria', ' Keller', ', mk@example.com', '.', ' Bye', ' now', '. ', 'Bye']
  const { sent, findings, logged } = await relay([...words.map(said), ...END], {
    outside: outside(),
    onRead: (sofar) => seen.push(content(sofar)),
  })
  const all = 'Hi. I am [PERSON_1], [EMAIL_2]. Bye now. Bye'
  t.equal(content(sent), all)
  t.match(logged, all)
  t.same(standIn.texts, ['Hi.', ' I am Maria Keller, mk@example.com.', ' Bye now.', ' Bye'])
  t.match(
    findings.map(({ kind }) => kind),
    ['person', 'email'],
  )
  for (const sofar of seen) t.ok(all.startsWith(sofar), sofar)
  t.notMatch(seen[4], /I am/, 'nothing of a sentence leaves before its end')
  t.match(seen.at(-1), 'Hi. I am [PERSON_1]', 'and it leaves before the end of the answer')
})

t.test('the pieces in which a stream arrives do not matter', async (t) => {
  const { outside } = await start(t)
  const text =
    'Ada Lovelace of São Paulo 😀 met Bob. "Bob!" she said\nBob wrote to bob@example.com. Dr. Maria Keller lives in Berlin'
  const tokens = text.match(/\s?\S{1,4}/g)!
  const whole = await relay([...tokens.map(said), ...END], { outside: outside() })
  t.equal(
    content(whole.sent),
    '[PERSON_1] of [LOCATION_1] 😀 met [PERSON_2]. "[PERSON_2]!" she said\n[PERSON_2] wrote to [EMAIL_2]. Dr. [PERSON_3] lives in [LOCATION_2]',
  )
  const bytes = [...tokens.map(said), ...END].join('')
  for (let seed = 1; seed <= 12; seed++) {
    const cuts = Array.from({ length: seed * 3 }, (_, index) => (index + 1) * seed * 7919)
    const cut = await relay(cutText(bytes, cuts), { outside: outside() })
    t.equal(cut.sent.join(''), whole.sent.join(''))
    t.same(cut.findings, whole.findings)
  }
  const body = { choices: [{ index: 0, message: { content: text }, finish_reason: 'stop' }] }
  const scan = { ...RELAY_SCAN, outside: outside() }
  const answer = JSON.parse(await deliverWhole(CHAT, body, { scan }))
  t.equal(answer.choices[0].message.content, content(whole.sent), 'nor does the form of the answer')
})

const PIECES = ['I am Maria', ' Keller', ' of Berlin', '. Write to Ada ', 'Lovelace']
const REDACTED = 'I am [PERSON_1] of [LOCATION_1]. Write to [PERSON_2]'

const dataOf = (sent: readonly string[]): any[] =>
  [...sent.join('').matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data!))

t.test('streams of every API are judged', async (t) => {
  const { outside, standIn } = await start(t)
  const messages = await relay(messageEvents([streamedText(...PIECES)]), {
    ...{ api: MESSAGES, outside: outside() },
  })
  const said = dataOf(messages.sent).map(({ delta }) => delta?.text ?? '')
  t.equal(said.join(''), REDACTED)
  const blocks = PIECES.map((piece) => streamedText(piece))
  const joined = await relay(messageEvents(blocks), { api: MESSAGES, outside: outside() })
  t.notMatch(joined.sent.join(''), /Berlin|Lovelace.*Lovelace/)
  standIn.requests.length = 0
  const responses = await relay(responseEvents([streamedMessage(...PIECES)]), {
    ...{ api: RESPONSES, outside: outside() },
  })
  const deltas = dataOf(responses.sent).filter(({ type }) => type === 'response.output_text.delta')
  t.equal(deltas.map(({ delta }) => delta).join(''), REDACTED)
  t.match(
    dataOf(responses.sent).find(({ type }) => type === 'response.output_text.done'),
    { text: REDACTED },
    'an event that repeats the text has what was sent of it',
  )
  t.notMatch(responses.sent.join(''), /Maria|Berlin|Ada/)
  t.notMatch(responses.logged, /Maria|Berlin|Ada/)
  t.ok(new Set(standIn.texts).size === standIn.texts.length, 'no sentence is sent twice')
})

t.test('parallel choices, reasoning and the arguments of tools are judged too', async (t) => {
  const { outside } = await start(t)
  const call = (text: string) =>
    event({ delta: { tool_calls: [{ index: 0, function: { arguments: text } }] } })
  const other = (content: string) =>
    `data: ${JSON.stringify({ id: 'x', choices: [{ index: 1, delta: { content } }] })}\n\n`
  const { sent } = await relay(
    [
      event({ delta: { reasoning_content: 'Is it Maria', reasoning: 'Is it Maria' } }),
      event({ delta: { reasoning_content: ' Keller?', reasoning: ' Keller?' } }),
      ...[said('It is Ada'), other('Is it B'), said(' Lovelace. '), other('ob? '), said('Bye Bob')],
      event({ delta: { tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: '' } }] } }),
      ...[call('{"who":"Maria K'), call('eller","\\u0062":"B'), call('erlin 1'), call('23"}')],
      ...END,
    ],
    { outside: outside() },
  )
  t.equal(
    textOf(sent, ({ reasoning }) => reasoning),
    'Is it [PERSON_1]?',
  )
  t.equal(
    textOf(sent, (delta, { index }) => (index === 0 ? delta.content : '')),
    'It is [PERSON_1]. Bye [PERSON_2]',
  )
  t.equal(
    textOf(sent, (delta, { index }) => (index === 1 ? delta.content : '')),
    'Is it [PERSON_1]? ',
  )
  t.same(JSON.parse(textOf(sent, ({ tool_calls }) => tool_calls?.[0].function.arguments)), {
    who: '[PERSON_1]',
    b: '[LOCATION_1] 123',
  })
})

const FINE = 'The weather is fine today, and all of us are going for a long walk.'

t.test('with onError: block a stream ends where a sentence is not judged', async (t) => {
  const { outside, standIn, counts } = await start(t, { timeoutMs: 200 })
  standIn.other = (response, { text }) => {
    if (text.includes('Bob')) return
    answerWith(response, 200, [])
  }
  const events = [FINE, ' I say Bob', '. Bye. ', 'Now.'].map(said)
  const { sent, stream, failure, logged } = await relay([...events, ...END], { outside: outside() })
  t.equal(failure, 'recogniser_unavailable')
  t.match(content(sent), /^The weather/)
  t.ok(FINE.startsWith(content(sent)))
  t.match(stream, /recogniser_unavailable/)
  t.notMatch(stream + logged, /Bob|DONE/)
  t.ok(counts.includes('presidio timeout'))
})

t.test('with onError: ignore a stream continues with what the built-in detectors find', async (t) => {
  const { outside, standIn } = await start(t, { onError: 'ignore' })
  standIn.other = (response) => answerWith(response, 503, {})
  const { sent, failure } = await relay([said('I say Bob, bob@example.com. '), said('Bye.'), ...END], {
    outside: outside(),
  })
  t.same([content(sent), failure], ['I say Bob, [EMAIL_2]. Bye.', ''])
})

t.test('a comment does not wait, and a stream that breaks off drops what was not judged', async (t) => {
  const { outside } = await start(t)
  const seen: string[] = []
  const { sent, failure } = await relay([said('Hi. I am'), ': ping\n', said(' Bob')], {
    outside: outside(),
    onRead: (sofar) => seen.push(sofar.join('')),
  })
  t.match(seen[2], /^: ping$/m)
  t.equal(failure, 'upstream_unavailable')
  t.notMatch(sent.join(''), /Bob/)
})

t.test('names in comments and in events that hold no text are judged too', async (t) => {
  const { outside } = await start(t)
  const { sent } = await relay(
    [': Bob is asked\n', event({ delta: { content: 'Hi.' }, note: 'rain in Berlin' }), ...END],
    { outside: outside() },
  )
  t.match(sent.join(''), ': [PERSON_1] is asked')
  t.match(sent.join(''), 'rain in [LOCATION_1]')
  t.notMatch(sent.join(''), /Bob|Berlin/)
})

t.test('a sentence without an end leaves in parts of 2,000 characters', async (t) => {
  const { outside, standIn } = await start(t)
  const words = Array.from({ length: 1500 }, () => said('word '))
  const { sent } = await relay([...words, said('Bob'), ...END], { outside: outside() })
  t.equal(content(sent), `${'word '.repeat(1500)}[PERSON_1]`)
  t.ok(standIn.texts.every(({ length }) => length <= 2000))
  t.ok(standIn.texts.length <= 5)
})

/** Finds a name that may be wrapped. */
const wrapped: OtherAnswer = (response, { text }) => {
  const found = [...text.matchAll(/Maria\s+Keller/g)]
  const spans = found.map(({ 0: name, index }) => ({ start: index, end: index + name.length }))
  answerWith(
    response,
    200,
    spans.map((span) => ({ entity_type: 'PERSON', score: 1, ...span })),
  )
}

t.test('a name that is wrapped over a line is whole, however it arrives', async (t) => {
  const { outside, standIn } = await start(t)
  standIn.other = wrapped
  const text = `From Maria\nKeller\nto Maria\r\nKeller.\n\nsay Maria\n\nKeller`
  for (const size of [1, 2, 5, 100]) {
    const pieces = text.match(new RegExp(`[^]{1,${size}}`, 'g'))!
    const { sent } = await relay([...pieces.map(said), ...END], { outside: outside() })
    t.equal(content(sent), 'From [PERSON_1]\nto [PERSON_2].\n\nsay Maria\n\nKeller')
  }
})

t.test('a name at any place of a long sentence is found whole and once', async (t) => {
  const { outside, standIn } = await start(t)
  standIn.other = wrapped
  for (let before = 1700; before < 2020; before += 80) {
    const text = `${'x'.repeat(before - 200)}${' y'.repeat(100)} Maria Keller${' z'.repeat(300)}`
    const { sent, findings } = await relay([...text.match(/.{1,60}/gs)!.map(said), ...END], {
      outside: outside(),
    })
    t.equal(content(sent), text.replace('Maria Keller', '[PERSON_1]'))
    t.match(findings, [{ kind: 'person', count: 1 }])
  }
})

t.test('names of tools in a stream are neither asked nor changed', async (t) => {
  const { outside, standIn } = await start(t)
  const named = await relay(
    [
      event({ delta: { tool_calls: [{ index: 0, id: 'c', function: { name: 'Bob', arguments: '' } }] } }),
      event({ delta: { tool_calls: [{ index: 0, function: { arguments: '{"Bob":"Bob"}' } }] } }),
      ...END,
    ],
    { outside: outside() },
  )
  const [{ function: first }, { function: second }] = dataOf(named.sent).flatMap(
    ({ choices }) => choices[0].delta.tool_calls ?? [],
  )
  t.same([first.name, second.arguments], ['Bob', '{"Bob":"[PERSON_1]"}'])
  t.same(standIn.texts, ['{"Bob":"Bob"}'])
})
