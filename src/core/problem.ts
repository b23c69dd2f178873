// One mistake in a file a person wrote: configuration or rules. Loaders collect all of them before they give up.

export interface Problem {
  /** Path as the person gave it, or relative to the configuration's folder. */
  readonly file: string
  /** 1-based; 0 when the file as a whole is at fault. */
  readonly line: number
  readonly column: number
  /** JSON path of the value, e.g. `rules[2].pattern`; empty for the document itself. */
  readonly path: string
  /** What is wrong and what to do about it; never a secret's value. */
  readonly message: string
  /** Set where the file could not be read, so that nothing is known of what it says. */
  readonly unread?: true
}

/** Of more mistakes than these the first are told: whoever mends them is told of the next. */
const MAX_TOLD = 1000

/** The first mistakes and how many there are besides: a file of 1 MiB can hold 200,000, and all are logged in one line. */
export function firstOf(problems: readonly Problem[]): readonly Problem[] {
  const next = problems[MAX_TOLD]
  if (next === undefined) return problems
  const { file, line, column } = next
  const message = `begins ${problems.length - MAX_TOLD} more mistakes, which are told when those before are mended`
  return [...problems.slice(0, MAX_TOLD), { file, line, column, path: '', message }]
}

/**
 * `file:line:column path: message`, the form editors and CI logs turn into links. On one line and without control
 * characters: what a file says must steer neither a terminal nor the CI that reads its log.
 */
export function formatProblem(problem: Problem): string {
  const place = problem.line > 0 ? `${problem.file}:${problem.line}:${problem.column}` : problem.file
  const text =
    problem.path === '' ? `${place} ${problem.message}` : `${place} ${problem.path}: ${problem.message}`
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '\ufffd')
}
