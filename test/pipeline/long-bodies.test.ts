// What one turn of the event loop does for a long body is bounded: every part of its way takes as many
// steps as its length asks for.

import t from 'tap'
import type { Api } from '../../src/chat/api-format.ts'
import { CHAT } from '../../src/chat/chat-api.ts'
import { EMBEDDINGS } from '../../src/chat/embeddings-api.ts'
import { MESSAGES } from '../../src/chat/messages/messages-api.ts'
import { RESPONSES } from '../../src/chat/responses/responses-api.ts'
import { parseSteps } from '../../src/chat/strict-json.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { inSlices, type Steps } from '../../src/core/steps.ts'
import { parseAnswerSteps } from '../../src/pipeline/answer/received-body.ts'

const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index))

const ITEMS = 40_000
/** Texts whose walk one step may do. */
const TEXTS_OF_STEP = 1024

const REQUESTS: Readonly<Record<string, readonly [Api, JsonObject]>> = {
  messages: [CHAT, { model: 'm', messages: many(ITEMS, (n) => ({ role: 'user', content: `note ${n}` })) }],
  'parts of a message': [
    CHAT,
    {
      model: 'm',
      messages: [{ role: 'user', content: many(ITEMS, (n) => ({ type: 'text', text: `n ${n}` })) }],
    },
  ],
  'tool results': [
    MESSAGES,
    {
      model: 'm',
      messages: [
        {
          role: 'user',
          content: many(ITEMS, (n) => ({ type: 'tool_result', tool_use_id: 't', content: `n ${n}` })),
        },
      ],
    },
  ],
  'input items': [
    RESPONSES,
    { model: 'm', input: many(ITEMS, (n) => ({ role: 'user', content: `n ${n}` })) },
  ],
  inputs: [EMBEDDINGS, { model: 'm', input: many(ITEMS, (n) => `n ${n}`) }],
}

t.test('the texts of a long request are listed in steps', async (t) => {
  for (const [name, [api, body]] of Object.entries(REQUESTS)) {
    const steps = [...api.requestTexts(body)].length
    t.ok(steps >= Math.floor(ITEMS / TEXTS_OF_STEP), `${name}: ${steps} steps`)
  }
})

t.test('the texts of a long answer are grouped in steps', async (t) => {
  for (const [name, [api]] of Object.entries(REQUESTS)) {
    const { texts } = api.answer.texts({ list: many(ITEMS, (n) => `note ${n}`) })
    const steps = [...api.answer.group(texts, false)].length
    t.ok(steps >= Math.floor(ITEMS / TEXTS_OF_STEP), `${name}: ${steps} steps`)
  }
})

/** A clock by which each step takes a whole slice; counts the slices of a computation. */
async function slicesOf(steps: Steps<unknown>): Promise<number> {
  let slices = 0
  let nowMs = 0
  await inSlices(steps, { monotonic: () => (nowMs += 1000) }, () => slices++)
  return slices
}

t.test('to decode, to count and to parse a long body are slices of their own', async (t) => {
  const json = Buffer.from(JSON.stringify({ model: 'm', prompt: 'x'.repeat(100_000) }))
  t.ok((await slicesOf(parseSteps(json))) >= 4)
  t.ok((await slicesOf(parseAnswerSteps(json))) >= 4)
})
