// Starts the program from source as a child, waits until it listens, and ends it in every case.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { programArgs, SOURCE } from '../process/program.ts'
import { inTime } from '../process/until.ts'

/** Time for a child to end by itself. */
const STOP_MS = 8000
/** Last characters of its error output that an error shows. */
const SHOWN_CHARACTERS = 4000

type Ended = number | NodeJS.Signals

export class ChildProgram {
  readonly name: string
  /** The first log line, which has the addresses. */
  listening: Readonly<Record<string, unknown>> = {}
  readonly #child: ChildProcess
  /** Resolves with the exit code, or the signal's name. */
  readonly exited: Promise<Ended>
  #output = ''
  #hasEnded = false

  /**
   * @param name of the part, for errors
   * @param args of the program
   */
  constructor(name: string, args: readonly string[], env: Readonly<Record<string, string>>) {
    this.name = name
    this.#child = spawn('env', programArgs(args, { program: SOURCE }), {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      // Ctrl-C is for the parent, which ends its children in order.
      detached: true,
    })
    this.#child.stderr?.on('data', (data) => this.#keep(String(data)))
    this.exited = once(this.#child, 'exit').then(
      ([code, signal]) => (code ?? signal) as Ended,
      (error: Error) => {
        this.#keep(error.message)
        return -1
      },
    )
    void this.exited.then(() => {
      this.#hasEnded = true
    })
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  #keep(text: string): void {
    this.#output = (this.#output + text).slice(-SHOWN_CHARACTERS)
  }

  /** Resolves once it listens. @throws Error (rejects) with its error output when it ends before */
  async ready(): Promise<this> {
    const lines = createInterface({ input: this.#child.stdout! })
    const listening = new Promise<void>((resolve, reject) => {
      // The reader stays, because a full pipe would block the program.
      lines.on('line', (line) => {
        const entry = readEntry(line)
        if (entry['msg'] === 'listening') {
          this.listening = entry
          resolve()
        } else if (typeof entry['level'] !== 'number' || entry['level'] >= 50) this.#keep(`${line}\n`)
      })
      void this.exited.then(async (code) => {
        // The end of its output may follow the exit.
        await delay(50)
        reject(new Error(`${this.name} did not start (${code}):\n${this.#output.trim()}`))
      })
    })
    await inTime(`${this.name} listens`, listening)
    return this
  }

  signal(signal: NodeJS.Signals): void {
    if (!this.#hasEnded) this.#child.kill(signal)
  }

  /** Kills it at once. */
  async kill(): Promise<void> {
    this.signal('SIGKILL')
    await this.exited
  }

  /** Ends it, also when it is frozen; after some seconds by force. Resolves with how it ended. */
  async stop(): Promise<Ended> {
    this.signal('SIGTERM')
    this.signal('SIGCONT')
    const timer = setTimeout(() => this.signal('SIGKILL'), STOP_MS)
    const ended = await this.exited
    clearTimeout(timer)
    return ended
  }
}

function readEntry(line: string): Record<string, unknown> {
  try {
    return JSON.parse(line) as Record<string, unknown>
  } catch {
    return {}
  }
}
