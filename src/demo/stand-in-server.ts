// Fake provider for the demo. Serves the APIs of OpenAI and Anthropic on loopback and quotes the
// prompt that it received, which shows what left the gateway. Calls tools when asked to.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { APIS } from '../chat/apis.ts'
import type { Milliseconds } from '../core/clock.ts'
import type { JsonObject } from '../core/json.ts'
import type { DemoBody } from './demo-answer.ts'
import { streamEvents } from './demo-stream.ts'
import { answerEmbeddings, answerModeration } from './input-answers.ts'
import { type AppCall, PAST_MODELS } from './past-apps.ts'
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
/** Turns of the event loop after the head of a stream of the past; the gateway reads it in them. */
const PAST_PAUSE_TURNS = 4

const MODELS = ['demo/echo', 'demo/echo-mini', ...Object.keys(PAST_MODELS)].map((id) => ({
  id,
  object: 'model',
  created: 1_700_000_000,
  owned_by: 'demo',
}))

/** Events at the head of a stream, the first text among them in every API. */
const FIRST_EVENTS = 6

const FAILED = {
  error: { message: 'The model is overloaded', type: 'server_error', param: null, code: 'overloaded' },
}

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
  /** Answers the next requests as this call of the past says; null answers them as they come. */
  act(call: AppCall | null): void
  close(): Promise<void>
}

/**
 * Starts the server on a free loopback port.
 * @param leap lets the time of a call of the past pass
 */
export function startStandIn(leap: (ms: Milliseconds) => void = () => {}): Promise<StandIn> {
  let part: AppCall | null = null
  const server = createServer((request, response) => {
    answer(request, response, part, leap).catch(() => response.destroy())
  })
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      resolve({
        baseUrl: `http://127.0.0.1:${port}/v1`,
        act: (call) => {
          part = call
        },
        close: () => close(server),
      })
    })
  })
}

function close(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(() => resolve()))
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  part: AppCall | null,
  leap: (ms: Milliseconds) => void,
): Promise<void> {
  const { method } = request
  const url = request.url?.split('?', 1)[0]
  const api = APIS.find(({ target }) => url === `/v1${target}`)
  const write = api === undefined ? undefined : ANSWERS[api.name]
  if (method === 'GET' && url === '/v1/models') sendJson(response, 200, { object: 'list', data: MODELS })
  else if (method === 'POST' && api !== undefined && write !== undefined) {
    // The gateway bounds the body.
    const body = { ...((await json(request)) as DemoBody), part }
    const whole = write(body) as JsonObject
    const events = body.stream === true ? [...streamEvents(api, whole)] : []
    if (part !== null) await playPart(response, part, { whole, events, leap })
    else if (events.length > 0) await sendEvents(response, events)
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

interface Play {
  readonly whole: object
  /** Empty without a stream. */
  readonly events: readonly string[]
  readonly leap: (ms: Milliseconds) => void
}

/** Answers as a call of the past says, and lets its time pass at once. */
async function playPart(
  response: ServerResponse,
  part: AppCall,
  { whole, events, leap }: Play,
): Promise<void> {
  const { status = 200, takesMs } = part
  const [firstMs, lastMs] = takesMs
  if (status !== 200 || events.length === 0) {
    leap(lastMs)
    sendJson(response, status, status === 200 ? whole : FAILED)
    return
  }
  leap(firstMs)
  const head = events.slice(0, FIRST_EVENTS)
  response.writeHead(200, { 'content-type': 'text/event-stream' }).write(head.join(''))
  for (let turn = 0; turn < PAST_PAUSE_TURNS; turn++) await nextTurn()
  leap(lastMs - firstMs)
  response.end(events.slice(FIRST_EVENTS).join(''))
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body)
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  })
  response.end(text)
}
