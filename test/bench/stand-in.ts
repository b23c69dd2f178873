// Stand-in upstream for load tests: answers at once, whole or as a stream, with as little work as
// possible.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const WHOLE = Buffer.from(
  JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'bench/model',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: 'The committee met and agreed to come back with a plan. '.repeat(6),
        },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: { prompt_tokens: 250, completion_tokens: 80, total_tokens: 330 },
  }),
)
const STREAM_EVENTS = 100
const piece = (choices: object[], more: object = {}) =>
  `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'bench/model', choices, ...more })}\n\n`
const STREAM = [
  ...Array.from({ length: STREAM_EVENTS }, (_, i) =>
    piece([{ index: 0, delta: { content: i % 7 === 0 ? 'and then ' : 'word ' }, finish_reason: null }]),
  ),
  piece([{ index: 0, delta: {}, finish_reason: 'stop' }]),
  piece([], { usage: { prompt_tokens: 250, completion_tokens: 100, total_tokens: 350 } }),
  'data: [DONE]\n\n',
]

const server = createServer((request, response) => {
  let streams = false
  request.on('data', (data: Buffer) => {
    streams ||= data.includes('"stream":true')
  })
  request.on('end', () => {
    if (!streams) {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': WHOLE.length })
      response.end(WHOLE)
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    // One event a turn of the event loop, as tokens arrive. Events written together arrive as one
    // piece.
    let sent = 0
    const next = () => {
      if (sent === STREAM.length) response.end()
      else {
        response.write(STREAM[sent++])
        setImmediate(next)
      }
    }
    next()
  })
})
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
process.on('disconnect', () => process.exit())
