// The fields of a form for a rule, from the JSON Schema of rules: how each is asked for, and the
// types that have it. A field that the schema gains is in the form without another line of code.

import type { JsonObject, JsonValue } from '../core/json.ts'
import type { RuleType } from '../policy/rule-type.ts'
import { RULE_TYPES } from '../policy/rule-types.ts'
import { VALUE_FIELDS } from '../policy/value-fields.ts'
import { RULE_SCHEMA } from './schema.ts'

/**
 * How a value is asked for: `items` are separated by commas, `lines` and `pairs` (`name=value`) by
 * lines, `places` are two texts a line, and `json` is any other value.
 */
export type RuleFieldForm =
  | 'text'
  | 'prose'
  | 'number'
  | 'flag'
  | 'choice'
  | 'items'
  | 'lines'
  | 'pairs'
  | 'places'
  | 'json'

export interface RuleFormField {
  /** As errors of the API name it: `match.models`. */
  readonly path: string
  readonly form: RuleFieldForm
  readonly hint: string
  readonly isRequired: boolean
  /** Names of the two texts of each of `places`. */
  readonly parts: readonly string[]
  /** What may be chosen, by the names of the types that have the field. */
  readonly types: Readonly<Record<string, readonly string[]>>
}

/** What the form asks for on its own, as it depends on the type, and what each new rule is. */
const LEFT_OUT = new Set(['type', 'pattern', 'enabled', 'match'])
/** Longest text that is asked for on one line, and longest item that needs no line of its own. */
const LINE_CHARACTERS = 256

export function ruleFormFields(): readonly RuleFormField[] {
  const { properties, required } = RULE_SCHEMA
  const own = Object.entries<JsonObject>(properties).filter(([name]) => !LEFT_OUT.has(name))
  const match = Object.entries<JsonObject>(properties.match.properties)
  const isRequired = (path: string): boolean => (required as readonly string[]).includes(path)
  return [...own, ...match.map(([name, schema]) => [`match.${name}`, schema] as const)].map(
    ([path, schema]) => ({
      path,
      ...formOf(schema),
      hint: hintOf(schema),
      isRequired: isRequired(path),
      types: Object.fromEntries(
        RULE_TYPES.flatMap((type) => {
          const options = optionsOf(type, path, schema)
          return options === null ? [] : [[type.name, options]]
        }),
      ),
    }),
  )
}

/** The first sentence, without the types that the field is for. */
const hintOf = ({ description }: JsonObject): string => {
  const [first = ''] = String(description ?? '').split(/(?<=\.) /, 1)
  const said = first.replace(/^For [a-z_]+(?:(?:, | and )[a-z_]+)*(?: with [a-z]+(?: or [a-z]+)?)?, /, '')
  return (said[0]?.toUpperCase() ?? '') + said.slice(1)
}

function formOf(schema: JsonObject): Pick<RuleFormField, 'form' | 'parts'> {
  const items = (schema['items'] ?? {}) as JsonObject
  const members = Object.keys((items['properties'] ?? {}) as JsonObject)
  const length = Number(schema['maxLength'] ?? 0)
  const plain = (form: RuleFieldForm) => ({ form, parts: [] })
  if (schema['enum'] !== undefined) return plain('choice')
  switch (schema['type']) {
    case 'string':
      return plain(length > LINE_CHARACTERS ? 'prose' : 'text')
    case 'number':
    case 'integer':
      return plain('number')
    case 'boolean':
      return plain('flag')
    case 'object':
      return plain(schema['additionalProperties'] ? 'pairs' : 'json')
    case 'array':
      if (members.length === 2) return { form: 'places', parts: members }
      if (items['type'] === 'object') return plain('json')
      return plain(Number(items['maxLength'] ?? 0) > LINE_CHARACTERS ? 'lines' : 'items')
    default:
      return plain('json')
  }
}

const enumOf = (schema: JsonObject): readonly string[] => {
  const listed = (schema['enum'] ?? (schema['items'] as JsonObject | undefined)?.['enum']) as
    | readonly JsonValue[]
    | undefined
  return (listed ?? []).map(String)
}

/** Returns what may be chosen in a field of a type, empty for any value; null without the field. */
function optionsOf(type: RuleType, path: string, schema: JsonObject): readonly string[] | null {
  const only = (has: boolean | undefined) => (has === true ? enumOf(schema) : null)
  const valueField = VALUE_FIELDS.find((name) => name === path)
  if (valueField !== undefined) return only(type.valueFields?.includes(valueField))
  switch (path) {
    case 'per':
      return only(type.isCounted)
    case 'arguments':
    case 'after':
    case 'afterInjection':
      return only(type.narrowsTools)
    case 'placeholders':
      return only(type.replaces)
    case 'restore':
      return only(type.actions.includes('pseudonym'))
    case 'match.parts':
      return only(type.readsTexts)
    case 'action':
      return type.actions.length === 0 ? null : type.actions
    case 'match.direction': {
      const allowed = type.directions?.allowed ?? enumOf(schema)
      return allowed.length === 0 ? null : [...new Set([...allowed, 'both'])]
    }
    default:
      return enumOf(schema)
  }
}
