// Stand-in upstream for load tests: answers at once, whole or as a stream, with as little work as
// possible.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { STAND_IN_ANSWERS, TOOL_CALL_ANSWER } from './stand-in-answers.ts'

const server = createServer((request, response) => {
  const { url = '' } = request
  let answer = STAND_IN_ANSWERS[url.slice(url.lastIndexOf('/') + 1)]
  let streams = false
  request.on('data', (data: Buffer) => {
    streams ||= data.includes('"stream":true')
    if (data.includes('"tools":[')) answer = TOOL_CALL_ANSWER
  })
  request.on('end', () => {
    if (answer === undefined) {
      response.writeHead(404).end()
      return
    }
    const { whole, events } = answer
    if (!streams) {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': whole.length })
      response.end(whole)
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    // One event a turn of the event loop, as tokens arrive. Events written together arrive as one
    // piece.
    let sent = 0
    const next = () => {
      if (sent === events.length) response.end()
      else {
        response.write(events[sent++])
        setImmediate(next)
      }
    }
    next()
  })
})
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
process.on('disconnect', () => process.exit())
