// The interface of a command, and what all commands share: exit codes, usage errors, printing of
// problems.

import type { Writable } from 'node:stream'
import { formatProblem, type Problem } from '../core/problem.ts'

/** 0 success, 1 findings or failure, 2 could not run. */
export type ExitCode = 0 | 1 | 2

/**
 * What a command writes to and which variables it reads; only `dispatch` knows the process's own.
 */
export interface CommandIo {
  readonly out: CommandOutput
  readonly err: CommandOutput
  readonly env: NodeJS.ProcessEnv
}

/** `isTTY` is true for a terminal. */
export type CommandOutput = Writable & { readonly isTTY?: boolean }

export interface Command {
  readonly name: string
  /** One line in the list of commands. */
  readonly summary: string
  /** Text of `sidegate NAME --help`. */
  readonly help: string
  /** Runs until a signal. Only its log writes to standard output, without Node's stream. */
  readonly isService?: true
  run(args: readonly string[], io: CommandIo): Promise<ExitCode>
}

/** Bad arguments. Printed with a pointer to the help; exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export const DEFAULT_CONFIG = 'config/sidegate.yaml'

export const writeLine = (output: CommandOutput, text: string): void => {
  output.write(`${text}\n`)
}

/** Prints each problem on a line of `err`, then their number and the consequence. */
export function printProblems(
  { err }: Pick<CommandIo, 'err'>,
  problems: readonly Problem[],
  consequence: string,
): void {
  for (const problem of problems) writeLine(err, formatProblem(problem))
  const count = problems.length === 1 ? '1 error' : `${problems.length} errors`
  writeLine(err, `${count}; ${consequence}`)
}
