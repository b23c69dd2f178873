// Runs a command in a child when it is process 1, as in a container of its own. The database
// identifies readers by process id, and a gateway that has the same data open in another container
// may be process 1 too.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { ExitCode } from './command.ts'

export const isPid1 = (): boolean => process.pid === 1

/**
 * Runs the same command line in a child. Resolves with its exit code; with 1 when it was killed.
 */
export async function runInChild(): Promise<ExitCode> {
  const child = spawnSelf()
  // The system does not end process 1 on these signals.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGQUIT'] as const) process.on(signal, () => child.kill(signal))
  const [code] = (await once(child, 'exit')) as [number | null]
  return code === 0 || code === 2 ? code : 1
}

/** Starts the same command line with the same standard streams. */
export const spawnSelf = (env: NodeJS.ProcessEnv = process.env): ChildProcess =>
  spawn(process.execPath, [...process.execArgv, ...process.argv.slice(1)], { stdio: 'inherit', env })
