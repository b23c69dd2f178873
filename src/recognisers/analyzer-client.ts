// Asks one recogniser about one text. Node's client, not undici's, which is the one for upstreams.
// It follows no redirect and no proxy, so a text goes to the configured host or nowhere.

import type { Agent, IncomingMessage, RequestOptions } from 'node:http'
import type { RecogniserConfig } from '../core/recogniser-config.ts'
import { readAnswer, requestBody } from './analyzer-api.ts'
import type { RecognisedValue } from './values.ts'

/** Largest answer for one text, bytes. */
const MAXIMUM_ANSWER_BYTES = 1024 * 1024
/** Maximum requests under way at a recogniser, of all calls. */
export const MAXIMUM_REQUESTS = 16

/** How a request may end; a label of a metric. */
export const REQUEST_RESULTS = ['ok', 'timeout', 'unreachable', 'status', 'invalid', 'overloaded'] as const
export type RequestResult = (typeof REQUEST_RESULTS)[number]

/** A request without findings. The message repeats nothing of the text. */
export class RecogniserError extends Error {
  readonly result: Exclude<RequestResult, 'ok'>

  constructor(result: Exclude<RequestResult, 'ok'>, message: string) {
    super(message)
    this.result = result
  }
}

export class AnalyzerClient {
  readonly #config: RecogniserConfig
  readonly #http: typeof import('node:http') | typeof import('node:https')
  readonly #agent: Agent

  constructor(config: RecogniserConfig) {
    this.#config = config
    // Loaded here: a gateway without recognisers starts without it.
    this.#http = process.getBuiltinModule(config.url.startsWith('https:') ? 'node:https' : 'node:http')
    this.#agent = new this.#http.Agent({ keepAlive: true, maxSockets: MAXIMUM_REQUESTS })
  }

  /**
   * Resolves with the values in a text.
   * @param end aborts the request
   * @throws RecogniserError (rejects)
   */
  async ask(text: string, end: AbortSignal): Promise<readonly RecognisedValue[]> {
    const { timeoutMs } = this.#config
    const limit = AbortSignal.timeout(timeoutMs)
    let answer: string
    try {
      answer = await this.#request(requestBody(text, this.#config), AbortSignal.any([limit, end]))
    } catch (error) {
      if (error instanceof RecogniserError) throw error
      if (limit.aborted) throw new RecogniserError('timeout', `it does not answer within ${timeoutMs} ms`)
      throw new RecogniserError('unreachable', 'it cannot be reached')
    }
    try {
      return readAnswer(answer, text, this.#config)
    } catch (error) {
      throw new RecogniserError('invalid', (error as Error).message)
    }
  }

  /** Closes idle connections. */
  close(): void {
    this.#agent.destroy()
  }

  async #request(body: string, signal: AbortSignal): Promise<string> {
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json',
      'accept-encoding': 'identity',
      'content-length': Buffer.byteLength(body),
    }
    const response = await this.#send({ method: 'POST', agent: this.#agent, headers, signal }, body)
    const { statusCode = 0 } = response
    if (statusCode !== 200) {
      response.destroy()
      throw new RecogniserError('status', `it answers ${statusCode}, not 200`)
    }
    return readText(response)
  }

  #send(options: RequestOptions, body: string): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const request = this.#http.request(this.#config.url, options, resolve)
      request.on('error', reject)
      request.end(body)
    })
  }
}

async function readText(response: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of response as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > MAXIMUM_ANSWER_BYTES) {
      response.destroy()
      throw new RecogniserError('invalid', `its answer is larger than ${MAXIMUM_ANSWER_BYTES} bytes`)
    }
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}
