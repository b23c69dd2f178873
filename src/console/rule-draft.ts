// What the form of a new rule holds, the body that it sends, and the same as YAML.

import type { RuleFieldFacts, RuleTypeFacts } from './gateway-facts.ts'

/** The texts of the fields by their paths, `pattern` and `type` among them. */
export type RuleDraft = Readonly<Record<string, string>>

export type RuleBody = Readonly<Record<string, unknown>>

const linesOf = (text: string): string[] => text.split('\n').filter((line) => line.trim() !== '')
const itemsOf = (text: string): string[] =>
  text
    .split(/[,\n]/)
    .map((item) => item.trim())
    .filter((item) => item !== '')

/**
 * Returns the body of `POST /api/v1/rules`. Fields that the type does not have, and empty ones, are
 * left out.
 * @throws SyntaxError for a text that is to be JSON
 */
export function ruleBody(draft: RuleDraft, type: RuleTypeFacts, fields: readonly RuleFieldFacts[]): RuleBody {
  const { pattern = '' } = draft
  const body: Record<string, unknown> = {
    name: '',
    type: type.name,
    pattern: type.form.isList ? linesOf(pattern) : pattern,
  }
  const match: Record<string, unknown> = {}
  for (const field of fields) {
    const value = field.types[type.name] === undefined ? undefined : readField(draft[field.path] ?? '', field)
    if (value === undefined) continue
    const [section = '', name] = field.path.split('.')
    if (name === undefined) body[section] = value
    else match[name] = value
  }
  return { ...body, enabled: true, ...(Object.keys(match).length > 0 && { match }) }
}

/** The value that a text stands for; undefined for an empty one. */
function readField(text: string, { form, parts }: RuleFieldFacts): unknown {
  if (text.trim() === '') return undefined
  switch (form) {
    case 'number':
      return Number(text)
    case 'flag':
      return text === 'true'
    case 'items':
      return itemsOf(text)
    case 'lines':
      return linesOf(text)
    case 'pairs':
      return Object.fromEntries(itemsOf(text).map((pair) => cut(pair, '=').map((part) => part.trim())))
    case 'places': {
      const [first = '', second = ''] = parts
      return linesOf(text).map((line) => {
        const [one, other] = cut(line, ' ')
        return { [first]: one, [second]: other }
      })
    }
    case 'json':
      return JSON.parse(text)
    default:
      return text.trim()
  }
}

/** A text before and after the first of a character. */
function cut(text: string, at: string): [string, string] {
  const index = text.indexOf(at)
  return index < 0 ? [text, ''] : [text.slice(0, index), text.slice(index + 1)]
}

/** A rule as a list item of a rule file. Every value is in the part of YAML that is JSON. */
export function ruleYaml(body: RuleBody): string {
  const lines = Object.entries(body).flatMap(([name, value]) =>
    name === 'match'
      ? [
          'match:',
          ...Object.entries(value as object).map(([one, inner]) => `  ${one}: ${JSON.stringify(inner)}`),
        ]
      : [`${name}: ${JSON.stringify(value)}`],
  )
  return `${lines.map((line, index) => `${index === 0 ? '- ' : '  '}${line}`).join('\n')}\n`
}
