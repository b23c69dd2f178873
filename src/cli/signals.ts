// Stops a running gateway on signals and returns the exit code.

import { closeDebugger } from '../core/signal-guard.ts'
import { writeLastWords } from '../core/standard-stream.ts'
import type { ExitCode } from './command.ts'
import type { RunningGateway } from './running-gateway.ts'

/** Signals that stop the gateway. SIGQUIT is the stop signal of some images. */
const STOPPING = ['SIGTERM', 'SIGINT', 'SIGQUIT'] as const

/**
 * Handles the signals of the process. The handlers stay for its lifetime: without them the system
 * would end the process with calls unsealed.
 */
export class Signals {
  /** Called on SIGHUP; does nothing until it is set. */
  onHangup: () => void = () => {}
  #pending = 0
  #wake: (() => void) | null = null

  constructor() {
    const count = () => {
      this.#pending++
      this.#wake?.()
    }
    closeDebugger()
    for (const signal of STOPPING) process.on(signal, count)
    process.on('SIGHUP', () => this.onHangup())
  }

  /** Resolves with the next signal that stops, each signal once. One caller at a time. */
  async stop(): Promise<'signal'> {
    if (this.#pending === 0) await new Promise<void>((resolve) => (this.#wake = resolve))
    this.#pending--
    return 'signal'
  }
}

/**
 * Waits for a signal and stops the gateway. A second signal interrupts and seals running calls at
 * once. A third one, or a gateway that cannot continue, kills the process.
 * @param signals created before the gateway was started, so that an early signal is not lost
 */
export async function untilStopped(gateway: RunningGateway, signals: Signals): Promise<ExitCode> {
  void gateway.failed.then(killSelf)
  signals.onHangup = () => void gateway.reload()
  await signals.stop()
  const stopped = gateway.stop()
  if ((await Promise.race([stopped, signals.stop()])) !== 'signal') return 0
  gateway.hurry()
  if ((await Promise.race([stopped, signals.stop()])) !== 'signal') return 0
  return killSelf('stopped by a third signal; calls may be missing from the log')
}

/** Makes an uncaught error kill the process with a message; the next start recovers. */
export const killOnUncaughtError = (): void => {
  process.on('uncaughtException', (error) => killSelf(`unexpected error: ${error.stack ?? error}`))
}

/** Kills the process: an exit would wait for the thread that writes to a disk, which may hang. */
function killSelf(reason: string): never {
  writeLastWords(`sidegate: ${reason}\n`)
  process.kill(process.pid, 'SIGKILL')
  throw new Error('unreachable')
}
