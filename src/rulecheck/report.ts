// Prints the results of `sidegate check`, `diff` and `test` in the formats that people and CI
// systems read. Every report ends in a line break.

import { visibleLine } from '../core/hidden-characters.ts'
import { formatProblem, type Problem } from '../core/problem.ts'
import type { Mismatch, Verdict } from './compare.ts'
import type { ExchangeDifference, RuleDifference, RuleSetDifference } from './difference.ts'

export const REMARK_FORMATS = ['pretty', 'github', 'json', 'junit'] as const
export type RemarkFormat = (typeof REMARK_FORMATS)[number]

/** An error or a warning of `sidegate check`. */
export interface Remark {
  readonly severity: 'error' | 'warning'
  readonly problem: Problem
}

/** @param checked every file that was checked, those without remarks included */
export function formatRemarks(
  remarks: readonly Remark[],
  checked: readonly string[],
  format: RemarkFormat,
): string {
  const errors = remarks.filter(({ severity }) => severity === 'error').length
  const warnings = remarks.length - errors
  const summary = `${counted(checked.length, 'file')} checked: ${counted(errors, 'error')}, ${counted(warnings, 'warning')}`
  switch (format) {
    case 'json': {
      const problems = remarks.map(({ severity, problem }) => ({ severity, ...problem }))
      return json({ files: checked, errors, warnings, problems })
    }
    case 'junit':
      return junit('sidegate check', remarkCases(remarks, checked))
    case 'github':
      return lines([...remarks.map(githubCommand), summary])
    case 'pretty':
      return lines([...remarks.map(remarkLine), summary])
  }
}

const remarkLine = ({ severity, problem }: Remark): string => `${severity}: ${formatProblem(problem)}`

/**
 * A workflow command: GitHub shows it at the line of the pull request. Escaped as actions/toolkit
 * does.
 */
function githubCommand({ severity, problem }: Remark): string {
  const { file, line, column, path, message } = problem
  const escapeText = (text: string) =>
    text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
  const name = escapeText(file).replaceAll(':', '%3A').replaceAll(',', '%2C')
  const position = (line > 0 ? `,line=${line}` : '') + (column > 0 ? `,col=${column}` : '')
  return `::${severity} file=${name}${position}::${escapeText(path === '' ? message : `${path}: ${message}`)}`
}

function remarkCases(remarks: readonly Remark[], checked: readonly string[]): JunitCase[] {
  const clean = checked.filter((file) => !remarks.some(({ problem }) => problem.file === file))
  return [
    ...clean.map((file) => ({ suite: file, name: 'no errors', failure: null })),
    ...remarks.map((remark) => ({
      suite: remark.problem.file,
      name: remarkLine(remark),
      failure: remark.severity === 'error' ? formatProblem(remark.problem) : null,
    })),
  ]
}

export const DIFFERENCE_FORMATS = ['pretty', 'markdown', 'json'] as const
export type DifferenceFormat = (typeof DIFFERENCE_FORMATS)[number]

/** Maximum exchanges that a report for people lists. */
const MAXIMUM_LISTED = 50
const MAX_VALUE_CHARACTERS = 200

const CHANGE_MARKS = { added: '+', removed: '-', changed: '~' } as const

/** @param leftOut names of recognisers that were not asked */
export function formatDifference(
  difference: RuleSetDifference,
  format: DifferenceFormat,
  leftOut: readonly string[] = [],
): string {
  switch (format) {
    case 'json':
      return json({ ...difference, ...leftOutMember(leftOut) })
    case 'markdown':
      return differenceMarkdown(difference)
    case 'pretty':
      return differenceText(difference)
  }
}

const leftOutMember = (recognisersLeftOut: readonly string[]) =>
  recognisersLeftOut.length === 0 ? {} : { recognisersLeftOut }

