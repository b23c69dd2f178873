// The floor: the fastest pass-through of node:http and undici, with buffered bodies. It checks
// nothing. Argument: base URL of the upstream.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Dispatcher, Pool } from 'undici'

const upstream = new Pool(process.argv[2] ?? '', { connections: 1024, pipelining: 1 })
const HEADERS = ['content-type', 'application/json']

const server = createServer((request, response) => {
  const pieces: Buffer[] = []
  request.on('data', (piece: Buffer) => pieces.push(piece))
  request.on('end', () => {
    const body = pieces.length === 1 ? (pieces[0] ?? null) : Buffer.concat(pieces)
    const answer: Buffer[] = []
    let streams = false
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart() {},
      onResponseStart(_controller, status, headers) {
        const type = String(headers['content-type'])
        streams = type.startsWith('text/event-stream')
        if (streams) response.writeHead(status, { 'content-type': type })
      },
      onResponseData(_controller, piece) {
        if (streams) response.write(piece)
        else answer.push(piece)
      },
      onResponseEnd() {
        if (streams) {
          response.end()
          return
        }
        const whole = answer.length === 1 ? (answer[0] ?? Buffer.alloc(0)) : Buffer.concat(answer)
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': whole.length })
        response.end(whole)
      },
      onResponseError() {
        response.destroy()
      },
    }
    upstream.dispatch({ method: 'POST', path: request.url ?? '/', headers: HEADERS, body }, handler)
  })
})
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
process.on('disconnect', () => process.exit())
