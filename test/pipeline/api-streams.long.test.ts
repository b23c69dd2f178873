// Streams of every API, cut anywhere: the client reads what redacting the whole text gives.

import fc from 'fast-check'
import t from 'tap'
import type { Api } from '../../src/chat/api-format.ts'
import { CHAT } from '../../src/chat/chat-api.ts'
import { COMPLETIONS } from '../../src/chat/completions-api.ts'
import { MESSAGES } from '../../src/chat/messages/messages-api.ts'
import { RESPONSES } from '../../src/chat/responses/responses-api.ts'
import { messageEvents, named, streamedText } from '../process/messages-upstream.ts'
import { responseEvents, streamedMessage } from '../process/responses-upstream.ts'
import { cutText, END, event, relay } from './fixture.ts'

const TEXT =
  'Write to bob@example.org or call +1 415 555 2671, project harbour, card 4111 1111 1111 1111 now.'
const REDACTED = 'Write to [EMAIL_2] or call [PHONE_1], project harbour, card [CREDIT_CARD_1] now.'

const eventsIn = (stream: string): any[] =>
  [...stream.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data!))

interface Format {
  readonly api: Api
  /** The name of the API unless given. */
  readonly name?: string
  /** The events of an answer whose text has these pieces. */
  readonly events: (pieces: readonly string[]) => readonly string[]
  /** The piece of text in an event; '' without one. */
  readonly textOf: (event: any) => string
}

const FORMATS: readonly Format[] = [
  {
    api: CHAT,
    events: (pieces) => [...pieces.map((content) => event({ delta: { content } })), ...END],
    textOf: ({ choices }) => choices?.[0]?.delta?.content ?? '',
  },
  {
    api: COMPLETIONS,
    events: (pieces) => [
      ...pieces.map((text) => event({ text, finish_reason: null })),
      event({ text: '', finish_reason: 'stop' }),
      'data: [DONE]\n\n',
    ],
    textOf: ({ choices }) => choices?.[0]?.text ?? '',
  },
  {
    api: MESSAGES,
    events: (pieces) => messageEvents([streamedText(...pieces)]),
    textOf: ({ delta }) => delta?.text ?? '',
  },
  {
    api: MESSAGES,
    name: 'messages in blocks of text next to each other',
    events: (pieces) => messageEvents(pieces.map((piece) => streamedText(piece))),
    textOf: ({ delta }) => delta?.text ?? '',
  },
  {
    api: RESPONSES,
    events: (pieces) => responseEvents([streamedMessage(...pieces)]),
    textOf: ({ type, delta }) => (type === 'response.output_text.delta' ? delta : ''),
  },
  {
    api: RESPONSES,
    name: 'responses with an item id of its own in each event',
    events: (pieces) =>
      responseEvents([streamedMessage(...pieces)]).map((text, index) =>
        text.replace(/"item_id":"\w+"/, `"item_id":"msg_${index}"`),
      ),
    textOf: ({ type, delta }) => (type === 'response.output_text.delta' ? delta : ''),
  },
  {
    api: RESPONSES,
    name: 'responses with events of an unknown type',
    events: (pieces) =>
      responseEvents([streamedMessage(...pieces)]).map((text) =>
        text.replaceAll('response.output_text.', 'response.novel_text.'),
      ),
    textOf: ({ type, delta }) => (type === 'response.novel_text.delta' ? delta : ''),
  },
  ...[
    {
      place: 'an object',
      wrap: (text: string) => ({ delta: { type: 'novel', text } }),
      textOf: (body: any) => body.delta?.text,
    },
    {
      place: 'a list in an object',
      wrap: (text: string) => ({ delta: { parts: [{ kind: 1 }, { inner: { text } }] } }),
      textOf: (body: any) => body.delta?.parts?.[1]?.inner?.text,
    },
    {
      place: 'another member',
      wrap: (text: string) => ({ part: { text } }),
      textOf: (body: any) => body.part?.text,
    },
  ].map(
    ({ place, wrap, textOf }): Format => ({
      api: RESPONSES,
      name: `responses with events of an unknown type whose texts are in ${place}`,
      events: (pieces) =>
        responseEvents([streamedMessage(...pieces)]).map((text) => {
          if (!text.includes('"response.output_text.delta"'))
            return text.replaceAll('output_text', 'novel_text')
          const { delta, logprobs: _logprobs, ...body } = eventsIn(text)[0]
          return named({ ...body, type: 'response.novel_text.delta', ...wrap(delta) })
        }),
      textOf: (body) => (body.type === 'response.novel_text.delta' ? (textOf(body) ?? '') : ''),
    }),
  ),
]

