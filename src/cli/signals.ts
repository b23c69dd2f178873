// From a running gateway to a stopped process: signals in, exit code out.

import type { ExitCode } from './command.ts'
import type { RunningGateway } from './running-gateway.ts'

/**
 * The process's signals from now on. They stay taken: the system's own answer to each, the end of the process with
 * calls unsealed, must not come back while one is dealt with.
 */
export class Signals {
  /** What SIGHUP does; before there is anything to load again, nothing. */
  onHangup: () => void = () => {}
  #unread = 0
  #wake: (() => void) | null = null

  constructor() {
    const note = () => {
      this.#unread++
      this.#wake?.()
    }
    process.on('SIGTERM', note).on('SIGINT', note)
    process.on('SIGHUP', () => this.onHangup())
  }

  /** Resolves at the first SIGTERM or SIGINT that no other call has resolved for. One caller at a time. */
  async stop(): Promise<'signal'> {
    if (this.#unread === 0) await new Promise<void>((resolve) => (this.#wake = resolve))
    this.#unread--
    return 'signal'
  }
}

/**
 * Waits for a signal, stops the gateway and says how that went. A second signal ends running calls at once, sealed;
 * a third one, and a gateway that cannot go on, end the process as it is.
 * @param signals taken before the gateway was started, so that one that comes early is not lost
 */
export async function untilStopped(gateway: RunningGateway, signals: Signals): Promise<ExitCode> {
  void gateway.failed.then(endAsItIs)
  signals.onHangup = () => void gateway.reloadRules()
  await signals.stop()
  const stopped = gateway.stop()
  if ((await Promise.race([stopped, signals.stop()])) !== 'signal') return 0
  gateway.hurry()
  if ((await Promise.race([stopped, signals.stop()])) !== 'signal') return 0
  return endAsItIs('told to end three times; calls may be missing from the log')
}

/** From now on an error that nobody foresaw is told and ends the process: the next start deals with what is left. */
export const endWhenUnforeseen = (): void => {
  process.on('uncaughtException', (error) => endAsItIs(`an unforeseen error: ${error.stack ?? error}`))
}

/** Node's own exit waits for the thread that writes to the disk, and that may wait for a disk that hangs, or for us. */
function endAsItIs(reason: string): never {
  console.error(`sidegate: ${reason}`)
  process.kill(process.pid, 'SIGKILL')
  throw new Error('unreachable')
}
