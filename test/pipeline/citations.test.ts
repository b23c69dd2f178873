// Citations name positions in the text beside them. They move with it, whole and streamed, when
// something before them was redacted or restored.

import fc from 'fast-check'
import t from 'tap'
import type { Api } from '../../src/chat/api-format.ts'
import { CHAT } from '../../src/chat/chat-api.ts'
import { MESSAGES } from '../../src/chat/messages/messages-api.ts'
import { RESPONSES } from '../../src/chat/responses/responses-api.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { atOnce } from '../../src/core/steps.ts'
import { loadInjectionModel } from '../../src/detect/injection/score.ts'
import { documentEditsOf } from '../../src/pipeline/answer/moved-citations.ts'
import { inspect } from '../../src/pipeline/prompt/inspect.ts'
import { editsFrom, movedOffset } from '../../src/pipeline/scan/text-edits.ts'
import { rule } from '../policy/rules.ts'
import { ALL_KINDS, chunksOf, cutText, deliverWhole, END, event, relay, selectRules } from './fixture.ts'

const injection = loadInjectionModel()

// `[EMAIL_1]` is ann@example.com for the client; other values are new in the answer.
const WORDS = ['[EMAIL_1]', 'zoe@example.net', '4111 1111 1111 1111', 'hello', 'Wien', '😀', 'a "b"']
const CITED = 'the source'

const cite = (text: string) => {
  const start = text.indexOf(CITED)
  return { start_index: start, end_index: start + CITED.length, url: 'https://a.example/', title: 'x' }
}
/** What a client reads at the positions of a citation. */
const read = (text: string, { start_index: start, end_index: end }: any) => text.slice(start, end)

/** The events of a Responses stream with a citation after the text. */
function responseEvents(pieces: readonly string[]): string[] {
  const text = pieces.join('')
  const annotation = { type: 'url_citation', ...cite(text) }
  const part = { type: 'output_text', text, annotations: [annotation] }
  const item = { id: 'msg_1', type: 'message', role: 'assistant', content: [part] }
  const at = { item_id: 'msg_1', output_index: 0, content_index: 0 }
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 }
  const response = {
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    model: 'm',
    output: [item],
    usage,
  }
  return [
    { type: 'response.created', response: { ...response, output: [] } },
    ...pieces.map((delta) => ({ type: 'response.output_text.delta', ...at, delta })),
    { type: 'response.output_text.annotation.added', ...at, annotation_index: 0, annotation },
    { type: 'response.output_text.done', ...at, text },
    { type: 'response.content_part.done', ...at, part },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response },
  ].map((one) => `data: ${JSON.stringify(one)}\n\n`)
}

function chatEvents(pieces: readonly string[]): string[] {
  const annotations = [{ type: 'url_citation', url_citation: cite(pieces.join('')) }]
  return [
    ...pieces.map((content) => event({ delta: { content } })),
    event({ delta: { annotations } }),
    ...END,
  ]
}

const text = fc
  .tuple(
    fc.array(fc.constantFrom(...WORDS), { maxLength: 6 }),
    fc.array(fc.constantFrom(...WORDS), { maxLength: 3 }),
  )
  .map(([before, after]) => [...before, CITED, ...after].join(' '))
const cuts = fc.array(fc.nat(120), { maxLength: 5 })

t.test('citations of a streamed response are where the client reads what is cited', async () => {
  await fc.assert(
    fc.asyncProperty(text, cuts, async (whole, at) => {
      const pieces = cutText(whole, at).filter((one) => one !== '')
      const { stream } = await relay(responseEvents(pieces), { api: RESPONSES })
      const events = chunksOf([stream])
      const ofType = (type: string) => events.filter((one) => one.type === `response.${type}`)
      const sent = ofType('output_text.delta')
        .map(({ delta }) => delta)
        .join('')
      const parts = [
        ...ofType('content_part.done').map(({ part }) => part),
        ...ofType('output_item.done').map(({ item }) => item.content[0]),
        ...ofType('completed').map(({ response }) => response.output[0].content[0]),
      ]
      return (
        parts.length === 3 &&
        parts.every((part) => part.text === sent && read(part.text, part.annotations[0]) === CITED) &&
        ofType('output_text.annotation.added').every(({ annotation }) => read(sent, annotation) === CITED)
      )
    }),
    { numRuns: 150 },
  )
})

t.test('citations of a streamed chat completion are where the client reads what is cited', async () => {
  await fc.assert(
    fc.asyncProperty(text, cuts, async (whole, at) => {
      const { stream } = await relay(chatEvents(cutText(whole, at)), { api: CHAT })
      const deltas = chunksOf([stream]).flatMap(({ choices }) => choices.map((one: any) => one.delta))
      const sent = deltas.map(({ content = '' }) => content).join('')
      const [citation] = deltas.flatMap(({ annotations = [] }) => annotations)
      return read(sent, citation.url_citation) === CITED
    }),
    { numRuns: 150 },
  )
})

