// The floor with the parts of a governed call and nothing around them: no queue, limits, streams or
// error handling. Shows what a gateway costs at least with this Node, database and detectors.
// Arguments: base URL of the upstream, a folder, the number of PRIMITIVES to run.

import { isUtf8 } from 'node:buffer'
import { hash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Dispatcher, Pool } from 'undici'
import { loadInjectionModel } from '../../src/detect/injection/score.ts'
import { detect } from '../../src/detect/pii/detect.ts'
import { keywordMatcher } from '../../src/keyword/matcher.ts'
import { KeywordIndex, type ParsedPattern, parseKeywords } from '../../src/keyword/pattern-index.ts'
import { KEYWORDS } from './bench-rules.ts'
import { openLog, openTelemetry } from './primitive-parts.ts'
import { PRIMITIVE_KEY, PRIMITIVES } from './targets.ts'

const BEARER = /^bearer +([^\s]+)$/i
const HEADERS = ['content-type', 'application/json']
const SALT_BYTES = 32

function serve(origin: string, folder: string, steps: number): void {
  const [withKey, withJson, withSearches, withScore, withEntry, withDatabase, withTelemetry] = PRIMITIVES.map(
    (_, index) => index < steps,
  )
  const upstream = new Pool(origin, { connections: 1024, pipelining: 1 })
  const log = openLog(folder)
  void log.keys.put(Buffer.from(hash('sha256', PRIMITIVE_KEY), 'hex'), Buffer.from('{"name":"bench"}'))
  const record = openTelemetry()
  const model = loadInjectionModel()
  const index = new KeywordIndex([parseKeywords(KEYWORDS) as ParsedPattern])
  const keywords = keywordMatcher(index, { active: [true], holding: [true] })!
  let calls = 0

  const search = (text: string): number => detect(text).length + keywords.match(text).length

  function read(body: Buffer): { sent: Buffer; found: number } {
    if (!withJson) return { sent: body, found: 0 }
    if (!isUtf8(body)) throw new Error('the prompt is not UTF-8')
    const request = JSON.parse(body.toString())
    const text: string = request.messages[0].content
    let found = withSearches ? search(text) : 0
    if (withScore) found += model.score(text, 'whole').score
    return { sent: Buffer.from(JSON.stringify(request)), found }
  }

  function answer(response: ServerResponse, sent: Buffer, whole: Buffer, found: number): void {
    const parsed = withJson ? JSON.parse(whole.toString()) : null
    const more = withSearches ? search(parsed.choices[0].message.content) : 0
    const finish = (receipt: string) => {
      if (withTelemetry) record()
      const headers = { 'content-type': 'application/json', 'content-length': whole.length }
      const timing = { 'server-timing': `inspect;dur=${found + more}`, 'x-request-id': '-' }
      response.writeHead(200, withEntry ? { ...headers, ...timing, 'x-sidegate-audit': receipt } : headers)
      response.end(whole.toString('latin1'), 'latin1')
    }
    if (!withEntry) {
      finish('')
      return
    }
    const salted = Buffer.concat([Buffer.alloc(SALT_BYTES), sent, whole])
    const entry = entryOf(++calls, hash('sha256', salted), found)
    if (withDatabase) log.append({ entry, salted, finish })
    else finish(hash('sha256', JSON.stringify(entry)))
  }

  function forward(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
    const { sent, found } = read(body)
    const pieces: Buffer[] = []
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart() {},
      onResponseStart() {},
      onResponseData: (_controller, piece) => void pieces.push(piece),
      onResponseEnd: () => answer(response, sent, Buffer.concat(pieces), found),
      onResponseError: () => void response.destroy(),
    }
    upstream.dispatch({ method: 'POST', path: request.url ?? '/', headers: HEADERS, body: sent }, handler)
  }

  const server = createServer((request, response) => {
    if (withKey && !log.isKnown(BEARER.exec(request.headers.authorization ?? '')?.[1] ?? '')) {
      response.writeHead(401).end()
      return
    }
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => forward(request, response, Buffer.concat(pieces)))
  })
  server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
  process.on('disconnect', () => process.exit())
}

/** An entry with as many members as a real one. */
const entryOf = (call: number, content: string, score: number) => ({
  blocked: false,
  completion_tokens: 80,
  content_hash: content,
  cost: null,
  created_at: new Date().toISOString(),
  error_code: null,
  finish_reason: 'stop',
  id: `01900000-0000-7000-8000-${String(call).padStart(12, '0')}`,
  injection: { model: '-', path: 'messages[0].content', reasons: [], score: Math.round(score * 1000) },
  key_id: '-',
  key_name: 'bench',
  latency_ms: 3,
  log: '-',
  model: 'bench/model',
  outcome: 'ok',
  overhead_ms: 1,
  pii: [],
  pii_detected: false,
  pii_types: [],
  policy_revision: '-',
  prev: '',
  prompt_tokens: 250,
  rules: [],
  seq: 0,
  status: 200,
  stream: false,
  total_tokens: 330,
  ttft_ms: null,
  type: 'request',
  v: 1,
})

const [, , origin = '', folder = '', steps = ''] = process.argv
serve(origin, folder, Number(steps))
