// Writes what the stand-in says in the form of each API that answers with a text.

import {
  countTokens,
  type DemoBody,
  type DemoReply,
  lastSaid,
  newId,
  nowSeconds,
  replyTo,
  turnsAtEnd,
} from './demo-answer.ts'

/** The whole answer of chat completions. */
export function answerChat(body: DemoBody): object {
  const { messages = [], tools = [] } = body
  const reply = replyTo(body, {
    said: lastSaid(messages),
    results: turnsAtEnd(messages, ({ role }) => role === 'tool').map(({ content }) => content),
    offered: tools.flatMap((tool) => tool.function ?? []),
    counted: messages,
  })
  const { text: content, calls } = reply
  const tool_calls = calls.map(({ id, name, arguments: values }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(values) },
  }))
  const message = { role: 'assistant', content, refusal: null, ...(calls.length > 0 && { tool_calls }) }
  const choice = { message, logprobs: null, finish_reason: calls.length > 0 ? 'tool_calls' : 'stop' }
  return { id: newId('chatcmpl'), object: 'chat.completion', ...completion(body, choice, reply) }
}

/** The whole answer of completions. */
export function answerCompletion(body: DemoBody): object {
  const reply = replyTo(body, { said: body.prompt, counted: body.prompt })
  const choice = { text: reply.text, logprobs: null, finish_reason: 'stop' }
  return { id: newId('cmpl'), object: 'text_completion', ...completion(body, choice, reply) }
}

/** What the answers of both APIs have in common. */
const completion = ({ model }: DemoBody, choice: object, { promptTokens, answerTokens }: DemoReply) => ({
  created: nowSeconds(),
  model,
  choices: [{ index: 0, ...choice }],
  usage: {
    prompt_tokens: promptTokens,
    completion_tokens: answerTokens,
    total_tokens: promptTokens + answerTokens,
  },
})

/** The whole answer of Anthropic's messages. */
export function answerMessages(body: DemoBody): object {
  const said = lastSaid(body.messages ?? [])
  const blocks = Array.isArray(said) ? said : []
  const { text, calls, promptTokens, answerTokens } = replyTo(body, {
    said,
    results: blocks.filter(({ type }) => type === 'tool_result').map(({ content }) => content),
    offered: body.tools ?? [],
    counted: countedIn(body),
  })
  const uses = calls.map(({ id, name, arguments: input }) => ({
    type: 'tool_use',
    id: id.replace('call', 'toolu'),
    name,
    input,
  }))
  return {
    id: newId('msg'),
    type: 'message',
    role: 'assistant',
    model: body.model,
    content: text === null ? uses : [{ type: 'text', text }],
    stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: promptTokens, output_tokens: answerTokens },
  }
}

/** The tokens of a request to Anthropic's messages. */
export const countMessages = (body: DemoBody): object => ({ input_tokens: countTokens(countedIn(body)) })

const countedIn = ({ system = '', messages = [], tools = [] }: DemoBody) => [system, messages, tools]

/** The whole answer of OpenAI's responses. It is not kept. */
export function answerResponse(body: DemoBody): object {
  const { input = '', instructions = null, tools = [] } = body
  const turns = Array.isArray(input) ? input : [{ role: 'user', content: input }]
  const { text, calls, promptTokens, answerTokens } = replyTo(body, {
    said: lastSaid(turns),
    results: turnsAtEnd(turns, ({ type }) => type === 'function_call_output').map(({ output }) => output),
    offered: tools.filter(({ type }) => type === 'function'),
    counted: [instructions ?? '', input],
  })
  const part = { type: 'output_text', text, annotations: [], logprobs: [] }
  const message = {
    id: newId('msg'),
    type: 'message',
    status: 'completed',
    role: 'assistant',
    content: [part],
  }
  const called = calls.map(({ id, name, arguments: values }) => ({
    id: id.replace('call', 'fc'),
    type: 'function_call',
    status: 'completed',
    call_id: id,
    name,
    arguments: JSON.stringify(values),
  }))
  return {
    id: newId('resp'),
    object: 'response',
    created_at: nowSeconds(),
    status: 'completed',
    error: null,
    incomplete_details: null,
    instructions,
    metadata: {},
    model: body.model,
    output: text === null ? called : [message],
    parallel_tool_calls: body.parallel_tool_calls !== false,
    store: false,
    tool_choice: body.tool_choice ?? 'auto',
    tools,
    usage: {
      input_tokens: promptTokens,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: answerTokens,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: promptTokens + answerTokens,
    },
  }
}

/** The compacted form of a conversation: what the user said, and a summary that nobody can read. */
export function compactResponse(body: DemoBody): object {
  const { input = '', instructions = '' } = body
  const turns = Array.isArray(input) ? input : [{ role: 'user', content: input }]
  const input_tokens = countTokens([instructions, input])
  const encrypted_content = Buffer.from(`a summary of ${input_tokens} tokens`).toString('base64')
  return {
    id: newId('resp'),
    object: 'response.compaction',
    created_at: nowSeconds(),
    output: [
      ...turns.filter(({ role }) => role === 'user'),
      { id: newId('cmp'), type: 'compaction', encrypted_content },
    ],
    usage: {
      input_tokens,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 1,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: input_tokens + 1,
    },
  }
}

/** The tokens of a request to OpenAI's responses. */
export const countInput = ({ input = '', instructions = '', tools = [] }: DemoBody): object => ({
  object: 'response.input_tokens',
  input_tokens: countTokens([instructions, input, tools]),
})
