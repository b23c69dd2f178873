// A stand-in for the Presidio analyzer. It takes and answers what the source of the analyzer's server
// (presidio-analyzer/app.py) takes and answers, and knows a few names.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import type { RecogniserConfig } from '../../src/core/recogniser-config.ts'
import { Recognisers } from '../../src/recognisers/recognisers.ts'

/** What the stand-in finds. */
const NAMES: Readonly<Record<string, string>> = {
  'Maria Keller': 'PERSON',
  'Ada Lovelace': 'PERSON',
  Bob: 'PERSON',
  'São Paulo': 'LOCATION',
  Berlin: 'LOCATION',
  '2026-01-02': 'DATE_TIME',
}

/** A request as the stand-in got it. */
interface AnalyzeRequest {
  readonly text: string
  readonly language: string
  readonly entities: readonly string[]
  readonly score_threshold: number
}

/** Answers in place of the analyzer. */
export type OtherAnswer = (response: ServerResponse, request: AnalyzeRequest) => void

export class AnalyzerStandIn {
  /** In order of arrival. */
  readonly requests: AnalyzeRequest[] = []
  /** Set to answer otherwise. */
  other: OtherAnswer | null = null
  /** Most requests that were under way together. */
  mostTogether = 0
  #together = 0
  readonly #server = createServer((request, response) => void this.#take(request, response))

  static async start(): Promise<AnalyzerStandIn> {
    const standIn = new AnalyzerStandIn()
    await new Promise<void>((resolve) => standIn.#server.listen(0, '127.0.0.1', resolve))
    return standIn
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/analyze`
  }

  /** Texts of the requests. */
  get texts(): readonly string[] {
    return this.requests.map(({ text }) => text)
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.mostTogether = Math.max(this.mostTogether, ++this.#together)
    response.on('close', () => this.#together--)
    let body = ''
    for await (const piece of request) body += String(piece)
    if (request.method !== 'POST' || request.url !== '/analyze') return answer(response, 404, { error: '' })
    if (request.headers['content-type'] !== 'application/json')
      return answer(response, 415, { error: 'Did not attempt to load JSON data' })
    const asked = JSON.parse(body) as AnalyzeRequest
    this.requests.push(asked)
    if (this.other !== null) return this.other(response, asked)
    if (asked.text === '') return answer(response, 500, { error: 'No text provided' })
    if (asked.language !== 'en') return answer(response, 500, { error: 'No matching recognizers were found' })
    answer(response, 200, findNames(asked))
  }
}

export function answer(response: ServerResponse, status: number, body: unknown): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  response.writeHead(status, { 'content-type': 'application/json' }).end(text)
}

/** Findings with the members of the analyzer, offsets in code points. */
export function findNames({ text, entities }: Pick<AnalyzeRequest, 'text' | 'entities'>) {
  const points = (units: number) => [...text.slice(0, units)].length
  return Object.entries(NAMES).flatMap(([name, type]) =>
    entities.includes(type)
      ? [...text.matchAll(new RegExp(`\\b${name}\\b`, 'gu'))].map(({ index }) => ({
          analysis_explanation: null,
          end: points(index + name.length),
          entity_type: type,
          score: 0.85,
          start: points(index),
        }))
      : [],
  )
}

/** A recogniser of the configuration. */
export const recogniser = (url: string, more: Partial<RecogniserConfig> = {}): RecogniserConfig => ({
  ...{ name: 'presidio', url, kinds: ['person', 'location'], language: 'en', minScore: 0.5 },
  ...{ timeoutMs: 2000, onError: 'block', streams: 'sentences' },
  ...more,
})

/** Starts a stand-in and the recognisers that ask it, one for each configuration. */
export async function startRecognisers(t: Test, ...more: Partial<RecogniserConfig>[]) {
  const standIn = await AnalyzerStandIn.start()
  const counts: string[] = []
  const configs = (more.length === 0 ? [{}] : more).map((one) => recogniser(standIn.url, one))
  const clock = { ms: 0, monotonic: () => clock.ms }
  const recognisers = new Recognisers(configs, clock, (name, result) => counts.push(`${name} ${result}`))
  t.teardown(() => {
    recognisers.close()
    standIn.close()
  })
  return { standIn, counts, recognisers, clock }
}