function differenceText(difference: RuleSetDifference): string {
  const { rules, exchanges } = difference
  return lines([
    ...rules.flatMap(({ name, change, fields }) => [
      `${CHANGE_MARKS[change]} ${name}${change === 'changed' ? '' : ` (${change})`}`,
      ...fields.map(({ field, old, new: next }) => `    ${field}: ${shownValue(old)} → ${shownValue(next)}`),
    ]),
    ...exchanges.slice(0, MAXIMUM_LISTED).map((one) => {
      const { where, before, after } = exchangeRow(one)
      return `! ${where}: ${before} → ${after}`
    }),
    ...unlisted(exchanges),
    differenceSummary(difference),
  ])
}

function differenceMarkdown(difference: RuleSetDifference): string {
  const { rules, exchanges } = difference
  const ruleRows = rules.flatMap(({ name, change, fields }) =>
    fields.length === 0
      ? [row(name, change, '', '')]
      : fields.map(({ field, old, new: next }) => row(name, field, shownValue(old), shownValue(next))),
  )
  const exchangeRows = exchanges.slice(0, MAXIMUM_LISTED).map((one) => {
    const { where, before, after } = exchangeRow(one)
    return row(where, before, after)
  })
  return lines([
    '### Policy rules',
    '',
    differenceSummary(difference),
    '',
    ...(rules.length === 0
      ? []
      : ['| rule | change | before | after |', '|---|---|---|---|', ...ruleRows, '']),
    ...(exchanges.length === 0
      ? []
      : ['| exchange | before | after |', '|---|---|---|', ...exchangeRows, ...unlisted(exchanges), '']),
  ])
}

function differenceSummary({ rules, exchanges, tried }: RuleSetDifference): string {
  const count = (change: RuleDifference['change']) => rules.filter((rule) => rule.change === change).length
  return `Rules: ${count('added')} added, ${count('removed')} removed, ${count('changed')} changed. Exchanges: ${exchanges.length} of ${tried} differ.`
}

const unlisted = (exchanges: readonly ExchangeDifference[]): string[] =>
  exchanges.length > MAXIMUM_LISTED
    ? [`… and ${counted(exchanges.length - MAXIMUM_LISTED, 'more exchange')}`]
    : []

function exchangeRow({ where, old, new: next, textDiffers }: ExchangeDifference) {
  const effect = ({ decision, rules }: ExchangeDifference['old']) =>
    rules.length === 0 ? decision : `${decision} (${rules.join(', ')})`
  const note = textDiffers ? ', other text' : ''
  return { where: oneLine(where), before: effect(old), after: `${effect(next)}${note}` }
}

function shownValue(text: string | null): string {
  if (text === null) return '(none)'
  const line = oneLine(text)
  return line.length > MAX_VALUE_CHARACTERS ? `${line.slice(0, MAX_VALUE_CHARACTERS)}…` : line
}

/**
 * A row of a Markdown table. Escapes the cells, so that names and patterns are shown and not
 * rendered.
 */
const row = (...cells: readonly string[]): string => `| ${cells.map(escapeMarkdown).join(' | ')} |`

