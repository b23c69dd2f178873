// What a command is, and the small things every command says the same way.

import { formatProblem, type Problem } from '../core/problem.ts'

/** 0 fine, 1 findings or failure, 2 could not run. */
export type ExitCode = 0 | 1 | 2

export interface Command {
  readonly name: string
  /** One line for the list of commands. */
  readonly summary: string
  /** The whole of `sidegate NAME --help`. */
  readonly help: string
  /** Standard output is its log's alone, which is written past Node's own stream and waits for nobody's end. */
  readonly isService?: true
  run(args: readonly string[]): Promise<ExitCode>
}

/** Bad arguments: printed with a pointer to the help, exit 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export const DEFAULT_CONFIG = 'config/sidegate.yaml'

/** Every mistake on its own line, then what to make of them. */
export function printProblems(problems: readonly Problem[], what: string): void {
  for (const problem of problems) console.error(formatProblem(problem))
  const count = problems.length === 1 ? '1 mistake' : `${problems.length} mistakes`
  console.error(`${count}; ${what}`)
}
