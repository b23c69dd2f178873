// The same answer in every form: what the client gets does not depend on how it arrived.

import fc from 'fast-check'
import t from 'tap'
import { answerChunks } from '../../src/chat/answer-chunks.ts'
import { Assembler } from '../../src/chat/assembler.ts'
import { encodeData } from '../../src/chat/sse.ts'
import { Budget } from '../../src/core/budget.ts'
import { GatewayError } from '../../src/core/errors.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { deliverAnswer } from '../../src/pipeline/answer/deliver-answer.ts'
import { GivenIds } from '../../src/pipeline/answer/given-ids.ts'
import { ThoughtMemory } from '../../src/pipeline/answer/thought-memory.ts'
import { ScanMemory } from '../../src/pipeline/prompt/memory-turn.ts'
import { Placeholders } from '../../src/pipeline/scan/placeholders.ts'
import { Restoration } from '../../src/pipeline/scan/restore.ts'
import { CollectingClient } from '../../src/rulecheck/collecting-client.ts'
import type { UpstreamResponse } from '../../src/upstream/response.ts'
import { rule } from '../policy/rules.ts'
import {
  ALL_KINDS,
  chunksOf,
  cutText,
  decisionOf,
  INJECTION,
  newCall,
  responseOf,
  STILL_CLOCK,
  selectRules,
} from './fixture.ts'

const CREDENTIAL = 'upstream-credential'
const SELECTION = selectRules([rule('aurora', 'project aurora')])

interface Delivery {
  /** The answer as the client joins it; null when it got an error. */
  readonly answer: JsonObject | null
  readonly logged: JsonObject | null
  readonly failure: string
  readonly text: string
}

/** Delivers an answer to a client that asked for a stream or not. */
async function deliver(
  response: UpstreamResponse,
  stream: boolean,
  keep: (bytes: number) => void = () => {},
): Promise<Delivery> {
  const call = newCall()
  const client = new CollectingClient()
  const placeholders = new Placeholders()
  placeholders.avoid('[EMAIL_1]')
  let failure = ''
  try {
    const delivered = await deliverAnswer(
      {
        call,
        client,
        response,
        scan: {
          kinds: ALL_KINDS,
          decide: () => decisionOf('redact'),
          shapes: null,
          keywords: SELECTION.keywords('response'),
          credential: CREDENTIAL,
          restoration: new Restoration(new Map([['[EMAIL_1]', 'ann@example.com']])),
        },
        selection: SELECTION,
        calls: null,
        placeholders,
        injection: INJECTION,
        thoughts: new ThoughtMemory(),
        givenIds: new GivenIds(),
        documents: [],
        searches: new ScanMemory(1 << 20, Number.POSITIVE_INFINITY),
        clock: STILL_CLOCK,
        keep,
        streamBegan: () => {},
      },
      { stream, includeUsage: true, after: null },
    )
    delivered.finish({ log: 'l', seq: 0, hash: 'h' })
    failure = delivered.ending.outcome === 'ok' ? '' : delivered.ending.outcome
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    failure = error.code
  }
  const logged = call.record.response
  if (failure !== '') return { answer: null, logged, failure, text: client.text }
  if (!stream) return { answer: JSON.parse(client.text), logged, failure, text: client.text }
  const assembler = new Assembler()
  for (const chunk of chunksOf([client.text])) assembler.add(chunk)
  return { answer: assembler.result(), logged, failure, text: client.text }
}

const piece = fc.oneof(
  fc.constantFrom('word ', 'bob@', 'example.', 'org ', 'project ', 'aurora', '[EMAIL_1] ', '4111 1111 '),
  fc.constantFrom('1111 1111', 'upstream-', 'credential ', 'line\n', '😀', '"', '\\'),
  fc.string({ maxLength: 5 }),
)
const text = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''))
const message = fc.record(
  {
    role: fc.constant('assistant'),
    content: text,
    reasoning: text,
    tool_calls: fc.array(
      fc.record({
        index: fc.constant(0),
        id: fc.constant('call_1'),
        type: fc.constant('function'),
        function: fc.record({
          name: fc.constant('f'),
          arguments: text.map((said) => JSON.stringify({ said })),
        }),
      }),
      { minLength: 1, maxLength: 1 },
    ),
  },
  { requiredKeys: ['role', 'content'] },
)

/** Cuts the bytes of a text, also inside characters. */
const cutBytes = (sent: string, at: readonly number[]): Buffer[] =>
  cutText(Buffer.from(sent).toString('latin1'), at).map((bytes) => Buffer.from(bytes, 'latin1'))

t.test('an answer is delivered and logged alike in every form', async (t) => {
  const choices = fc.array(message, { minLength: 1, maxLength: 3 })
  const cuts = fc.array(fc.nat(), { maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(choices, cuts, async (messages, at) => {
      const body: JsonObject = {
        id: 'x',
        object: 'chat.completion',
        created: 1,
        model: 'm',
        choices: messages.map((said, index) => ({ index, message: said, finish_reason: 'stop' })),
        usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
      } as JsonObject
      const whole = JSON.stringify(body)
      const events = [...answerChunks(body), '[DONE]'].map((chunk) =>
        encodeData(typeof chunk === 'string' ? chunk : JSON.stringify(chunk)),
      )
      const [expected, ...others] = await Promise.all(
        [whole, events.join('')].flatMap((sent) =>
          [false, true].map((stream) => deliver(responseOf(cutBytes(sent, at)), stream)),
        ),
      )
      for (const one of others) {
        t.equal(one.failure, expected!.failure)
        t.same(one.answer, expected!.answer)
        if (one.failure === '') t.same(one.logged, expected!.logged)
      }
    }),
    { numRuns: 200 },
  )
})

t.test('memory is counted in every form', async (t) => {
  const body = { choices: [{ index: 0, message: { content: 'word '.repeat(2000) }, finish_reason: 'stop' }] }
  const whole = JSON.stringify(body)
  const events = [...answerChunks(body)].map((chunk) => encodeData(JSON.stringify(chunk))).join('')
  for (const sent of [whole, events]) {
    for (const stream of [true, false]) {
      const room = new Budget(8000)
      const full = await deliver(responseOf([sent]), stream, (bytes) => {
        if (!room.take(bytes)) throw new GatewayError('overloaded', 'full')
      })
      t.equal(full.failure, 'overloaded', `${sent.slice(0, 8)} ${stream}`)
      t.notMatch(full.text, /word/)
    }
  }
})
