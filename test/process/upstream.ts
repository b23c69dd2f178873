// A provider that does exactly what a test tells it, over real sockets, and keeps what it received byte by byte.

import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Received {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** Resolves when the connection of this request is closed or its answer is complete. */
  readonly closed: Promise<void>
}

export type Answer = (response: ServerResponse, received: Received) => void | Promise<void>

export interface ScriptedUpstream {
  readonly baseUrl: string
  readonly received: Received[]
  /** Replaces what every following request is answered with. */
  answer: Answer
  /** Resolves with the next request that arrives. */
  next(): Promise<Received>
  close(): Promise<void>
}

export const USAGE = { prompt_tokens: 9, completion_tokens: 12, total_tokens: 21 }

export async function startUpstream(answer: Answer = json(completion('Hello.'))): Promise<ScriptedUpstream> {
  const waiting: ((received: Received) => void)[] = []
  const received: Received[] = []
  const server = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('error', () => response.destroy())
    request.on('end', () => {
      const one: Received = {
        method: request.method ?? '',
        url: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(pieces).toString('utf8'),
        closed: new Promise((resolve) => response.once('close', () => resolve())),
      }
      received.push(one)
      for (const resolve of waiting.splice(0)) resolve(one)
      Promise.resolve(upstream.answer(response, one)).catch(() => response.destroy())
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const upstream: ScriptedUpstream = {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    received,
    answer,
    next: () => new Promise((resolve) => waiting.push(resolve)),
    close() {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
  return upstream
}

/** A whole answer. */
export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Answer {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(text)
  }
}

/** A chat completion with the given texts, one a choice. */
export const completion = (...texts: string[]) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_700_000_000,
  model: 'test/model',
  choices: texts.map((content, index) => ({
    index,
    message: { role: 'assistant', content, refusal: null },
    logprobs: null,
    finish_reason: 'stop',
  })),
  usage: USAGE,
})

export const chunk = (choices: object[], more: object = {}) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1_700_000_000,
  model: 'test/model',
  choices,
  ...more,
})

export const delta = (content: string, index = 0) =>
  chunk([{ index, delta: { content }, logprobs: null, finish_reason: null }])

export const finish = (index = 0, reason = 'stop') =>
  chunk([{ index, delta: {}, logprobs: null, finish_reason: reason }])

export const event = (body: object | string): string =>
  `data: ${typeof body === 'string' ? body : JSON.stringify(body)}\n\n`

/** The events of a stream that says `pieces`, usage event included when asked for. */
export function streamOf(pieces: readonly string[], includeUsage: boolean): string[] {
  return [
    event(
      chunk([{ index: 0, delta: { role: 'assistant', content: '' }, logprobs: null, finish_reason: null }]),
    ),
    ...pieces.map((piece) => event(delta(piece))),
    event(finish()),
    ...(includeUsage ? [event(chunk([], { usage: USAGE }))] : []),
    event('[DONE]'),
  ]
}

/** Streams `pieces` of text, one write an event. */
export function stream(pieces: readonly string[]): Answer {
  return (response, received) => {
    const { stream_options } = JSON.parse(received.body) as { stream_options?: { include_usage?: boolean } }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const text of streamOf(pieces, stream_options?.include_usage === true)) response.write(text)
    response.end()
  }
}
