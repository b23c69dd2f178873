// Runs commands to their end: in this process, or in one of their own with a deadline.

import { type SpawnOptions, spawn } from 'node:child_process'
import { Writable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { AUDIT_READER_VARIABLE } from '../../src/cli/audit-child.ts'
import { answer } from '../../src/cli/dispatch.ts'
import { COMMANDS } from '../../src/program.ts'
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

/**
 * Runs a command of the built program as `runCommand` does. A log is read in its process, not in a
 * child, unless `env` unsets the variable for that.
 */
export const runProgram = (
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<CommandResult> =>
  runCommand(['env', ...programArgs(args, { env })], {
    env: { ...process.env, [AUDIT_READER_VARIABLE]: '1', ...env },
  })

/**
 * Runs a command in this process, in a working directory; one at a time. No gateway of this process
 * may have the same data directory open: the locks of files are those of the process.
 */
export async function runCli(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd = process.cwd(),
): Promise<CommandResult> {
  const [out, err] = [new TextSink(), new TextSink()]
  const before = process.cwd()
  process.chdir(cwd)
  try {
    // A log is read here too, not in a child.
    const variables = { PATH: process.env['PATH'] ?? '', [AUDIT_READER_VARIABLE]: '1', ...env }
    const code = await answer(args, COMMANDS, { out, err, env: variables })
    return { code, stdout: out.text, stderr: err.text }
  } finally {
    process.chdir(before)
  }
}

/** Keeps what is written to it. */
export class TextSink extends Writable {
  readonly #decoder = new StringDecoder('utf8')
  text = ''

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.text += this.#decoder.write(chunk)
    done()
  }
}
