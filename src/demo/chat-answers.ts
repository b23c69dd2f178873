// Answers of the stand-in in the form of chat completions.

import {
  type DemoAnswer,
  type DemoReply,
  dataEvent,
  newId,
  nowSeconds,
  piecesOf,
  replyTo,
  textOf,
  usageOf,
} from './demo-answer.ts'
import type { ArgumentSchema, OfferedTools } from './tool-calls.ts'

interface ChatBody {
  readonly model?: string
  readonly stream_options?: { readonly include_usage?: boolean }
  readonly messages?: readonly { readonly role?: string; readonly content?: unknown }[]
  readonly tools?: readonly {
    readonly function?: { readonly name?: string; readonly parameters?: ArgumentSchema }
  }[]
  readonly tool_choice?: OfferedTools['choice'] | { readonly function?: { readonly name?: string } }
  readonly parallel_tool_calls?: boolean
}

export function answerChat(body: ChatBody): DemoAnswer {
  const messages = body.messages ?? []
  const results = messages.slice(messages.findLastIndex(({ role }) => role !== 'tool') + 1)
  const reply = replyTo({
    text: textOf(messages.findLast(({ role }) => role === 'user')?.content),
    results: results.map(({ content }) => textOf(content)),
    tools: toolsOf(body),
  })
  const usage = usageOf(messages, reply.text ?? reply.calls)
  const envelope = { id: newId('chatcmpl'), created: nowSeconds(), model: body.model }
  const calls = toolCalls(reply)
  const message = {
    role: 'assistant',
    content: reply.text,
    refusal: null,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
  const finish_reason = calls.length > 0 ? 'tool_calls' : 'stop'
  const chunk = (choices: object[], more: object = {}) =>
    dataEvent({ ...envelope, object: 'chat.completion.chunk', choices, ...more })
  const delta = (members: object) => chunk([{ index: 0, delta: members, finish_reason: null }])
  return {
    whole: {
      ...envelope,
      object: 'chat.completion',
      choices: [{ index: 0, message, logprobs: null, finish_reason }],
      usage,
    },
    events: [
      delta({ role: 'assistant', content: reply.text === null ? null : '' }),
      ...[...deltasOf(reply)].map(delta),
      chunk([{ index: 0, delta: {}, finish_reason }]),
      ...(body.stream_options?.include_usage === true ? [chunk([], { usage })] : []),
      'data: [DONE]\n\n',
    ],
  }
}

function toolsOf({ tools = [], tool_choice: choice = 'auto', parallel_tool_calls }: ChatBody): OfferedTools {
  return {
    functions: tools.flatMap(({ function: offered }) =>
      offered?.name === undefined ? [] : [{ name: offered.name, parameters: offered.parameters }],
    ),
    choice:
      typeof choice === 'object' && 'function' in choice ? { name: choice.function?.name ?? '' } : choice,
    parallel: parallel_tool_calls !== false,
  } as OfferedTools
}

const toolCalls = ({ calls }: DemoReply) =>
  calls.map(({ id, name, arguments: args }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(args) },
  }))

/** The text in pieces, or each call with its arguments in pieces. */
function* deltasOf(reply: DemoReply): Generator<object> {
  for (const content of piecesOf(reply.text ?? '')) yield { content }
  for (const [index, { function: called, ...call }] of toolCalls(reply).entries()) {
    yield { tool_calls: [{ index, ...call, function: { name: called.name, arguments: '' } }] }
    for (const piece of piecesOf(called.arguments))
      yield { tool_calls: [{ index, function: { arguments: piece } }] }
  }
}
