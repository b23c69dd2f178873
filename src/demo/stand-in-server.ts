// Fake provider for the demo. Serves the APIs of OpenAI and Anthropic on loopback and quotes the
// prompt that it received, which shows what left the gateway. Calls tools when asked to.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { APIS } from '../chat/apis.ts'
import type { JsonObject } from '../core/json.ts'
import type { DemoBody } from './demo-answer.ts'
import { streamEvents } from './demo-stream.ts'
import { answerEmbeddings, answerModeration } from './input-answers.ts'
import {
  answerChat,
  answerCompletion,
  answerMessages,
  answerResponse,
  compactResponse,
  countInput,
  countMessages,
} from './text-answers.ts'

/** Pause between two events of a stream, slow enough to see. */
const EVENT_PAUSE_MS = 25

const MODELS = ['demo/echo', 'demo/echo-mini'].map((id) => ({
  id,
  object: 'model',
  created: 1_700_000_000,
  owned_by: 'demo',
}))

const NOT_FOUND = {
  error: { message: 'Not found', type: 'invalid_request_error', param: null, code: null },
}

/** The whole answer of each API. A body that cannot be read ends the connection. */
const ANSWERS: Readonly<Record<string, (body: DemoBody) => object>> = {
  chat: answerChat,
  completions: answerCompletion,
  embeddings: answerEmbeddings,
  messages: answerMessages,
  count_tokens: countMessages,
  moderations: answerModeration,
  responses: answerResponse,
  compact: compactResponse,
  input_tokens: countInput,
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
  const { method } = request
  const url = request.url?.split('?', 1)[0]
  const api = APIS.find(({ target }) => url === `/v1${target}`)
  const write = api === undefined ? undefined : ANSWERS[api.name]
  if (method === 'GET' && url === '/v1/models') sendJson(response, 200, { object: 'list', data: MODELS })
  else if (method === 'POST' && api !== undefined && write !== undefined) {
    // The gateway bounds the body.
    const body = (await json(request)) as DemoBody
    const whole = write(body) as JsonObject
    const events = body.stream === true ? [...streamEvents(api, whole)] : []
    if (events.length > 0) await sendEvents(response, events)
    else sendJson(response, 200, whole)
  } else sendJson(response, 404, NOT_FOUND)
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
