// Errors and warnings as people and machines read them. Knows nothing of what they are about.

import { formatProblem, type Problem } from '../core/problem.ts'
import type { Mismatch, Verdict } from './compare.ts'
import type { Difference, ExchangeDifference, RuleDifference } from './difference.ts'

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

export const DIFFERENCE_FORMATS = ['pretty', 'markdown', 'json'] as const
export type DifferenceFormat = (typeof DIFFERENCE_FORMATS)[number]

/** Changed exchanges that a report for people lists one by one. */
const MAX_LISTED = 50
const MAX_VALUE_CHARACTERS = 200

/** The whole report; ends in a line break. */
export function formatDifference(difference: Difference, format: DifferenceFormat): string {
  if (format === 'json') return `${JSON.stringify(difference, null, 2)}\n`
  return format === 'markdown' ? markdown(difference) : prettyDifference(difference)
}

const MARKS = { added: '+', removed: '-', changed: '~' } as const

function prettyDifference({ rules, exchanges, tried }: Difference): string {
  const lines = rules.flatMap(({ name, change, fields }) => [
    `${MARKS[change]} ${name}${change === 'changed' ? '' : ` (${change})`}`,
    ...fields.map(({ field, old, new: next }) => `    ${field}: ${value(old)} → ${value(next)}`),
  ])
  for (const one of exchanges.slice(0, MAX_LISTED)) {
    lines.push(`! ${oneLine(one.where)}: ${effect(one.old)} → ${effect(one.new)}${textNote(one)}`)
  }
  lines.push(...more(exchanges), differenceSummary(rules, exchanges, tried))
  return `${lines.join('\n')}\n`
}

function markdown({ rules, exchanges, tried }: Difference): string {
  const lines = ['### Policy rules', '', differenceSummary(rules, exchanges, tried), '']
  if (rules.length > 0) {
    lines.push('| rule | change | before | after |', '|---|---|---|---|')
    for (const { name, change, fields } of rules) {
      if (fields.length === 0) lines.push(`| ${cell(name)} | ${change} | | |`)
      for (const { field, old, new: next } of fields) {
        lines.push(`| ${cell(name)} | ${field} | ${cell(value(old))} | ${cell(value(next))} |`)
      }
    }
    lines.push('')
  }
  if (exchanges.length > 0) {
    lines.push('| exchange | before | after |', '|---|---|---|')
    for (const one of exchanges.slice(0, MAX_LISTED)) {
      const after = `${effect(one.new)}${textNote(one)}`
      lines.push(`| ${cell(oneLine(one.where))} | ${cell(effect(one.old))} | ${cell(after)} |`)
    }
    lines.push(...more(exchanges), '')
  }
  return `${lines.join('\n')}\n`
}

const differenceSummary = (
  rules: readonly RuleDifference[],
  exchanges: readonly ExchangeDifference[],
  tried: number,
): string => {
  const count = (change: RuleDifference['change']) => rules.filter((rule) => rule.change === change).length
  return `Rules: ${count('added')} added, ${count('removed')} removed, ${count('changed')} changed. Exchanges: ${exchanges.length} of ${tried} come out differently.`
}

const more = (exchanges: readonly ExchangeDifference[]): string[] =>
  exchanges.length > MAX_LISTED ? [`… and ${counted(exchanges.length - MAX_LISTED, 'exchange')} more`] : []

const effect = ({ decision, rules }: ExchangeDifference['old']): string =>
  rules.length === 0 ? decision : `${decision} (${rules.join(', ')})`

const textNote = ({ textDiffers }: ExchangeDifference): string => (textDiffers ? ', other text' : '')

/** Without what would steer a terminal or end the line: names of tests are anything. */
const oneLine = (text: string): string => text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ')

const value = (text: string | null): string => {
  if (text === null) return '(none)'
  const line = oneLine(text)
  return line.length > MAX_VALUE_CHARACTERS ? `${line.slice(0, MAX_VALUE_CHARACTERS)}…` : line
}

