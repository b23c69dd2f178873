// Commands in a container of their own, where every program is process 1. The database knows its readers by their
// process ids, and the gateway that has the same data open from another container may be 1 as well.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { ExitCode } from './command.ts'

const FIRST = 1

export const isFirstProcess = (): boolean => process.pid === FIRST

/** Runs the same command line in a child, which has another id; resolves with its exit code, 1 where it was killed. */
export async function runInChild(): Promise<ExitCode> {
  const child = runAgain()
  // Nothing else would end it: a first process has no answer of the system's to a signal.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => child.kill(signal))
  const [code] = (await once(child, 'exit')) as [number | null]
  return code === 0 || code === 2 ? code : 1
}

export const runAgain = (env: NodeJS.ProcessEnv = process.env): ChildProcess =>
  spawn(process.execPath, [...process.execArgv, ...process.argv.slice(1)], { stdio: 'inherit', env })
