// Events of the Responses API: their numbers, their padding and their probabilities.

import fc from 'fast-check'
import t from 'tap'
import { RESPONSES } from '../../src/chat/responses/responses-api.ts'
import { responseEvents, streamedMessage } from '../process/responses-upstream.ts'
import { cutText, relay } from './fixture.ts'

const eventsIn = (stream: string): any[] =>
  [...stream.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data!))

const TEXT = 'Write to bob@example.org, or pay with 4111 1111 1111 1111; the rest is plain text.'

t.test('events are numbered without gaps when some are held back or added', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(TEXT.length), { maxLength: 40 }), async (cuts) => {
      const pieces = cutText(TEXT, cuts)
      const { stream } = await relay(responseEvents([streamedMessage(...pieces)]), { api: RESPONSES })
      return eventsIn(stream).every(({ sequence_number: number }, index) => number === index)
    }),
  )
  t.pass()
})

t.test('a text in many pieces is logged and sent whole', async (t) => {
  const pieces = Array.from({ length: 200 }, (_, index) => `piece ${index} `)
  const events = responseEvents([streamedMessage(...pieces)])
  const { stream, logged } = await relay(events, { api: RESPONSES })
  t.equal(
    eventsIn(stream)
      .map(({ delta }) => delta ?? '')
      .join(''),
    pieces.join(''),
  )
  t.match(JSON.parse(logged), { output: [{ content: [{ text: pieces.join('') }] }] })
  const broken = await relay(events.slice(0, 150), { api: RESPONSES })
  const [item] = JSON.parse(broken.logged).output
  const begun = item.texts['response.output_text.delta']
  t.match(begun, /^piece 0 piece 1 .* piece 120 /, 'a broken stream has the pieces so far')
  t.ok(pieces.join('').startsWith(begun))
})

t.test('probabilities of a text that is redacted at its end are dropped', async (t) => {
  const card = ['4111', ' 1111', ' 1111', ' 1111']
  const logprobs = card.map((token) => ({ token, logprob: -0.1, bytes: [...Buffer.from(token)] }))
  const events = responseEvents([streamedMessage(...card)]).map((event) =>
    event.includes('.done') || event.includes('.completed')
      ? event.replaceAll('"logprobs":[]', `"logprobs":${JSON.stringify(logprobs)}`)
      : event,
  )
  const { stream, logged } = await relay(events, { api: RESPONSES })
  t.match(stream, '[CREDIT_CARD_1]')
  t.notMatch(stream, /"token"/)
  t.notMatch(logged, /"token"/)
})