t.test('an offset moves with the text, and one inside a replaced part to its edges', async (t) => {
  const edits = [
    { at: 2, length: 3, written: 1, logged: 1 },
    { at: 10, length: 2, written: 5, logged: 5 },
  ]
  const moved = (offset: number, isEnd = false) => movedOffset(edits, offset, isEnd)
  t.same(
    [0, 2, 5, 10, 12, 20].map((one) => moved(one)),
    [0, 2, 3, 8, 13, 21],
  )
  t.same([moved(4), moved(4, true), moved(11), moved(11, true)], [2, 3, 8, 13])
  t.same(editsFrom(edits, 8), [{ at: 2, length: 2, written: 5, logged: 5 }])
})

t.test('a whole answer', async (t) => {
  const whole = `[EMAIL_1] and zoe@example.net: ${CITED}`
  for (const [api, body, find] of [
    [
      CHAT,
      {
        choices: [
          {
            index: 0,
            message: { content: whole, annotations: [{ type: 'url_citation', url_citation: cite(whole) }] },
            finish_reason: 'stop',
          },
        ],
      },
      ({ choices: [{ message }] }: any) => [message.content, message.annotations[0].url_citation],
    ],
    [
      RESPONSES,
      JSON.parse(responseEvents([whole]).at(-1)!.slice(6)).response,
      ({
        output: [
          {
            content: [part],
          },
        ],
      }: any) => [part.text, part.annotations[0]],
    ],
  ] as [Api, object, (answer: any) => [string, object]][]) {
    const [text, citation] = find(JSON.parse(await deliverWhole(api, body)))
    t.equal(text, `ann@example.com and [EMAIL_2]: ${CITED}`)
    t.equal(read(text, citation), CITED)
  }
})

t.test('citations of documents are where the client has what is cited', async () => {
  const word = fc.constantFrom('ann@example.com', '4111 1111 1111 1111', 'hello', 'Wien', '[EMAIL_1]')
  const document = fc.array(word, { maxLength: 6 }).map((words) => [...words, CITED, ...words].join(' '))
  await fc.assert(
    fc.asyncProperty(document, document, fc.boolean(), async (first, second, isRestored) => {
      const block = (data: string) => ({
        type: 'document',
        source: { type: 'text', media_type: 'text/plain', data },
      })
      const picture = {
        type: 'document',
        source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
      }
      const body = {
        model: 'm',
        max_tokens: 9,
        messages: [
          { role: 'user', content: [block(first), picture] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: [block(second)] }] },
        ],
      } as JsonObject
      const selection = selectRules([
        rule('all', '*', { type: 'pii', action: isRestored ? 'restore' : 'redact' }),
      ])
      const walk = atOnce(MESSAGES.requestTexts(body))
      const inspection = atOnce(inspect(walk, selection, { kinds: ALL_KINDS, injection }))
      const documents = documentEditsOf(body, inspection.documentEdits)
      const sent: string[] = JSON.stringify(body)
        .match(/"data":"[^"]*/g)!
        .map((one) => one.slice(8))
      const citations = [0, 2].map((index) => {
        const { start_index: start, end_index: end } = cite(sent[index]!)
        return {
          type: 'char_location',
          cited_text: CITED,
          document_index: index,
          start_char_index: start,
          end_char_index: end,
        }
      })
      const usage = { input_tokens: 1, output_tokens: 1 }
      const message = {
        id: 'm',
        type: 'message',
        role: 'assistant',
        model: 'm',
        stop_reason: 'end_turn',
        usage,
      }
      const whole = await deliverWhole(
        MESSAGES,
        { ...message, content: [{ type: 'text', text: 'x', citations }] },
        { documents },
      )
      const events = [
        { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        ...citations.map((citation) => ({
          type: 'content_block_delta',
          index: 0,
          delta: { type: 'citations_delta', citation },
        })),
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
        { type: 'message_stop' },
      ].map((one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`)
      const { stream } = await relay(events, { api: MESSAGES, documents })
      const streamed = chunksOf([stream]).flatMap(({ delta }) => delta?.citation ?? [])
      return [...JSON.parse(whole).content[0].citations, ...streamed].every(
        ({ document_index: index, start_char_index: start, end_char_index: end }: any) =>
          [first, '', second][index]!.slice(start, end) === CITED,
      )
    }),
    { numRuns: 100 },
  )
})
