// The interface of a command, and what all commands share: exit codes, usage errors, printing of
// problems.

import { formatProblem, type Problem } from '../core/problem.ts'

/** 0 success, 1 findings or failure, 2 could not run. */
export type ExitCode = 0 | 1 | 2

export interface Command {
  readonly name: string
  /** One line in the list of commands. */
  readonly summary: string
  /** Text of `sidegate NAME --help`. */
  readonly help: string
  /** Runs until a signal. Only its log writes to standard output, without Node's stream. */
  readonly isService?: true
  run(args: readonly string[]): Promise<ExitCode>
}

/** Bad arguments. Printed with a pointer to the help; exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export const DEFAULT_CONFIG = 'config/sidegate.yaml'

/** Prints each problem on a line of standard error, then their number and the consequence. */
export function printProblems(problems: readonly Problem[], consequence: string): void {
  for (const problem of problems) console.error(formatProblem(problem))
  const count = problems.length === 1 ? '1 error' : `${problems.length} errors`
  console.error(`${count}; ${consequence}`)
}
