// How the processes of one data folder write through the one that holds the journal: a process
// connects to a socket in the folder, waits for its turn, reads, and sends the rows it changes. The
// turn is short, and nobody else writes meanwhile. A message is its length as u32 and its bytes; an
// empty one grants the turn, ends it without a change, or confirms that the rows are on disk.
// Another one from the holder is the reason of a failure, in JSON.

import { closeSync, constants, existsSync, openSync, rmSync } from 'node:fs'
import { createServer, connect as openSocket, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Milliseconds } from '../../core/clock.ts'
import { readJson, writeJson } from '../tables/layout.ts'
import { bytesOf, type RowParts } from './frame.ts'

const SOCKET_FILE = 'journal.sock'
/** Mask for the mode of the socket. */
const OWNER_ONLY = 0o177
/** Longest turn. */
const TURN_MS: Milliseconds = 2000
/** Longest silence in a turn. */
const SILENCE_MS: Milliseconds = 200
/** Longest wait for the turn and for the disk. */
const ANSWER_MS: Milliseconds = 15_000
/** Processes that may wait for their turn. */
const MAXIMUM_CONNECTIONS = 64
const MAXIMUM_MESSAGE_BYTES = 64 * 1024 ** 2
const LENGTH_BYTES = 4
const NOTHING = Buffer.alloc(0)

/** A process that waits for its turn, or has it. */
export interface Turn {
  /** Grants the turn. Resolves with the rows to write; null when nothing changes. */
  rows(): Promise<Buffer | null>
  /** @param failure null when the rows are on disk */
  end(failure: Error | null): void
}

/** Linux limits the address of a socket to 107 bytes; a descriptor of the folder shortens it. */
function addressIn(path: string): { readonly address: string; readonly release: () => void } {
  if (process.platform !== 'linux') return { address: join(path, SOCKET_FILE), release: () => {} }
  const folder = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY)
  return { address: `/proc/self/fd/${folder}/${SOCKET_FILE}`, release: () => closeSync(folder) }
}

/** Accepts the other processes. */
export class LeaseServer {
  readonly #path: string
  readonly #onTurn: (turn: Turn) => void
  #close: () => void
  readonly #sockets = new Set<Socket>()

  /** @param onTurn receives each process that wants to write */
  constructor(path: string, onTurn: (turn: Turn) => void) {
    this.#path = path
    this.#onTurn = onTurn
    this.#close = this.#listen()
  }

