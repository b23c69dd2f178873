// Fake provider for the demo. Serves chat completions on loopback and quotes the prompt that it
// received, which shows what left the gateway. Calls tools when the request asks for it.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { chooseToolCalls, type DemoToolCall, type ToolRequest } from './tool-calls.ts'

/** Pause between two chunks of a stream, slow enough to see. */
const CHUNK_PAUSE_MS = 25
const CHUNK_CHARACTERS = 5
const MAX_BODY_BYTES = 32 * 1024 * 1024

const MODELS = ['demo/echo', 'demo/echo-mini']

interface ChatBody extends ToolRequest {
  readonly model?: string
  readonly stream?: boolean
  readonly stream_options?: { readonly include_usage?: boolean }
  readonly messages?: readonly { readonly role?: string; readonly content?: unknown }[]
}

export interface StandIn {
  readonly baseUrl: string
  close(): Promise<void>
}

/** Starts the server on a free loopback port. */
export function startStandIn(): Promise<StandIn> {
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      resolve({ baseUrl: `http://127.0.0.1:${port}/v1`, close: () => close(server) })
    })
  })
}

function close(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(() => resolve()))
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method === 'GET' && request.url === '/v1/models') {
    const data = MODELS.map((id) => ({ id, object: 'model', created: 1_700_000_000, owned_by: 'demo' }))
    sendJson(response, 200, { object: 'list', data })
    return
  }
  if (request.method !== 'POST' || request.url !== '/v1/chat/completions') {
    sendJson(response, 404, {
      error: { message: 'Not found', type: 'invalid_request_error', param: null, code: null },
    })
    return
  }
  const body = JSON.parse(await readBody(request)) as ChatBody
  const reply = replyTo(body)
  const usage = countUsage(body, reply)
  const envelope = {
    id: `chatcmpl-${process.hrtime.bigint()}`,
    created: Math.floor(Date.now() / 1000),
    model: body.model,
  }
  if (body.stream === true) {
    await stream(response, envelope, reply, body.stream_options?.include_usage === true ? usage : null)
    return
  }
  const message = {
    role: 'assistant',
    content: reply.text,
    refusal: null,
    ...(reply.calls.length === 0 ? {} : { tool_calls: reply.calls }),
  }
  const choices = [{ index: 0, message, logprobs: null, finish_reason: finishOf(reply) }]
  sendJson(response, 200, { ...envelope, object: 'chat.completion', choices, usage })
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_BODY_BYTES) throw new Error('body too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** A text, or calls of tools without one. */
interface Reply {
  readonly text: string | null
  readonly calls: readonly DemoToolCall[]
}

const finishOf = ({ calls }: Reply): string => (calls.length > 0 ? 'tool_calls' : 'stop')

/** Quotes the results of tools if the call ends in some, so that a client's loop ends. */
function replyTo(body: ChatBody): Reply {
  const messages = body.messages ?? []
  const results = messages.slice(messages.findLastIndex(({ role }) => role !== 'tool') + 1)
  if (results.length > 0) {
    const quoted = results.map(({ content }) => `«${textOf(content)}»`).join(', ')
    return { text: `This is what the tools gave me: ${quoted}.`, calls: [] }
  }
  const prompt = textOf(messages.findLast(({ role }) => role === 'user')?.content)
  const calls = chooseToolCalls(body, prompt)
  if (calls.length > 0) return { text: null, calls }
  const text = `This is what reached me: «${prompt}». If it should go to a person, write to support@example.com.`
  return { text, calls: [] }
}

const textOf = (content: unknown): string =>
  typeof content === 'string' ? content : JSON.stringify(content ?? '')

/** Estimates four characters per token, about what providers count for English. */
function countUsage(body: ChatBody, { text, calls }: Reply) {
  const prompt = Math.ceil(JSON.stringify(body.messages ?? []).length / 4)
  const completion = Math.ceil((text ?? JSON.stringify(calls)).length / 4)
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
}

async function stream(
  response: ServerResponse,
  envelope: object,
  reply: Reply,
  usage: object | null,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const send = (choices: object[], more: object = {}) =>
    response.write(
      `data: ${JSON.stringify({ ...envelope, object: 'chat.completion.chunk', choices, ...more })}\n\n`,
    )
  const content = reply.text === null ? null : ''
  send([{ index: 0, delta: { role: 'assistant', content }, finish_reason: null }])
  for (const delta of deltasOf(reply)) {
    if (response.destroyed) return
    send([{ index: 0, delta, finish_reason: null }])
    await new Promise((resolve) => setTimeout(resolve, CHUNK_PAUSE_MS))
  }
  send([{ index: 0, delta: {}, finish_reason: finishOf(reply) }])
  if (usage !== null) send([], { usage })
  response.end('data: [DONE]\n\n')
}

/** The text in pieces, or each call with its arguments in pieces. */
function* deltasOf({ text, calls }: Reply): Generator<object> {
  for (const piece of piecesOf(text ?? '')) yield { content: piece }
  for (const [index, { function: called, ...call }] of calls.entries()) {
    yield { tool_calls: [{ index, ...call, function: { name: called.name, arguments: '' } }] }
    for (const piece of piecesOf(called.arguments))
      yield { tool_calls: [{ index, function: { arguments: piece } }] }
  }
}

function* piecesOf(text: string): Generator<string> {
  for (let at = 0; at < text.length; at += CHUNK_CHARACTERS) yield text.slice(at, at + CHUNK_CHARACTERS)
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body)
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  })
  response.end(text)
}
