// Runs the full verification of the log next to a running gateway, in a child process (checker.ts):
// neither its load nor damage that kills a reader affects calls. One at a time.

import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { parseObject } from '../../audit/survey.ts'
import type { Clock, Milliseconds } from '../../core/clock.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { describeDamage, isDamageSignal } from '../damage.ts'
import { programPath } from '../programs/program-path.ts'

const CHECKER_PROGRAM = programPath('checker')

export interface VerificationStatus {
  readonly running: boolean
  /** From 0 to 1; 0 before the first run. */
  readonly progress: number
  readonly startedAtMs: Milliseconds | null
  readonly finishedAtMs: Milliseconds | null
  /**
   * The verdict of the last finished run, in the form of `sidegate audit verify`; null without one.
   */
  readonly verdict: JsonObject | null
  /** Why the last run has no verdict. */
  readonly failure: string | null
}

/** Why a run has no verdict. */
export interface VerificationFailure {
  readonly reason: string
  /** Whether reading the database file ended the process. */
  readonly isDamage: boolean
}

const NEVER_RUN: VerificationStatus = {
  running: false,
  progress: 0,
  startedAtMs: null,
  finishedAtMs: null,
  verdict: null,
  failure: null,
}

export class BackgroundVerification {
  readonly #path: string
  readonly #clock: Clock
  readonly #onVerdict: (verdict: JsonObject) => void
  readonly #onFailure: (failure: VerificationFailure) => void
  #status = NEVER_RUN
  #closing = false
  #running: { readonly child: ChildProcess; readonly ended: Promise<void> } | null = null

  /**
   * @param path the data folder
   * @param onVerdict receives the verdict of each run
   * @param onFailure receives why a run has none, unless it was ended early
   */
  constructor(
    path: string,
    clock: Clock,
    onVerdict: (verdict: JsonObject) => void,
    onFailure: (failure: VerificationFailure) => void = () => {},
  ) {
    this.#path = path
    this.#clock = clock
    this.#onVerdict = onVerdict
    this.#onFailure = onFailure
  }

  get status(): VerificationStatus {
    return this.#status
  }

  /**
   * Starts a run, or joins the current one. Resolves when it has ended; `status` then holds the
   * result.
   */
  start(): Promise<void> {
    this.#running ??= this.#spawnChecker()
    return this.#running.ended
  }

  /** Ends a current run without a verdict. */
  async close(): Promise<void> {
    this.#closing = true
    this.#running?.child.kill('SIGKILL')
    await this.#running?.ended
    this.#closing = false
  }

  #spawnChecker(): { child: ChildProcess; ended: Promise<void> } {
    const child = spawn(process.execPath, [...process.execArgv, CHECKER_PROGRAM, this.#path], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    // After spawn, which may throw, for example without memory.
    this.#status = { ...NEVER_RUN, running: true, startedAtMs: this.#clock.now() }
    let verdict: JsonObject | null = null
    let reason: string | null = null
    const ended = new Promise<void>((resolve) => {
      let over = false
      const finish = (failure: string, isDamage = false) => {
        // A child that could not start emits both `error` and `close`.
        if (over) return
        over = true
        this.#running = null
        this.#status = {
          ...this.#status,
          running: false,
          progress: 1,
          finishedAtMs: this.#clock.now(),
          verdict,
          failure: verdict === null ? failure : null,
        }
        if (verdict !== null) this.#onVerdict(verdict)
        else if (!this.#closing) this.#onFailure({ reason: failure, isDamage })
        resolve()
      }
      child.once('error', ({ message }) => finish(message))
      child.once('close', (code, signal) =>
        finish(
          isDamageSignal(signal)
            ? describeDamage(signal)
            : (reason ?? `the check ended with ${signal ?? code}`),
          isDamageSignal(signal),
        ),
      )
    })
    // Undefined when no file descriptor was left.
    const output = child.stdout as Readable | undefined
    if (output === undefined) return { child, ended }
    createInterface({ input: output }).on('line', (text) => {
      const line = parseObject(Buffer.from(text))
      // Null when the child was killed within a line.
      if (line === null) return
      if (typeof line['progress'] === 'number') this.#status = { ...this.#status, progress: line['progress'] }
      if (isObject(line['verdict'])) verdict = line['verdict']
      if (typeof line['failure'] === 'string') reason = line['failure']
    })
    return { child, ended }
  }
}
