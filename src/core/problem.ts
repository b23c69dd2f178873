// Errors in a configuration or rule file. Loaders collect all of them before they fail.

import { visibleLine } from './hidden-characters.ts'

export interface Problem {
  /** Path as the user gave it, or relative to the configuration's folder. */
  readonly file: string
  /** 1-based; 0 if the error concerns the whole file. */
  readonly line: number
  readonly column: number
  /** JSON path of the value, such as `rules[2].pattern`; empty for the document. */
  readonly path: string
  /** What is wrong and how to fix it. Never contains a secret. */
  readonly message: string
  /** Set if the file could not be read; its content is unknown. */
  readonly unread?: true
}

/** Errors that are reported at once. */
const MAXIMUM_REPORTED = 1000

/**
 * Returns the first errors and the number of the others: 1 MiB can hold 200,000 errors, and one log
 * line all of them.
 */
export function firstOf(problems: readonly Problem[]): readonly Problem[] {
  const next = problems[MAXIMUM_REPORTED]
  if (next === undefined) return problems
  const { file, line, column } = next
  const message = `… and ${problems.length - MAXIMUM_REPORTED} more errors from here on; fix those above first`
  return [...problems.slice(0, MAXIMUM_REPORTED), { file, line, column, path: '', message }]
}

/**
 * Returns `file:line:column path: message`, which editors and CI logs turn into links. The text is
 * one line in which hidden characters are visible, so that a file can control neither a terminal
 * nor a CI job.
 */
export function formatProblem(problem: Problem): string {
  const position = problem.line > 0 ? `${problem.file}:${problem.line}:${problem.column}` : problem.file
  const text =
    problem.path === '' ? `${position} ${problem.message}` : `${position} ${problem.path}: ${problem.message}`
  return visibleLine(text)
}
