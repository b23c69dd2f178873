// The gateway as the commands see it; the composition root implements it.

import type { Actor } from '../core/actor.ts'
import type { Clock } from '../core/clock.ts'
import type { ConfigReading } from '../core/config.ts'
import type { Problem } from '../core/problem.ts'

export interface RunningGateway {
  /** `host:port` of the first gateway address. */
  readonly address: string
  readonly opsAddress: string
  /** Creates an API key and returns its text, which cannot be read again. */
  createKey(name: string, actor: Actor): Promise<string>
  /** Reads the configuration, rules and prices again, and puts in force what can be. */
  reload(): Promise<void>
  /**
   * Drains, seals the calls that remain and closes everything. A second call waits for the first.
   */
  stop(): Promise<void>
  /** Ends the drain of a stop that is under way: calls are interrupted and sealed. */
  hurry(): void
  /** Resolves with the reason when the gateway cannot continue. */
  readonly failed: Promise<string>
}

/** What a gateway runs with besides its configuration. */
export interface RunOptions {
  /** Takes whole lines of the log; standard output by default. */
  readonly output?: { write(lines: string): void }
  /** The system's by default. Timers and the log's own lines follow the system's clock. */
  readonly clock?: Clock
}

/** Starts a gateway, or reports every reason that it cannot start. */
export type RunGateway = (
  reading: ConfigReading,
  options?: RunOptions,
) => Promise<RunningGateway | { readonly problems: readonly Problem[] }>
