// A comparison of rule sets as people and machines read it.

import type { Difference, ExchangeDifference, RuleDifference } from './difference.ts'
import { counted } from './remarks.ts'

export const DIFFERENCE_FORMATS = ['pretty', 'markdown', 'json'] as const
export type DifferenceFormat = (typeof DIFFERENCE_FORMATS)[number]

/** Changed exchanges that a report for people lists one by one. */
const MAX_LISTED = 50
const MAX_VALUE_CHARACTERS = 200

/** The whole report; ends in a line break. */
export function formatDifference(difference: Difference, format: DifferenceFormat): string {
  if (format === 'json') return `${JSON.stringify(difference, null, 2)}\n`
  return format === 'markdown' ? markdown(difference) : pretty(difference)
}

const MARKS = { added: '+', removed: '-', changed: '~' } as const

function pretty({ rules, exchanges, tried }: Difference): string {
  const lines = rules.flatMap(({ name, change, fields }) => [
    `${MARKS[change]} ${name}${change === 'changed' ? '' : ` (${change})`}`,
    ...fields.map(({ field, old, new: next }) => `    ${field}: ${value(old)} → ${value(next)}`),
  ])
  for (const one of exchanges.slice(0, MAX_LISTED)) {
    lines.push(`! ${oneLine(one.where)}: ${effect(one.old)} → ${effect(one.new)}${textNote(one)}`)
  }
  lines.push(...more(exchanges), summary(rules, exchanges, tried))
  return `${lines.join('\n')}\n`
}

function markdown({ rules, exchanges, tried }: Difference): string {
  const lines = ['### Policy rules', '', summary(rules, exchanges, tried), '']
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

const summary = (
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
