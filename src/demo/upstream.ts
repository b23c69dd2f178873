// Fake provider for the demo. Serves chat completions on loopback and quotes the prompt that it
// received, which shows what left the gateway.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Pause between two chunks of a stream, slow enough to see. */
const CHUNK_PAUSE_MS = 25
const CHUNK_CHARACTERS = 5
const MAX_BODY_BYTES = 32 * 1024 * 1024

const MODELS = ['demo/echo', 'demo/echo-mini']

interface ChatBody {
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
  const text = quote(body)
  const usage = countUsage(body, text)
  const envelope = {
    id: `chatcmpl-${process.hrtime.bigint()}`,
    created: Math.floor(Date.now() / 1000),
    model: body.model,
  }
  if (body.stream === true) {
    await stream(response, envelope, text, body.stream_options?.include_usage === true ? usage : null)
    return
  }
  const message = { role: 'assistant', content: text, refusal: null }
  const choices = [{ index: 0, message, logprobs: null, finish_reason: 'stop' }]
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

function quote(body: ChatBody): string {
  const last = body.messages?.findLast(({ role }) => role === 'user')
  const content = typeof last?.content === 'string' ? last.content : JSON.stringify(last?.content ?? '')
  return `This is what reached me: «${content}». If it should go to a person, write to support@example.com.`
}

/** Estimates four characters per token, about what providers count for English. */
function countUsage(body: ChatBody, text: string) {
  const prompt = Math.ceil(JSON.stringify(body.messages ?? []).length / 4)
  const completion = Math.ceil(text.length / 4)
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
}

async function stream(
  response: ServerResponse,
  envelope: object,
  text: string,
  usage: object | null,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const send = (choices: object[], more: object = {}) =>
    response.write(
      `data: ${JSON.stringify({ ...envelope, object: 'chat.completion.chunk', choices, ...more })}\n\n`,
    )
  send([{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }])
  for (let at = 0; at < text.length && !response.destroyed; at += CHUNK_CHARACTERS) {
    send([{ index: 0, delta: { content: text.slice(at, at + CHUNK_CHARACTERS) }, finish_reason: null }])
    await new Promise((resolve) => setTimeout(resolve, CHUNK_PAUSE_MS))
  }
  send([{ index: 0, delta: {}, finish_reason: 'stop' }])
  if (usage !== null) send([], { usage })
  response.end('data: [DONE]\n\n')
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body)
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  })
  response.end(text)
}
