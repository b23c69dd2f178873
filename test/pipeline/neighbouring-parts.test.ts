// Neighbouring parts of an answer of the Responses API: a client shows them as one text, so a value
// that is split over two is found, streamed as whole.

import fc from 'fast-check'
import t from 'tap'
import { RESPONSES } from '../../src/chat/responses/responses-api.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { cutText, relay } from './fixture.ts'

const USAGE = { input_tokens: 1, output_tokens: 1, total_tokens: 2 }

/** The names of the events and members of a kind of text. */
const KINDS = {
  content: {
    text: 'output_text',
    part: 'content_part',
    index: 'content_index',
    item: 'message',
    list: 'content',
  },
  summary: {
    text: 'reasoning_summary_text',
    part: 'reasoning_summary_part',
    index: 'summary_index',
    item: 'reasoning',
    list: 'summary',
  },
} as const
type Kind = keyof typeof KINDS
const partType = { content: 'output_text', summary: 'summary_text' }

/** The events of an answer with these parts, each of which arrives in these pieces. */
function eventsOf(kind: Kind, parts: readonly (readonly string[])[], announces = true): string[] {
  const { text, part, index, item: itemType, list } = KINDS[kind]
  const typed = (one: string) => ({ type: partType[kind], text: one })
  const item = { id: 'item_1', type: itemType, [list]: parts.map((pieces) => typed(pieces.join(''))) }
  const at = (number: number) => ({ item_id: 'item_1', output_index: 0, [index]: number })
  const response = {
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    model: 'm',
    output: [item],
    usage: USAGE,
  }
  const events: JsonObject[] = [
    { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
    { type: 'response.output_item.added', output_index: 0, item: { ...item, [list]: [] } },
    ...parts.flatMap((pieces, number): JsonObject[] => [
      ...(announces ? [{ type: `response.${part}.added`, ...at(number), part: typed('') }] : []),
      ...pieces.map((delta) => ({ type: `response.${text}.delta`, ...at(number), delta })),
      { type: `response.${text}.done`, ...at(number), text: pieces.join('') },
      { type: `response.${part}.done`, ...at(number), part: typed(pieces.join('')) },
    ]),
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response },
  ]
  return events.map((event, number) => `data: ${JSON.stringify({ ...event, sequence_number: number })}\n\n`)
}

/** The texts of each part, as each kind of event has them. */
function partsOf(kind: Kind, stream: string) {
  const { text, part, index, list } = KINDS[kind]
  const events = stream
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)))
  const ofType = (type: string) => events.filter((event) => event.type === `response.${type}`)
  const deltas: string[] = []
  for (const event of ofType(`${text}.delta`))
    deltas[event[index]] = (deltas[event[index]] ?? '') + event.delta
  const texts = (items: any[]) => items.flatMap((item) => item[list].map((one: any) => one.text))
  return {
    deltas: Array.from(deltas, (one) => one ?? ''),
    done: ofType(`${text}.done`).map((event) => event.text),
    parts: ofType(`${part}.done`).map((event) => event.part.text),
    item: texts(ofType('output_item.done').map((event) => event.item)),
    completed: texts(ofType('completed').flatMap((event) => event.response.output)),
    numbers: events.map((event) => event.sequence_number),
  }
}

const SPLIT: readonly [parts: string[], joined: string][] = [
  [['Ask carol.smith', '@example.com now.'], 'Ask [EMAIL_2] now.'],
  [['card 4111 1111 ', '1111 1111 ok'], 'card [CREDIT_CARD_1] ok'],
  [['no value at the end 12', ' but a number'], 'no value at the end 12 but a number'],
  [['Ask carol.', 'smith@exam', 'ple.com.'], 'Ask [EMAIL_2].'],
  [['to [EMAIL', '_1] now'], 'to ann@example.com now'],
  [['the last carol.smith@example.com', ''], 'the last [EMAIL_2]'],
  [['', 'carol.smith@example.com'], '[EMAIL_2]'],
  [['Ask carol.', '', 'smith@exam', '', '', 'ple.com.'], 'Ask [EMAIL_2].'],
  [['card 4111 1111 ', '', '1111 1111 ok'], 'card [CREDIT_CARD_1] ok'],
]
for (const kind of ['content', 'summary'] as const)
  for (const [parts, joined] of SPLIT)
    t.test(`${kind}: ${parts.join('|')} is one text, and every event says so`, async (t) => {
      for (const announces of [true, false]) {
        const events = eventsOf(
          kind,
          parts.map((one) => (one === '' ? [] : [one])),
          announces,
        )
        const relayed = await relay(events, { api: RESPONSES })
        const found = partsOf(kind, relayed.stream)
        t.equal(found.deltas.join(''), joined)
        for (const name of ['done', 'parts', 'item', 'completed'] as const)
          t.equal(found[name].join(''), joined, name)
        t.same(found.done, found.parts)
        t.same(found.item, found.completed)
        t.same(
          found.numbers,
          found.numbers.map((_, index) => index),
        )
      }
    })

const APART = [
  ['**Planning the change**', '**Checking files**\n\nI look', 'third part here'],
  ['made of cheese', '. Also ', 'mail x'],
  [
    'First sentence (src1)',
    'Second part (src2) tail, which is as long as the parts of answers are, or longer',
  ],
]
for (const kind of ['content', 'summary'] as const)
  for (const parts of APART)
    t.test(`${kind}: ${JSON.stringify(parts)} keeps each text in its part`, async (t) => {
      for (const size of [1, 3, 100]) {
        const pieces = parts.map((one) => one.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [])
        const found = partsOf(kind, (await relay(eventsOf(kind, pieces), { api: RESPONSES })).stream)
        const spoken = parts.filter((one) => one !== '')
        t.same(
          found.deltas.filter((one) => one !== ''),
          spoken,
          `pieces of ${size}`,
        )
        for (const name of ['done', 'parts', 'item', 'completed'] as const) t.same(found[name], parts, name)
      }
    })

t.test('a stream with parts is redacted like its text, wherever parts and pieces are cut', async () => {
  const word = fc.constantFrom('carol@example.com', '4111 1111 1111 1111', 'hello', 'the 12th', '[EMAIL_1]')
  const text = fc.array(word, { minLength: 1, maxLength: 5 }).map((words) => words.join(' '))
  const cuts = fc.array(fc.nat(80), { maxLength: 3 })
  await fc.assert(
    fc.asyncProperty(text, cuts, cuts, async (whole, between, inside) => {
      const parts = cutText(whole, between).map((part) => cutText(part, inside).filter((one) => one !== ''))
      const alone = await relay(eventsOf('content', [[whole]]), { api: RESPONSES })
      const split = await relay(eventsOf('content', parts), { api: RESPONSES })
      const wanted = partsOf('content', alone.stream).deltas.join('')
      const found = partsOf('content', split.stream)
      return (
        found.deltas.join('') === wanted &&
        found.done.join('') === wanted &&
        found.completed.join('') === wanted
      )
    }),
    { numRuns: 150 },
  )
})
