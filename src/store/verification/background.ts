// The full check of the log while the gateway runs: in a child process, checker.ts, so that neither its work nor damage
// that ends a reader touches the calls. One at a time.

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
  /** From 0 to 1; 0 before the first check. */
  readonly progress: number
  readonly startedAtMs: Milliseconds | null
  readonly finishedAtMs: Milliseconds | null
  /** The verdict of the last check that ended, as `sidegate audit verify` gives it; null without one. */
  readonly verdict: JsonObject | null
  /** Why the last check came to no verdict. */
  readonly failure: string | null
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
  #status = NEVER_RUN
  #running: { readonly child: ChildProcess; readonly ended: Promise<void> } | null = null

  /**
   * @param path the data folder
   * @param onVerdict told how each check came out
   */
  constructor(path: string, clock: Clock, onVerdict: (verdict: JsonObject) => void) {
    this.#path = path
    this.#clock = clock
    this.#onVerdict = onVerdict
  }

  get status(): VerificationStatus {
    return this.#status
  }

  /** Begins a check, or joins the one that runs. Resolves when it has ended, which the status then says. */
  start(): Promise<void> {
    this.#running ??= this.#spawnChecker()
    return this.#running.ended
  }

  /** Ends a running check without a verdict. */
  async close(): Promise<void> {
    this.#running?.child.kill('SIGKILL')
    await this.#running?.ended
  }

  #spawnChecker(): { child: ChildProcess; ended: Promise<void> } {
    const child = spawn(process.execPath, [...process.execArgv, CHECKER_PROGRAM, this.#path], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    // Only now: for want of memory, for one, it throws.
    this.#status = { ...NEVER_RUN, running: true, startedAtMs: this.#clock.now() }
    let verdict: JsonObject | null = null
    let reason: string | null = null
    const ended = new Promise<void>((resolve) => {
      let over = false
      const finish = (failure: string) => {
        // A child that could not be started is told of twice.
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
        resolve()
      }
      child.once('error', ({ message }) => finish(message))
      child.once('close', (code, signal) =>
        finish(
          isDamageSignal(signal)
            ? describeDamage(signal)
            : (reason ?? `the check ended with ${signal ?? code}`),
        ),
      )
    })
    // Not there when no descriptor was left for it.
    const output = child.stdout as Readable | undefined
    if (output === undefined) return { child, ended }
    createInterface({ input: output }).on('line', (text) => {
      const line = parseObject(Buffer.from(text))
      // PrunePoint off where the child was killed.
      if (line === null) return
      if (typeof line['progress'] === 'number') this.#status = { ...this.#status, progress: line['progress'] }
      if (isObject(line['verdict'])) verdict = line['verdict']
      if (typeof line['failure'] === 'string') reason = line['failure']
    })
    return { child, ended }
  }
}