for (const { api, name = api.name, events, textOf } of FORMATS) {
  const readText = (stream: string) => eventsIn(stream).map(textOf).join('')

  t.test(`a text of ${name} is redacted however it is divided into events`, async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(TEXT.length), { maxLength: 12 }), async (cuts) => {
        const { stream, failure, findings } = await relay(events(cutText(TEXT, cuts)), { api })
        const counts = findings.map(({ kind, count }) => `${kind} ${count}`).sort()
        const isCounted = counts.join() === 'credit_card 1,email 1,phone 1'
        return failure === '' && readText(stream) === REDACTED && isCounted
      }),
      { numRuns: 40 },
    )
    t.pass()
  })

  t.test(`a stream of ${name} is the same for every place where its bytes are cut`, async (t) => {
    const bytes = events(['Ask bo', 'b@example.org', ' — ü ', 'now']).join('')
    const whole = await relay([bytes], { api })
    t.equal(readText(whole.stream), 'Ask [EMAIL_2] — ü now')
    const received = Buffer.from(bytes)
    for (let cut = 1; cut < received.length; cut += 3) {
      const pieces = [received.subarray(0, cut), received.subarray(cut)] as unknown as string[]
      const { stream, logged } = await relay(pieces, { api })
      if (stream !== whole.stream || logged !== whole.logged) t.fail(`cut at ${cut}`)
    }
  })

  t.test(`a stream of ${name} that breaks off is never whole`, async (t) => {
    const all = events(['Ask bo', 'b@example.org', ' now'])
    const isOptional = (text: string) => text.includes('[DONE]')
    const needed = all.filter((text) => !isOptional(text)).length
    for (let count = 0; count < needed; count++) {
      const { failure } = await relay(all.slice(0, count), { api })
      if (failure !== 'upstream_unavailable') t.fail(`whole after ${count} events`)
    }
    t.equal((await relay(all, { api })).failure, '')
  })

  t.test(`a rule that blocks an answer of ${name} ends its stream with an error`, async (t) => {
    const { stream, failure } = await relay(events(['about pro', 'ject aur', 'ora now']), { api })
    t.equal(failure, 'response_blocked_by_policy')
    t.equal(readText(stream), 'about ')
    const errors = eventsIn(stream).filter(
      ({ code, error }) => 'response_blocked_by_policy' === (error?.code ?? code),
    )
    t.equal(errors.length, 1)
    t.match(stream, /: sidegate-audit l;seq=0;hash=h\ndata: [^\n]+\n\n$/)
  })
}

t.test('texts whose indexes have names that are not known yet are told apart', async (t) => {
  const card = '4111 1111 1111 1111'
  for (let cut = 1; cut < card.length; cut++) {
    const pieces = [card.slice(0, cut), 'and ', card.slice(cut), 'more ']
    const events = responseEvents([streamedMessage(...pieces)])
    let part = 0
    const interleaved = events.map((text) =>
      text.includes('"response.output_text.delta"')
        ? text.replace('"content_index":0', `"part_index":${part++ % 2}`)
        : text,
    )
    const { stream } = await relay(interleaved, { api: RESPONSES })
    const ofFirst = eventsIn(stream).filter(
      ({ type, part_index }) => type === 'response.output_text.delta' && part_index === 0,
    )
    t.equal(ofFirst.map(({ delta }) => delta).join(''), '[CREDIT_CARD_1]', `cut at ${cut}`)
  }
})