const escapeMarkdown = (text: string): string =>
  text.replace(/[\\`*_[\]<>&|~#!@]/g, (character) => `&#${character.codePointAt(0)};`)

export const VERDICT_FORMATS = ['pretty', 'github', 'tap', 'junit', 'json'] as const
export type VerdictFormat = (typeof VERDICT_FORMATS)[number]

/** Characters shown before and after the first difference of two texts. */
const SHOWN_BEFORE = 30
const SHOWN_AFTER = 90

/** @param leftOut names of recognisers that were not asked */
export function formatVerdicts(
  verdicts: readonly Verdict[],
  format: VerdictFormat,
  leftOut: readonly string[] = [],
): string {
  const failed = verdicts.filter(({ mismatches }) => mismatches.length > 0).length
  const summary = `${counted(verdicts.length, 'test')}: ${verdicts.length - failed} passed, ${failed} failed`
  switch (format) {
    case 'pretty':
      return lines([...verdicts.flatMap(failureLines), summary])
    case 'github':
      return lines([...verdicts.flatMap(failureRemark).map(githubCommand), summary])
    case 'tap':
      return lines(['TAP version 14', `1..${verdicts.length}`, ...verdicts.flatMap(tapLines)])
    case 'junit':
      return junit('sidegate test', verdicts.map(verdictCase))
    case 'json': {
      const tests = verdicts.map(({ test: { file, line, name }, mismatches }) => ({
        file,
        line,
        name,
        ok: mismatches.length === 0,
        mismatches,
      }))
      return json({ total: verdicts.length, failed, tests, ...leftOutMember(leftOut) })
    }
  }
}

function failureLines({ test, mismatches }: Verdict): string[] {
  if (mismatches.length === 0) return []
  const title = `FAIL ${test.file}:${test.line} ${oneLine(test.name)}`
  return [title, ...mismatchLines(mismatches).map((line) => `  ${line}`)]
}

function failureRemark({ test: { file, line, name }, mismatches }: Verdict): Remark[] {
  if (mismatches.length === 0) return []
  const message = lines([oneLine(name), ...mismatchLines(mismatches)]).trimEnd()
  return [{ severity: 'error', problem: { file, line, column: 0, path: '', message } }]
}

function tapLines({ test, mismatches }: Verdict, index: number): string[] {
  const title = oneLine(`${index + 1} - ${test.file}: ${test.name}`).replace(/[\\#]/g, '\\$&')
  if (mismatches.length === 0) return [`ok ${title}`]
  return [`not ok ${title}`, ...mismatchLines(mismatches).map((line) => `# ${line}`)]
}

const verdictCase = ({ test, mismatches }: Verdict): JunitCase => ({
  suite: test.file,
  name: test.name,
  failure: mismatches.length === 0 ? null : mismatchLines(mismatches).join('\n'),
})

/** Prints the expected text above the text that came, with a mark below the first difference. */
function mismatchLines(mismatches: readonly Mismatch[]): string[] {
  return mismatches.flatMap(({ what, expected, got }) => {
    let same = 0
    while (same < expected.length && expected[same] === got[same]) same++
    const from = Math.max(0, same - SHOWN_BEFORE)
    const shown = (text: string) => oneLine(text.slice(from, same + SHOWN_AFTER))
    const indent = ' '.repeat(oneLine(expected.slice(from, same)).length)
    return [
      `${what}:`,
      `  expected  ${shown(expected)}`,
      `  got       ${shown(got)}`,
      `            ${indent}^`,
    ]
  })
}

/** One test case of a JUnit report. */
interface JunitCase {
  readonly suite: string
  readonly name: string
  /** Null for a case that passed. */
  readonly failure: string | null
}

/** The XML that CI systems read as JUnit's. */
function junit(name: string, cases: readonly JunitCase[]): string {
  const failures = cases.filter(({ failure }) => failure !== null).length
  const attributes = `name="${escapeXml(name)}" tests="${cases.length}" failures="${failures}" errors="0"`
  const elements = cases.map(({ suite, name: title, failure }) => {
    const head = `    <testcase classname="${escapeXml(suite)}" name="${escapeXml(title)}"`
    if (failure === null) return `${head}/>`
    const first = failure.split('\n', 1)[0] ?? ''
    return `${head}><failure message="${escapeXml(first)}">${escapeXml(failure)}</failure></testcase>`
  })
  return lines([
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<testsuites>',
    `  <testsuite ${attributes}>`,
    ...elements,
    '  </testsuite>',
    '</testsuites>',
  ])
}

/** Characters that XML 1.0 §2.2 does not allow. */
const FORBIDDEN = /[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu

/**
 * Escapes text for an attribute or an element. A character that XML does not allow becomes U+FFFD.
 */
const escapeXml = (text: string): string =>
  text.replace(FORBIDDEN, '\uFFFD').replace(/[&<>"\n\r\t]/g, (character) => `&#${character.codePointAt(0)};`)

const json = (value: object): string => `${JSON.stringify(value, null, 2)}\n`

const lines = (list: readonly string[]): string => `${list.join('\n')}\n`

/** `1 file`, `2 files`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

/**
 * Makes text safe to print on one line. A line feed becomes `\n`; any other hidden character, which
 * could steer a terminal or start a line, becomes visible.
 */
const oneLine = (text: string): string => visibleLine(text.replaceAll('\n', '\\n'))
