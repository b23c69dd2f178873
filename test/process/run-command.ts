// Runs commands to their end, with a deadline.

import { type SpawnOptions, spawn } from 'node:child_process'
import { programArgs } from './program.ts'

const MAXIMUM_COMMAND_MS = 120_000

export interface CommandResult {
  /** Exit code; null after a signal, such as the one that ends it at the deadline. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command to its end; kills it after MAXIMUM_COMMAND_MS. */
export function runCommand(line: readonly string[], options: SpawnOptions = {}): Promise<CommandResult> {
  const child = spawn(line[0] ?? '', line.slice(1), {
    ...options,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: MAXIMUM_COMMAND_MS,
    killSignal: 'SIGKILL',
  })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (data) => {
    stdout += data
  })
  child.stderr.on('data', (data) => {
    stderr += data
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, stdout, stderr }))
  })
}

/** Runs a command of the CLI as `runCommand` does. */
export const runCli = (
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<CommandResult> =>
  runCommand(['env', ...programArgs(args, { env })], {
    env: { ...process.env, ...env },
  })