  /** Makes the socket again if it was removed. Call it every second. */
  tick(): void {
    if (existsSync(join(this.#path, SOCKET_FILE)) || !existsSync(this.#path)) return
    this.#close()
    this.#close = this.#listen()
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.#close()
  }

  /** @returns stops it; connections stay */
  #listen(): () => void {
    const { address, release } = addressIn(this.#path)
    rmSync(join(this.#path, SOCKET_FILE), { force: true })
    // Nothing is read of a process before its turn.
    const server = createServer({ pauseOnConnect: true }, (socket) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket)).on('error', () => {})
      this.#onTurn(turnOf(socket))
    })
    // Without a socket the other processes report that nobody answers.
    server.on('error', () => {})
    // The socket is made in this call, and must never accept other users.
    const umask = process.umask(OWNER_ONLY)
    server.listen(address)
    process.umask(umask)
    server.maxConnections = MAXIMUM_CONNECTIONS
    server.unref()
    return () => void server.close(() => release())
  }
}

/** Code of the failure of a turn that ended before its rows came. */
const TURN_OVER = 'TURN_OVER'

const codeOf = (error: Error): unknown => (error as NodeJS.ErrnoException).code

const readFailure = (message: Buffer): Error => {
  const { message: text, code } = readJson<{ message: string; code?: string }>(message)
  return Object.assign(new Error(text), code !== undefined && { code })
}

function turnOf(socket: Socket): Turn {
  socket.unref()
  return {
    async rows() {
      const next = messagesOf(socket)
      socket.resume()
      send(socket, NOTHING)
      const rows = await next(TURN_MS, SILENCE_MS).catch((error: Error) => {
        throw Object.assign(error, { code: TURN_OVER })
      })
      return rows.length === 0 ? null : rows
    },
    end(failure) {
      send(
        socket,
        failure === null ? NOTHING : writeJson({ message: failure.message, code: codeOf(failure) }),
      )
      socket.end()
    },
  }
}

/** Nobody accepts connections in the folder. */
export class NoHolderError extends Error {
  override readonly name = 'NoHolderError'
}

/**
 * Waits for the turn, and sends the rows that `change` returns; nothing if they are null.
 * @throws NoHolderError (rejects) when nobody holds the journal, or it was released before the rows
 * were sent: nothing is written then. Any other error: it is not known whether they were.
 */
export async function writeThroughHolder(path: string, change: () => RowParts | null): Promise<void> {
  const socket = await connect(path)
  try {
    const next = messagesOf(socket)
    const refusal = await next(ANSWER_MS).catch((error: Error) => {
      throw new NoHolderError(error.message, { cause: error })
    })
    if (refusal.length > 0) throw new NoHolderError(readFailure(refusal).message)
    const rows = change()
    send(socket, ...(rows ?? []))
    const answer = rows === null ? NOTHING : await next(ANSWER_MS)
    if (answer.length === 0) return
    const failure = readFailure(answer)
    throw codeOf(failure) === TURN_OVER ? new NoHolderError(failure.message) : failure
  } finally {
    socket.destroy()
  }
}

async function connect(path: string): Promise<Socket> {
  const { address, release } = addressIn(path)
  try {
    const socket = openSocket(address)
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve)
      socket.once('error', (error) => reject(new NoHolderError(error.message, { cause: error })))
    })
    return socket.on('error', () => {})
  } finally {
    release()
  }
}

function send(socket: Socket, ...parts: Buffer[]): void {
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeUInt32BE(bytesOf(parts))
  socket.write(length)
  for (const part of parts) socket.write(part)
}

/**
 * Reads a socket. Returns a function that resolves with the next message; one at a time. It rejects
 * after a time without the message, or without any byte.
 */
function messagesOf(socket: Socket): (limitMs: Milliseconds, silenceMs?: Milliseconds) => Promise<Buffer> {
  let chunks: Buffer[] = []
  let received = 0
  /** Bytes of the message with its length; null before the length is known. */
  let expected: number | null = null
  let settle: (() => void) | null = null
  const take = (): Buffer | null => {
    if (expected === null && received >= LENGTH_BYTES) {
      chunks = [Buffer.concat(chunks)]
      expected = LENGTH_BYTES + (chunks[0] as Buffer).readUInt32BE()
      if (expected > MAXIMUM_MESSAGE_BYTES) socket.destroy()
    }
    if (expected === null || received < expected) return null
    const bytes = Buffer.concat(chunks)
    const message = bytes.subarray(LENGTH_BYTES, expected)
    chunks = [bytes.subarray(expected)]
    received -= expected
    expected = null
    return message
  }
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    received += chunk.length
    settle?.()
  })
  return (limitMs, silenceMs = limitMs) =>
    new Promise((resolve, reject) => {
      const stop = () => {
        clearTimeout(timer)
        clearTimeout(silence)
        socket.off('close', onClose)
        settle = null
      }
      const fail = (message: string) => {
        stop()
        reject(new Error(message))
      }
      const onClose = () => fail('the connection was closed')
      const timer = setTimeout(() => fail(`no answer within ${limitMs} ms`), limitMs)
      const silence = setTimeout(() => fail(`no answer for ${silenceMs} ms`), silenceMs)
      settle = () => {
        silence.refresh()
        const message = take()
        if (message === null) return
        stop()
        resolve(message)
      }
      if (socket.destroyed) onClose()
      else {
        socket.once('close', onClose)
        settle()
      }
    })
}