/** Text in a table's cell, whatever it holds; names and patterns are shown, not rendered. */
const cell = (text: string): string =>
  text.replace(/[\\`*_[\]<>&|~#!@]/g, (character) => `&#${character.codePointAt(0)};`)

export const VERDICT_FORMATS = ['pretty', 'tap', 'junit', 'json'] as const
export type VerdictFormat = (typeof VERDICT_FORMATS)[number]

/** Characters of a text that are shown around the place where two begin to differ. */
const SHOWN_BEFORE = 30
const SHOWN_AFTER = 90

/** The whole report; ends in a line break. */
export function formatVerdicts(verdicts: readonly Verdict[], format: VerdictFormat): string {
  switch (format) {
    case 'pretty':
      return prettyVerdicts(verdicts)
    case 'tap':
      return tap(verdicts)
    case 'junit':
      return junitReport(
        'sidegate test',
        verdicts.map(({ test, mismatches }) => ({
          suite: test.file,
          name: test.name,
          failure: mismatches.length === 0 ? null : details(mismatches).join('\n'),
        })),
      )
    case 'json':
      return `${JSON.stringify(
        {
          total: verdicts.length,
          failed: failures(verdicts),
          tests: verdicts.map(({ test: { file, line, name }, mismatches }) => ({
            file,
            line,
            name,
            ok: mismatches.length === 0,
            mismatches,
          })),
        },
        null,
        2,
      )}\n`
  }
}

const failures = (verdicts: readonly Verdict[]): number =>
  verdicts.filter(({ mismatches }) => mismatches.length > 0).length

function prettyVerdicts(verdicts: readonly Verdict[]): string {
  const lines = verdicts.flatMap(({ test, mismatches }) =>
    mismatches.length === 0
      ? []
      : [
          `FAIL ${test.file}:${test.line} ${visibleLine(test.name)}`,
          ...details(mismatches).map((line) => `  ${line}`),
        ],
  )
  const failed = failures(verdicts)
  return `${[...lines, `${counted(verdicts.length, 'test')}: ${verdicts.length - failed} passed, ${failed} failed`].join('\n')}\n`
}

function tap(verdicts: readonly Verdict[]): string {
  const lines = verdicts.flatMap(({ test, mismatches }, index) => {
    const title = visibleLine(`${index + 1} - ${test.file}: ${test.name}`).replace(/[\\#]/g, '\\$&')
    if (mismatches.length === 0) return [`ok ${title}`]
    return [`not ok ${title}`, ...details(mismatches).map((line) => `# ${line}`)]
  })
  return `${['TAP version 14', `1..${verdicts.length}`, ...lines].join('\n')}\n`
}

/** Expected and got under one another, and a mark where they part. */
function details(mismatches: readonly Mismatch[]): string[] {
  return mismatches.flatMap(({ what, expected, got }) => {
    let same = 0
    while (same < expected.length && expected[same] === got[same]) same++
    const from = Math.max(0, same - SHOWN_BEFORE)
    const shown = (text: string) => visibleLine(text.slice(from, same + SHOWN_AFTER))
    const mark = ' '.repeat(visibleLine(expected.slice(from, same)).length)
    return [`${what}:`, `  expected  ${shown(expected)}`, `  got       ${shown(got)}`, `            ${mark}^`]
  })
}

/** As a terminal may show it: what would steer it is one mark. */
const visibleLine = (text: string): string =>
  text.replace(/\p{C}/gu, (character) => (character === '\n' ? '\\n' : '\uFFFD'))

/** Characters XML 1.0 §2.2 has no way to write. */
const FORBIDDEN = /[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\n': '&#10;',
  '\r': '&#13;',
  '\t': '&#9;',
}

/** Text for an attribute or an element; what XML cannot carry becomes U+FFFD. */
const escapeXml = (text: string): string =>
  text.replace(FORBIDDEN, '\uFFFD').replace(/[&<>"\n\r\t]/g, (character) => ESCAPES[character]!)

/** One test case of a report. */
export interface XmlCase {
  readonly suite: string
  readonly name: string
  /** Null for a case that passed. */
  readonly failure: string | null
}

/** A report in the form CI systems read as JUnit's. */
export function junitReport(name: string, cases: readonly XmlCase[]): string {
  const failures = cases.filter(({ failure }) => failure !== null).length
  const attributes = `name="${escapeXml(name)}" tests="${cases.length}" failures="${failures}" errors="0"`
  const lines = cases.map(({ suite, name: title, failure }) => {
    const head = `    <testcase classname="${escapeXml(suite)}" name="${escapeXml(title)}"`
    if (failure === null) return `${head}/>`
    const first = failure.split('\n', 1)[0] ?? ''
    return `${head}><failure message="${escapeXml(first)}">${escapeXml(failure)}</failure></testcase>`
  })
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<testsuites>',
    `  <testsuite ${attributes}>`,
    ...lines,
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n')
}
