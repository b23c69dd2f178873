// What the stand-in upstream of load tests answers, whole and streamed, by path.

import { CALLED } from './tool-call.ts'

const MODEL = 'bench/model'
const CREATED = 1_700_000_000
const TEXT = 'The committee met and agreed to come back with a plan. '.repeat(6)
/** The pieces of a streamed text. */
const WORDS = Array.from({ length: 100 }, (_, index) => (index % 7 === 0 ? 'and then ' : 'word '))
const STREAMED = WORDS.join('')
/** Inputs of an embeddings request, and the bytes of the vector of one: 1,536 numbers. */
const INPUTS = 100
const VECTOR_BYTES = 1536 * 4

export interface StandInAnswer {
  readonly whole: Buffer
  /** One event each; empty where the API has no streams. */
  readonly events: readonly string[]
}

const json = (value: object): Buffer => Buffer.from(JSON.stringify(value))
const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`
const named = (type: string, members: object): string => `event: ${type}\n${data({ type, ...members })}`

function chat(): StandInAnswer {
  const envelope = { id: 'chatcmpl-1', created: CREATED, model: MODEL }
  const message = { role: 'assistant', content: TEXT }
  const choice = { index: 0, message, logprobs: null, finish_reason: 'stop' }
  const chunk = (choices: object[], more: object = {}) =>
    data({ ...envelope, object: 'chat.completion.chunk', choices, ...more })
  return {
    whole: json({
      ...envelope,
      object: 'chat.completion',
      choices: [choice],
      usage: { prompt_tokens: 250, completion_tokens: 80, total_tokens: 330 },
    }),
    events: [
      ...WORDS.map((content) => chunk([{ index: 0, delta: { content }, finish_reason: null }])),
      chunk([{ index: 0, delta: {}, finish_reason: 'stop' }]),
      chunk([], { usage: { prompt_tokens: 250, completion_tokens: 100, total_tokens: 350 } }),
      'data: [DONE]\n\n',
    ],
  }
}

/** A call of a tool. */
function calls(): StandInAnswer {
  const envelope = { id: 'chatcmpl-1', object: 'chat.completion', created: CREATED, model: MODEL }
  const call = { id: 'call_1', type: 'function', function: CALLED }
  const message = { role: 'assistant', content: null, tool_calls: [call] }
  const choice = { index: 0, message, logprobs: null, finish_reason: 'tool_calls' }
  const usage = { prompt_tokens: 900, completion_tokens: 600, total_tokens: 1500 }
  return { whole: json({ ...envelope, choices: [choice], usage }), events: [] }
}

function messages(): StandInAnswer {
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: MODEL, stop_sequence: null }
  const usage = { input_tokens: 250, output_tokens: 80 }
  const index = 0
  return {
    whole: json({ ...message, content: [{ type: 'text', text: TEXT }], stop_reason: 'end_turn', usage }),
    events: [
      named('message_start', { message: { ...message, content: [], stop_reason: null, usage } }),
      named('content_block_start', { index, content_block: { type: 'text', text: '' } }),
      ...WORDS.map((text) => named('content_block_delta', { index, delta: { type: 'text_delta', text } })),
      named('content_block_stop', { index }),
      named('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 100 } }),
      named('message_stop', {}),
    ],
  }
}

function responses(): StandInAnswer {
  const response = { id: 'resp_1', object: 'response', created_at: CREATED, model: MODEL }
  const usage = { input_tokens: 250, output_tokens: 80, total_tokens: 330 }
  const part = (text: string) => ({ type: 'output_text', annotations: [], logprobs: [], text })
  const item = (status: string, content: object[]) => ({
    id: 'msg_1',
    type: 'message',
    status,
    content,
    role: 'assistant',
  })
  const finished = (text: string) => ({
    ...response,
    status: 'completed',
    output: [item('completed', [part(text)])],
    usage,
  })
  const begun = { response: { ...response, status: 'in_progress', output: [], usage: null } }
  const place = { item_id: 'msg_1', output_index: 0, content_index: 0 }
  const events: [type: string, members: object][] = [
    ['response.created', begun],
    ['response.in_progress', begun],
    ['response.output_item.added', { output_index: 0, item: item('in_progress', []) }],
    ['response.content_part.added', { ...place, part: part('') }],
    // As with the provider, random padding hides the length of a piece.
    ...WORDS.map((delta, index): [string, object] => [
      'response.output_text.delta',
      { ...place, delta, logprobs: [], obfuscation: 'aBcDeFgHiJkLmNoP'.slice(index % 12) },
    ]),
    ['response.output_text.done', { ...place, text: STREAMED, logprobs: [] }],
    ['response.content_part.done', { ...place, part: part(STREAMED) }],
    ['response.output_item.done', { output_index: 0, item: item('completed', [part(STREAMED)]) }],
    ['response.completed', { response: finished(STREAMED) }],
  ]
  return {
    whole: json(finished(TEXT)),
    events: events.map(([type, members], sequence_number) => named(type, { sequence_number, ...members })),
  }
}

/** Vectors in base64, as the official clients ask for them. */
function embeddings(): StandInAnswer {
  const vector = (index: number) => Buffer.alloc(VECTOR_BYTES, `vector ${index}`).toString('base64')
  const list = Array.from({ length: INPUTS }, (_, index) => ({
    object: 'embedding',
    index,
    embedding: vector(index),
  }))
  const usage = { prompt_tokens: 25_000, total_tokens: 25_000 }
  return { whole: json({ object: 'list', data: list, model: MODEL, usage }), events: [] }
}

/** The answer to a chat request with tools. */
export const TOOL_CALL_ANSWER = calls()

/** The answers by the last part of the path. */
export const STAND_IN_ANSWERS: Readonly<Record<string, StandInAnswer>> = {
  completions: chat(),
  messages: messages(),
  responses: responses(),
  embeddings: embeddings(),
}
