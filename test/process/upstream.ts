// A provider that a test scripts: listens on real sockets and keeps each request as received.

import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { inTime, until } from './until.ts'

export interface Received {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** Its connection: a function, so that tests can print the rest. */
  readonly socket: () => Socket
  readonly body: string
  /** The body as received. */
  readonly bytes: Buffer
  /** Resolves when the connection closes or the answer is complete. */
  readonly closed: Promise<void>
}

export type Answer = (response: ServerResponse, received: Received) => void | Promise<void>

export interface ScriptedUpstream {
  readonly baseUrl: string
  readonly received: Received[]
  /** Answers the requests that follow. */
  answer: Answer
  /** Resolves with the next request that arrives; rejects after the deadline. */
  next(): Promise<Received>
  /** Resolves once this many requests have arrived since the start; rejects after the deadline. */
  reached(count: number): Promise<void>
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
        socket: () => request.socket,
        body: Buffer.concat(pieces).toString('utf8'),
        bytes: Buffer.concat(pieces),
        closed: new Promise((resolve) => response.once('close', () => resolve())),
      }
      received.push(one)
      for (const resolve of waiting.splice(0)) resolve(one)
      Promise.resolve(upstream.answer(response, one)).catch(() => response.destroy())
    })
  })
  const listening = new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  await inTime('the upstream listens', listening)
  const { port } = server.address() as AddressInfo
  const upstream: ScriptedUpstream = {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    received,
    answer,
    next: () => inTime('a request reaches the upstream', new Promise((resolve) => waiting.push(resolve))),
    reached: (count) => until(`${count} requests reach the upstream`, () => received.length >= count),
    close() {
      server.closeAllConnections()
      return inTime('the upstream closes', new Promise((resolve) => server.close(() => resolve())))
    },
  }
  return upstream
}

/** Sends nothing. */
export const silent: Answer = () => {}

/** A whole answer. */
export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Answer {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(text)
  }
}

/** A chat completion with one choice for each text. */
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

/** First chunk of a choice. */
export const opening = (content: string, index = 0) =>
  chunk([{ index, delta: { role: 'assistant', content }, logprobs: null, finish_reason: null }])

/** The events of a stream with these pieces of text, and its usage if requested. */
export function streamOf(pieces: readonly string[], includeUsage: boolean): string[] {
  return [
    event(opening('')),
    ...pieces.map((piece) => event(delta(piece))),
    event(finish()),
    ...(includeUsage ? [event(chunk([], { usage: USAGE }))] : []),
    event('[DONE]'),
  ]
}

/** Streams pieces of text, one write for each event. */
export function stream(pieces: readonly string[]): Answer {
  return (response, received) => {
    const { stream_options } = JSON.parse(received.body) as { stream_options?: { include_usage?: boolean } }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const text of streamOf(pieces, stream_options?.include_usage === true)) response.write(text)
    response.end()
  }
}

/** Streams these events and nothing else. */
export const events =
  (...bodies: (object | string)[]): Answer =>
  (response) => {
    unfinished(...bodies)(response)
    response.end()
  }

/** Streams these events and leaves the stream open. */
export const unfinished =
  (...bodies: (object | string)[]) =>
  (response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const body of bodies) response.write(event(body))
  }

/** Text of a stream of `heldStream`. */
export const HELD_TEXT = 'word by word to the end'

/** Streams that send their first words and, after `finish()`, the rest of HELD_TEXT. */
export function heldStream() {
  const held: (() => void)[] = []
  const answer: Answer = (response) => {
    unfinished(opening('word '), delta('by word '))(response)
    held.push(() => response.end(event(delta('to the end')) + event(finish()) + event('[DONE]')))
  }
  return {
    answer,
    finish: () => {
      for (const end of held.splice(0)) end()
    },
  }
}

/** Answers that are sent when `release()` runs. */
export function heldAnswer(body: unknown = completion('late')) {
  const held: (() => void)[] = []
  const answer: Answer = (response, received) => {
    held.push(() => void json(body)(response, received))
  }
  return {
    answer,
    release: () => {
      for (const send of held.splice(0)) send()
    },
  }
}

/** Resolves when the response takes more bytes or is closed. */
export const drained = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const settle = () => {
      response.off('drain', settle).off('close', settle)
      resolve()
    }
    response.on('drain', settle).on('close', settle)
  })
