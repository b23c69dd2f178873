// Answers of the stand-in in the form of Anthropic's messages.

import {
  countTokens,
  type DemoAnswer,
  type DemoReply,
  namedEvent,
  newId,
  piecesOf,
  replyTo,
  textOf,
} from './demo-answer.ts'
import type { ArgumentSchema, OfferedTools } from './tool-calls.ts'

interface Block {
  readonly type?: string
  readonly content?: unknown
}

interface MessagesBody {
  readonly model?: string
  readonly system?: unknown
  readonly messages?: readonly { readonly role?: string; readonly content?: string | readonly Block[] }[]
  readonly tools?: readonly { readonly name?: string; readonly input_schema?: ArgumentSchema }[]
  readonly tool_choice?: {
    readonly type?: string
    readonly name?: string
    readonly disable_parallel_tool_use?: boolean
  }
}

export function answerMessages(body: MessagesBody): DemoAnswer {
  const content = body.messages?.findLast(({ role }) => role === 'user')?.content ?? ''
  const blocks = typeof content === 'string' ? [] : content
  const reply = replyTo({
    text: textOf(content),
    results: blocks.filter(({ type }) => type === 'tool_result').map((block) => textOf(block.content)),
    tools: toolsOf(body),
  })
  const usage = { input_tokens: promptTokens(body), output_tokens: countTokens(reply.text ?? reply.calls) }
  const stop_reason = reply.calls.length > 0 ? 'tool_use' : 'end_turn'
  const message = {
    id: newId('msg'),
    type: 'message',
    role: 'assistant',
    model: body.model,
    stop_sequence: null,
  }
  return {
    whole: { ...message, content: blocksOf(reply), stop_reason, usage },
    events: [
      namedEvent('message_start', {
        message: { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } },
      }),
      ...blocksOf(reply).flatMap(blockEvents),
      namedEvent('message_delta', {
        delta: { stop_reason, stop_sequence: null },
        usage: { output_tokens: usage.output_tokens },
      }),
      namedEvent('message_stop', {}),
    ],
  }
}

export const countMessages = (body: MessagesBody): DemoAnswer => ({
  whole: { input_tokens: promptTokens(body) },
  events: [],
})

const promptTokens = ({ system = '', messages = [], tools = [] }: MessagesBody): number =>
  countTokens([system, messages, tools])

function toolsOf({ tools = [], tool_choice: choice = {} }: MessagesBody): OfferedTools {
  const choices = { any: 'required', none: 'none', tool: { name: choice.name ?? '' } } as const
  return {
    functions: tools.flatMap(({ name, input_schema: parameters }) =>
      name === undefined ? [] : [{ name, parameters }],
    ),
    choice: choices[choice.type as keyof typeof choices] ?? 'auto',
    parallel: choice.disable_parallel_tool_use !== true,
  }
}

type ContentBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; readonly input: object }

function blocksOf({ text, calls }: DemoReply): ContentBlock[] {
  const texts: ContentBlock[] = text === null ? [] : [{ type: 'text', text }]
  return [
    ...texts,
    ...calls.map(
      ({ id, name, arguments: input }): ContentBlock => ({
        type: 'tool_use',
        id: id.replace('call', 'toolu'),
        name,
        input,
      }),
    ),
  ]
}

function blockEvents(block: ContentBlock, index: number): string[] {
  const isText = block.type === 'text'
  const begun = isText ? { ...block, text: '' } : { ...block, input: {} }
  const deltas = [...piecesOf(isText ? block.text : JSON.stringify(block.input))].map((piece) =>
    isText ? { type: 'text_delta', text: piece } : { type: 'input_json_delta', partial_json: piece },
  )
  return [
    namedEvent('content_block_start', { index, content_block: begun }),
    ...deltas.map((delta) => namedEvent('content_block_delta', { index, delta })),
    namedEvent('content_block_stop', { index }),
  ]
}
