// Bounds the unanswered requests of a connection. A client may send requests without waiting for
// answers (RFC 9112 §9.3.2); only a few are carried out, and the connection is not read on.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Requests of one connection that are carried out at a time. */
export const MAXIMUM_UNANSWERED = 4

type Take = (request: IncomingMessage, response: ServerResponse) => void

/** The requests of one connection. */
interface Turns {
  /** Carried out, and not answered to the end. */
  running: number
  /** What one read of the socket brought besides, in order. */
  readonly waiting: [IncomingMessage, ServerResponse][]
}

export class ConnectionTurns {
  readonly #take: Take
  readonly #turns = new WeakMap<Socket, Turns>()
  /** One listener for all responses. */
  readonly #closed: (this: ServerResponse) => void

  /** @param take carries out a request; its response closes exactly once */
  constructor(take: Take) {
    this.#take = take
    const next = (socket: Socket) => this.#next(socket)
    this.#closed = function () {
      next(this.req.socket)
    }
  }

  /** Carries out a request, at once or after earlier ones of its connection. */
  add(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request
    const turns = this.#turns.get(socket) ?? this.#begin(socket)
    if (turns.running < MAXIMUM_UNANSWERED) this.#run(turns, request, response)
    else {
      turns.waiting.push([request, response])
      socket.pause()
    }
  }

  #begin(socket: Socket): Turns {
    const turns: Turns = { running: 0, waiting: [] }
    this.#turns.set(socket, turns)
    // The end of a request's body resumes its socket.
    socket.on('resume', () => {
      if (turns.waiting.length > 0) socket.pause()
    })
    return turns
  }

  #run(turns: Turns, request: IncomingMessage, response: ServerResponse): void {
    turns.running++
    response.once('close', this.#closed)
    this.#take(request, response)
  }

  #next(socket: Socket): void {
    const turns = this.#turns.get(socket)!
    turns.running--
    const next = turns.waiting.shift()
    if (next === undefined || socket.destroyed) return
    this.#run(turns, ...next)
    if (turns.waiting.length === 0) socket.resume()
  }
}
