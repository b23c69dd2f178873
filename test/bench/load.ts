// A load generator for loopback: keep-alive connections that each send the next request when an answer is complete.
// Written on plain sockets so that it costs less than what it measures. Bounded in time, ends by itself.

import { connect } from 'node:net'

export interface Load {
  readonly port: number
  readonly connections: number
  readonly durationMs: number
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface Measured {
  readonly requests: number
  readonly errors: number
  readonly perSecond: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
}

const END_OF_HEAD = Buffer.from('\r\n\r\n')
const END_OF_CHUNKS = Buffer.from('0\r\n\r\n')

/** Runs the load and resolves when every connection is done. */
export async function run(load: Load): Promise<Measured> {
  const head = Object.entries({ host: '127.0.0.1', 'content-type': 'application/json', ...load.headers })
  const request = Buffer.from(
    `POST ${load.path} HTTP/1.1\r\n${head.map(([name, value]) => `${name}: ${value}\r\n`).join('')}content-length: ${Buffer.byteLength(load.body)}\r\n\r\n${load.body}`,
  )
  const latencies: number[] = []
  let errors = 0
  const startMs = performance.now()
  const endMs = startMs + load.durationMs
  const connection = () =>
    new Promise<void>((resolve) => {
      const socket = connect(load.port, '127.0.0.1')
      socket.setNoDelay(true)
      let received = Buffer.alloc(0)
      let sentMs = 0
      const send = () => {
        sentMs = performance.now()
        if (sentMs >= endMs) socket.destroy()
        else socket.write(request)
      }
      socket.on('connect', send)
      socket.on('data', (piece) => {
        received = received.length === 0 ? piece : Buffer.concat([received, piece])
        if (!isComplete(received)) return
        latencies.push(performance.now() - sentMs)
        if (received.toString('latin1', 9, 12) !== '200') errors++
        received = Buffer.alloc(0)
        send()
      })
      socket.on('error', () => errors++)
      socket.on('close', () => resolve())
    })
  await Promise.all(Array.from({ length: load.connections }, connection))
  latencies.sort((a, b) => a - b)
  const at = (share: number) =>
    latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? Number.NaN
  const seconds = (performance.now() - startMs) / 1000
  return {
    requests: latencies.length,
    errors,
    perSecond: latencies.length / seconds,
    p50: at(0.5),
    p99: at(0.99),
  }
}

function isComplete(received: Buffer): boolean {
  const end = received.indexOf(END_OF_HEAD)
  if (end < 0) return false
  const head = received.toString('latin1', 0, end).toLowerCase()
  const length = /content-length: (\d+)/.exec(head)?.[1]
  if (length !== undefined) return received.length >= end + 4 + Number(length)
  return received.subarray(-END_OF_CHUNKS.length).equals(END_OF_CHUNKS)
}
