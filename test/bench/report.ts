// Figures as tables a person reads and as JSON a later run compares with.

import type { Figures } from './scenarios.ts'

export interface Result {
  readonly scenario: string
  readonly headline: string
  /** By subject, one set of figures a round. */
  readonly subjects: Readonly<Record<string, readonly Figures[]>>
}

export interface Report {
  readonly date: string
  readonly machine: string
  readonly node: string
  readonly revision: string
  readonly results: readonly Result[]
}

const REFERENCE = 'floor'

export const median = (values: readonly number[]): number => {
  const ascending = values.toSorted((a, b) => a - b)
  const middle = Math.floor(ascending.length / 2)
  return ascending.length % 2 === 1
    ? (ascending[middle] ?? Number.NaN)
    : ((ascending[middle - 1] ?? Number.NaN) + (ascending[middle] ?? Number.NaN)) / 2
}

const figure = (rounds: readonly Figures[], name: string): number =>
  median(rounds.map((round) => round[name] ?? Number.NaN))

/** Ratios are taken round by round: what slowed a whole round down slowed both sides. */
export function ratios(result: Result, subject: string, reference: string): number[] {
  const own = result.subjects[subject] ?? []
  const other = result.subjects[reference] ?? []
  return own.map((round, index) => (round[result.headline] ?? 0) / (other[index]?.[result.headline] ?? 0))
}

export function table(result: Result): string {
  const names = Object.keys(Object.values(result.subjects)[0]?.[0] ?? {})
  const lines = [
    `**${result.scenario}**`,
    '',
    `| | ${result.headline}, of the ${REFERENCE}'s (spread) | ${names.join(' | ')} |`,
    `|---|---|${names.map(() => '---').join('|')}|`,
  ]
  for (const [subject, rounds] of Object.entries(result.subjects)) {
    const shares = ratios(result, subject, REFERENCE)
    const spread = `${round(median(shares))} (${round(Math.min(...shares))}–${round(Math.max(...shares))})`
    lines.push(`| ${subject} | ${spread} | ${names.map((name) => round(figure(rounds, name))).join(' | ')} |`)
  }
  return `${lines.join('\n')}\n`
}

/** Three digits that matter. */
const round = (value: number): string =>
  Number.isFinite(value) ? String(Number(value >= 1000 ? value.toFixed(0) : value.toPrecision(3))) : '–'
