// Reads a stream of server-sent events over a real socket, as fast or as slowly as a test wants.

import { connect } from 'node:net'
import { until } from './until.ts'

export interface ReadEvent {
  readonly id: string
  readonly event: string
  readonly data: any
}

export interface EventReader {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Events so far; comments and events without data are left out. */
  readonly events: readonly ReadEvent[]
  /** Whether the answer came to its end. */
  isComplete(): boolean
  /** Stops and continues to read from the socket. */
  pause(): void
  resume(): void
  /** Waits until there are this many events. */
  reached(count: number): Promise<void>
  /** Waits until the connection or the answer has ended. */
  ended(): Promise<void>
  close(): void
}

/** Sends a GET request and reads the chunked answer until `close`. */
export async function readEvents(
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<EventReader> {
  const { host, hostname, port, pathname, search } = new URL(url)
  const socket = connect(Number(port), hostname)
  const lines = Object.entries({ host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`GET ${pathname}${search} HTTP/1.1\r\n${lines.join('')}\r\n`)
  const body = new ChunkedEvents()
  let head: string | null = null
  let isClosed = false
  let early = Buffer.alloc(0)
  socket.on('data', (piece: Buffer) => {
    if (head !== null) return body.push(piece)
    early = Buffer.concat([early, piece])
    const headEnd = early.indexOf('\r\n\r\n')
    if (headEnd < 0) return
    head = early.subarray(0, headEnd).toString()
    body.push(early.subarray(headEnd + 4))
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    isClosed = true
  })
  await until('the head of the answer', () => head !== null || isClosed)
  const [first = '', ...rest] = (head ?? '').split('\r\n')
  const named = rest.map((line) => line.split(': ', 2) as [string, string])
  return {
    status: Number(first.split(' ')[1]),
    headers: Object.fromEntries(named.map(([name, value]) => [name.toLowerCase(), value])),
    events: body.events,
    isComplete: () => body.isComplete,
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    reached: (count) => until(`${count} events`, () => body.events.length >= count),
    ended: () => until('the end of the stream', () => body.isComplete || isClosed),
    close: () => void socket.destroy(),
  }
}

/** Reads the events of a chunked body (RFC 9112 §7.1) as it arrives. */
class ChunkedEvents {
  readonly events: ReadEvent[] = []
  isComplete = false
  #pieces: Buffer[] = []
  #bytes = 0
  /** Bytes with which something more can be read. */
  #neededBytes = 0
  #text = ''

  push(piece: Buffer): void {
    this.#pieces.push(piece)
    this.#bytes += piece.length
    if (this.#bytes >= this.#neededBytes) this.#read(Buffer.concat(this.#pieces))
  }

  #read(bytes: Buffer): void {
    let at = 0
    this.#neededBytes = 0
    while (this.#neededBytes === 0) {
      const lineEnd = bytes.indexOf('\r\n', at)
      const size = lineEnd < 0 ? 0 : Number.parseInt(bytes.subarray(at, lineEnd).toString(), 16)
      const end = lineEnd + 2 + size + 2
      if (lineEnd < 0) this.#neededBytes = bytes.length - at + 1
      else if (end > bytes.length) this.#neededBytes = end - at
      else {
        this.isComplete ||= size === 0
        this.#take(bytes.subarray(lineEnd + 2, lineEnd + 2 + size).toString())
        at = end
      }
    }
    this.#pieces = [bytes.subarray(at)]
    this.#bytes = bytes.length - at
  }

  #take(text: string): void {
    const blocks = (this.#text + text).split('\n\n')
    this.#text = blocks.pop() ?? ''
    for (const block of blocks) {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1]
      const data = field('data')
      if (data === undefined) continue
      this.events.push({
        id: field('id') ?? '',
        event: field('event') ?? 'message',
        data: JSON.parse(data),
      })
    }
  }
}
