// Formats figures as markdown tables and shows progress on a terminal.

import type { Figures } from './scenarios.ts'

/** Where and with which code a run was made. */
export interface Machine {
  readonly date: string
  readonly machine: string
  readonly node: string
  /** Of the tree; ends in `-dirty` when it has uncommitted changes. */
  readonly revision: string
}

export interface Result {
  readonly scenario: string
  readonly headline: string
  /** One set of figures a round, by the name of the subject. */
  readonly subjects: Readonly<Record<string, readonly Figures[]>>
}

const REFERENCE = 'floor'

/** The middle value, or the mean of the two in the middle; NaN without values. */
export const median = (values: readonly number[]): number => {
  const ascending = values.toSorted((a, b) => a - b)
  const middle = Math.floor(ascending.length / 2)
  return ascending.length % 2 === 1
    ? (ascending[middle] ?? Number.NaN)
    : ((ascending[middle - 1] ?? Number.NaN) + (ascending[middle] ?? Number.NaN)) / 2
}

const figure = (rounds: readonly Figures[], name: string): number =>
  median(rounds.map((round) => round[name] ?? Number.NaN))

/** Divides the headline figures round by round: what slowed a round down slowed both sides. */
function ratios(result: Result, subject: string, reference: string): number[] {
  const own = result.subjects[subject] ?? []
  const other = result.subjects[reference] ?? []
  return own.map((round, index) => (round[result.headline] ?? 0) / (other[index]?.[result.headline] ?? 0))
}

/**
 * A table with one row a subject: ratio to the floor with its spread, then the median of each
 * figure.
 */
export function table(result: Result): string {
  const names = Object.keys(Object.values(result.subjects)[0]?.[0] ?? {})
  const lines = [
    `**${result.scenario}**`,
    '',
    `| | ${result.headline}, ratio to the ${REFERENCE} (spread) | ${names.join(' | ')} |`,
    `|---|---|${names.map(() => '---').join('|')}|`,
  ]
  for (const [subject, rounds] of Object.entries(result.subjects)) {
    const shares = ratios(result, subject, REFERENCE)
    const spread = `${round(median(shares))} (${round(Math.min(...shares))}–${round(Math.max(...shares))})`
    lines.push(`| ${subject} | ${spread} | ${names.map((name) => round(figure(rounds, name))).join(' | ')} |`)
  }
  return `${lines.join('\n')}\n`
}

/** Three significant digits; integers from 1,000 on. */
const round = (value: number): string =>
  Number.isFinite(value) ? String(Number(value >= 1000 ? value.toFixed(0) : value.toPrecision(3))) : '–'

/** Replaces the line of progress on stderr; an empty text removes it. Prints only on a terminal. */
export function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`)
}
