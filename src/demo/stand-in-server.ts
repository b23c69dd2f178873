// Fake provider for the demo. Serves the APIs of OpenAI and Anthropic on loopback and quotes the
// prompt that it received, which shows what left the gateway. Calls tools when asked to.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { answerChat } from './chat-answers.ts'
import type { DemoAnswer } from './demo-answer.ts'
import { answerCompletion, answerEmbeddings, answerModeration } from './input-answers.ts'
import { answerMessages, countMessages } from './message-answers.ts'
import { answerResponse } from './response-answers.ts'

/** Pause between two events of a stream, slow enough to see. */
const EVENT_PAUSE_MS = 25
const MAXIMUM_BODY_BYTES = 32 * 1024 * 1024

const MODELS = ['demo/echo', 'demo/echo-mini'].map((id) => ({
  id,
  object: 'model',
  created: 1_700_000_000,
  owned_by: 'demo',
}))

/** The answer of each endpoint. A body that it cannot read ends the connection. */
const ENDPOINTS: ReadonlyMap<string, (body: object) => DemoAnswer> = new Map<
  string,
  (body: object) => DemoAnswer
>([
  ['/v1/chat/completions', answerChat],
  ['/v1/completions', answerCompletion],
  ['/v1/embeddings', answerEmbeddings],
  ['/v1/messages', answerMessages],
  ['/v1/messages/count_tokens', countMessages],
  ['/v1/moderations', answerModeration],
  ['/v1/responses', answerResponse],
])

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
  const { method, url = '' } = request
  if (method === 'GET' && url === '/v1/models') {
    sendJson(response, 200, { object: 'list', data: MODELS })
    return
  }
  const endpoint = method === 'POST' ? ENDPOINTS.get(url) : undefined
  if (endpoint === undefined) {
    sendJson(response, 404, {
      error: { message: 'Not found', type: 'invalid_request_error', param: null, code: null },
    })
    return
  }
  const body = JSON.parse(await readBody(request)) as { readonly stream?: boolean }
  const { whole, events } = endpoint(body)
  if (body.stream === true && events.length > 0) await sendEvents(response, events)
  else sendJson(response, 200, whole)
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAXIMUM_BODY_BYTES) throw new Error('body too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

async function sendEvents(response: ServerResponse, events: readonly string[]): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const event of events) {
    if (response.destroyed) return
    response.write(event)
    await new Promise((resolve) => setTimeout(resolve, EVENT_PAUSE_MS))
  }
  response.end()
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body)
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  })
  response.end(text)
}
