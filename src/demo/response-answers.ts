// Answers of the stand-in in the form of OpenAI's responses. It keeps none.

import {
  countTokens,
  type DemoAnswer,
  type DemoReply,
  namedEvent,
  newId,
  nowSeconds,
  piecesOf,
  replyTo,
  textOf,
} from './demo-answer.ts'
import type { ArgumentSchema, OfferedTools } from './tool-calls.ts'

interface InputItem {
  readonly type?: string
  readonly role?: string
  readonly content?: unknown
  readonly output?: unknown
}

interface ResponsesBody {
  readonly model?: string
  readonly instructions?: string
  readonly input?: string | readonly InputItem[]
  readonly tools?: readonly {
    readonly type?: string
    readonly name?: string
    readonly parameters?: ArgumentSchema
  }[]
  readonly tool_choice?: OfferedTools['choice']
  readonly parallel_tool_calls?: boolean
}

const RESULT = 'function_call_output'

export function answerResponse(body: ResponsesBody): DemoAnswer {
  const { input = '', instructions = '' } = body
  const items: readonly InputItem[] = typeof input === 'string' ? [{ role: 'user', content: input }] : input
  const results = items.slice(items.findLastIndex(({ type }) => type !== RESULT) + 1)
  const reply = replyTo({
    text: textOf(items.findLast(({ role }) => role === 'user')?.content),
    results: results.map(({ output }) => textOf(output)),
    tools: toolsOf(body),
  })
  const input_tokens = countTokens([instructions, input])
  const output_tokens = countTokens(reply.text ?? reply.calls)
  const usage = {
    input_tokens,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input_tokens + output_tokens,
  }
  const output = itemsOf(reply)
  const response = {
    id: newId('resp'),
    object: 'response',
    created_at: nowSeconds(),
    error: null,
    incomplete_details: null,
    instructions: body.instructions ?? null,
    metadata: {},
    model: body.model,
    parallel_tool_calls: body.parallel_tool_calls !== false,
    store: false,
    tool_choice: body.tool_choice ?? 'auto',
    tools: body.tools ?? [],
  }
  const whole = { ...response, status: 'completed', output, usage }
  const begun = { response: { ...response, status: 'in_progress', output: [], usage: null } }
  const events: readonly DemoEvent[] = [
    ['response.created', begun],
    ['response.in_progress', begun],
    ...output.flatMap(itemEvents),
    ['response.completed', { response: whole }],
  ]
  return {
    whole,
    events: events.map(([type, members], sequence_number) =>
      namedEvent(type, { ...members, sequence_number }),
    ),
  }
}

function toolsOf({ tools = [], tool_choice: choice, parallel_tool_calls }: ResponsesBody): OfferedTools {
  return {
    functions: tools.flatMap(({ type, name, parameters }) =>
      type === 'function' && name !== undefined ? [{ name, parameters }] : [],
    ),
    choice: choice ?? 'auto',
    parallel: parallel_tool_calls !== false,
  }
}

type DemoEvent = readonly [type: string, members: object]

interface TextPart {
  readonly type: 'output_text'
  readonly text: string
  readonly annotations: readonly []
  readonly logprobs: readonly []
}

interface TextItem {
  readonly id: string
  readonly type: 'message'
  readonly status: 'completed'
  readonly role: 'assistant'
  readonly content: readonly [TextPart]
}

interface CallItem {
  readonly id: string
  readonly type: 'function_call'
  readonly status: 'completed'
  readonly call_id: string
  readonly name: string
  readonly arguments: string
}

function itemsOf({ text, calls }: DemoReply): readonly (TextItem | CallItem)[] {
  if (text === null)
    return calls.map(({ id, name, arguments: args }) => ({
      id: id.replace('call', 'fc'),
      type: 'function_call',
      status: 'completed',
      call_id: id,
      name,
      arguments: JSON.stringify(args),
    }))
  const part: TextPart = { type: 'output_text', text, annotations: [], logprobs: [] }
  return [{ id: newId('msg'), type: 'message', status: 'completed', role: 'assistant', content: [part] }]
}

function itemEvents(item: TextItem | CallItem, output_index: number): DemoEvent[] {
  return item.type === 'message' ? textEvents(item, output_index) : callEvents(item, output_index)
}

function textEvents(item: TextItem, output_index: number): DemoEvent[] {
  const [part] = item.content
  const place = { item_id: item.id, output_index, content_index: 0 }
  const deltas = [...piecesOf(part.text)].map(
    (delta): DemoEvent => ['response.output_text.delta', { ...place, delta, logprobs: [] }],
  )
  return [
    ['response.output_item.added', { output_index, item: { ...item, status: 'in_progress', content: [] } }],
    ['response.content_part.added', { ...place, part: { ...part, text: '' } }],
    ...deltas,
    ['response.output_text.done', { ...place, text: part.text, logprobs: [] }],
    ['response.content_part.done', { ...place, part }],
    ['response.output_item.done', { output_index, item }],
  ]
}

function callEvents(item: CallItem, output_index: number): DemoEvent[] {
  const place = { item_id: item.id, output_index }
  const deltas = [...piecesOf(item.arguments)].map(
    (delta): DemoEvent => ['response.function_call_arguments.delta', { ...place, delta }],
  )
  return [
    ['response.output_item.added', { output_index, item: { ...item, status: 'in_progress', arguments: '' } }],
    ...deltas,
    ['response.function_call_arguments.done', { ...place, arguments: item.arguments }],
    ['response.output_item.done', { output_index, item }],
  ]
}
