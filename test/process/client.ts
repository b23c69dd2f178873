// Clients of a gateway: the official SDK, HTTP with any header, and raw sockets.

import { type Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import OpenAI from 'openai'
import type { TestGateway } from './gateway.ts'
import { fetchInTime, inTime } from './until.ts'

/** The SDK without retries. */
export const openAi = (gateway: TestGateway, apiKey: string): OpenAI =>
  new OpenAI({ apiKey, baseURL: `${gateway.url}/v1`, maxRetries: 0, fetch: fetchInTime })

interface ContentChunk {
  readonly choices: readonly { readonly delta: { readonly content?: string | null } }[]
}

/** Reads a stream to its end; returns the text of its first choice, and the error that ended it. */
export async function readText(
  answer: AsyncIterable<ContentChunk>,
): Promise<{ text: string; error: unknown }> {
  let text = ''
  try {
    for await (const { choices } of answer) text += choices[0]?.delta.content ?? ''
    return { text, error: null }
  } catch (error) {
    return { text, error }
  }
}

/** Sends a request with headers that `fetch` does not allow, such as Host. */
export function rawRequest(
  method: string,
  url: string,
  headers: Record<string, string>,
  agent?: Agent,
): Promise<{ status: number; body: string }> {
  const answered = new Promise<{ status: number; body: string }>((resolve, reject) => {
    request(url, { method, headers, ...(agent === undefined ? {} : { agent }) }, (response) => {
      let body = ''
      response.on('data', (data) => {
        body += data
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }))
    })
      .on('error', reject)
      .end()
  })
  return inTime(`the answer of ${url}`, answered)
}

/** Opens a connection; the test sees an error of it as its end. */
export const openSocket = (gateway: TestGateway): Socket =>
  connect(Number(new URL(gateway.url).port), '127.0.0.1').on('error', () => {})

/** The lines of a call's head that come before its `content-length`. */
export const headOf = (key: string): string =>
  `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\n` +
  'content-type: application/json\r\n'

/** Sends a call and reads nothing. @param sent runs when the kernel has taken all of it */
export function callOnSocket(gateway: TestGateway, key: string, body: object, sent?: () => void): Socket {
  const payload = JSON.stringify(body)
  const socket = openSocket(gateway)
  const head = `${headOf(key)}content-length: ${Buffer.byteLength(payload)}\r\n\r\n`
  socket.write(head + payload, sent)
  return socket.pause()
}

/**
 * Reads until the gateway closes the connection, or closes it after the first text that is enough.
 * @returns all bytes as Latin-1
 */
export function readSocket(
  socket: Socket,
  isEnough: (text: string) => boolean = () => false,
): Promise<string> {
  let text = ''
  const closed = new Promise<string>((resolve) => socket.once('close', () => resolve(text)))
  socket.on('data', (data: Buffer) => {
    text += data.toString('latin1')
    if (isEnough(text)) socket.destroy()
  })
  socket.resume()
  return inTime('the connection closes', closed)
}
