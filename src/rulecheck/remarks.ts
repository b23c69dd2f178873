// Errors and warnings as people and machines read them. Knows nothing of what they are about.

import { formatProblem, type Problem } from '../core/problem.ts'
import { junitReport } from './xml.ts'

export const REMARK_FORMATS = ['pretty', 'github', 'json', 'junit'] as const
export type RemarkFormat = (typeof REMARK_FORMATS)[number]

export interface Remark {
  readonly severity: 'error' | 'warning'
  readonly problem: Problem
}

/** Everything found, ready to be printed; ends in a line break. */
export function formatRemarks(
  remarks: readonly Remark[],
  checked: readonly string[],
  format: RemarkFormat,
): string {
  const errors = remarks.filter(({ severity }) => severity === 'error').length
  const warnings = remarks.length - errors
  switch (format) {
    case 'json': {
      const listed = remarks.map(({ severity, problem }) => ({ severity, ...problem }))
      return `${JSON.stringify({ files: checked, errors, warnings, problems: listed }, null, 2)}\n`
    }
    case 'junit':
      return junitReport('sidegate check', junitCases(remarks, checked))
    case 'github':
      return remarks.map(githubCommand).join('') + summary(checked.length, errors, warnings)
    case 'pretty':
      return (
        remarks.map(({ severity, problem }) => `${severity}: ${formatProblem(problem)}\n`).join('') +
        summary(checked.length, errors, warnings)
      )
  }
}

const summary = (files: number, errors: number, warnings: number): string =>
  `${counted(files, 'file')} checked: ${counted(errors, 'error')}, ${counted(warnings, 'warning')}\n`

/** `1 file`, `2 files`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

function junitCases(remarks: readonly Remark[], checked: readonly string[]) {
  const clean = checked.filter((file) => !remarks.some(({ problem }) => problem.file === file))
  return [
    ...clean.map((file) => ({ suite: file, name: 'no mistakes', failure: null })),
    ...remarks.map(({ severity, problem }) => ({
      suite: problem.file,
      name: `${severity}: ${formatProblem(problem)}`,
      failure: severity === 'error' ? formatProblem(problem) : null,
    })),
  ]
}

/** A workflow command: GitHub shows it at the line of the pull request. */
function githubCommand({ severity, problem }: Remark): string {
  const { file, line, column, path, message } = problem
  const place = line > 0 ? `,line=${line},col=${column}` : ''
  const text = path === '' ? message : `${path}: ${message}`
  return `::${severity} file=${escapeProperty(file)}${place}::${escapeData(text)}\n`
}

/** As actions/toolkit escapes the text of a command. */
const escapeData = (text: string): string =>
  text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')

const escapeProperty = (text: string): string =>
  escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
