// From a running gateway to a stopped process: signals in, exit code out.

import type { ConfigReading } from '../core/config.ts'
import type { Problem } from '../core/problem.ts'
import type { ExitCode } from './command.ts'

/** What the commands need of the composition root. */
export interface RunningGateway {
  /** `host:port` of the first gateway address. */
  readonly address: string
  readonly opsAddress: string
  /** Makes a key; its text is shown this once. */
  createKey(name: string): Promise<string>
  reloadRules(): Promise<void>
  /** Finishes running calls, seals what is left, closes everything. Repeated calls wait for the first. */
  stop(): Promise<void>
  /** Resolves with the reason when the gateway cannot go on. */
  readonly failed: Promise<string>
}

export type RunGateway = (
  reading: ConfigReading,
) => Promise<RunningGateway | { readonly problems: readonly Problem[] }>

/**
 * Waits for the signal, stops the gateway and says how that went. A second signal does not wait.
 * @param stopSignal taken before the gateway was started, so that one that comes early is not lost
 */
export async function untilStopped(gateway: RunningGateway, stopSignal: Promise<null>): Promise<ExitCode> {
  const reload = () => void gateway.reloadRules()
  process.on('SIGHUP', reload)
  const reason = await Promise.race([stopSignal, gateway.failed])
  process.off('SIGHUP', reload)
  if (reason !== null) {
    console.error(`sidegate: ${reason}`)
    return 1
  }
  await Promise.race([gateway.stop(), signalled()])
  return 0
}

/** Resolves with null at the next SIGTERM or SIGINT. */
export function signalled(): Promise<null> {
  return new Promise((resolve) => {
    const settle = () => {
      process.off('SIGTERM', settle).off('SIGINT', settle)
      resolve(null)
    }
    process.on('SIGTERM', settle).on('SIGINT', settle)
  })
}
