// Runs the full verification of the log next to a running gateway, in a child process (checker.ts):
// neither its load nor damage that kills a reader affects calls. One at a time.

import { type ChildProcess, spawn } from 'node:child_process'
import { extname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { parseObject } from '../../audit/survey.ts'
import type { Clock, Milliseconds } from '../../core/clock.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { describeDamage, isDamageSignal } from '../environment/damage.ts'

const CHECKER_PROGRAM = join(import.meta.dirname, `checker${extname(import.meta.filename)}`)

export interface VerificationStatus {
  readonly running: boolean
  /** From 0 to 1; 0 before the first run. A run without a verdict keeps what it reached. */
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
  /** `damage`: reading the database file ended the process. `cancelled`: `cancel` did. */
  readonly cause: 'damage' | 'cancelled' | 'other'
}

const CANCELLED: VerificationFailure = { reason: 'The check was cancelled.', cause: 'cancelled' }

/** Before the first run. */
export const NEVER_RUN: VerificationStatus = {
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
  /** What ends the current run early; null while nothing does. */
  #endedBy: 'cancel' | 'close' | null = null
  #running: { readonly child: ChildProcess; readonly ended: Promise<void> } | null = null

  /**
   * @param path the data folder
   * @param onVerdict receives the verdict of each run
   * @param onFailure receives why a run has none, unless `close` ended it
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

  /** Ends a current run; `status` then says that it was cancelled. Without one it does nothing. */
  cancel(): Promise<void> {
    return this.#end('cancel')
  }

  /** Ends a current run without a verdict. */
  close(): Promise<void> {
    return this.#end('close')
  }

  async #end(by: 'cancel' | 'close'): Promise<void> {
    if (this.#running === null) return
    this.#endedBy = by
    this.#running.child.kill('SIGKILL')
    await this.#running.ended
  }

  #spawnChecker(): { child: ChildProcess; ended: Promise<void> } {
    const child = spawn(process.execPath, [...process.execArgv, CHECKER_PROGRAM, this.#path], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    // After spawn, which may throw, for example without memory.
    this.#status = { ...NEVER_RUN, running: true, startedAtMs: this.#clock.now() }
    this.#endedBy = null
    let verdict: JsonObject | null = null
    let reason: string | null = null
    const ended = new Promise<void>((resolve) => {
      let over = false
      const finish = (failure: VerificationFailure) => {
        // A child that could not start emits both `error` and `close`.
        if (over) return
        over = true
        this.#running = null
        this.#status = {
          ...this.#status,
          running: false,
          progress: verdict === null ? this.#status.progress : 1,
          finishedAtMs: this.#clock.now(),
          verdict,
          failure: verdict === null ? failure.reason : null,
        }
        if (verdict !== null) this.#onVerdict(verdict)
        else if (this.#endedBy !== 'close') this.#onFailure(failure)
        resolve()
      }
      child.once('error', ({ message }) => finish({ reason: message, cause: 'other' }))
      child.once('close', (code, signal) => {
        if (isDamageSignal(signal)) finish({ reason: describeDamage(signal), cause: 'damage' })
        else if (this.#endedBy === 'cancel') finish(CANCELLED)
        else finish({ reason: reason ?? `the check ended with ${signal ?? code}`, cause: 'other' })
      })
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
