// Compares one value with a schema of schema-builders.ts, for values of which each arrives often:
// it compiles nothing.

import { isObject } from './json.ts'
import type { Schema } from './schema-builders.ts'
import { parseTime } from './time.ts'

/**
 * Returns what is wrong with a value, such as `pii[0].count must be a whole number of at least 0`;
 * null if nothing is. The message repeats neither the value nor names that the value chose.
 * Any text passes for one of a choice: a later release may have more of them.
 * @param path name of the value
 */
export function schemaFault(value: unknown, schema: Schema, path: string): string | null {
  const choices = schema['anyOf'] as readonly Schema[] | undefined
  if (choices?.some((one) => schemaFault(value, one, path) === null) === true) return null
  // The first choice has the most to say of an object or a list.
  const [first] = choices ?? []
  const isPart = Array.isArray(value) || isObject(value)
  if (first !== undefined && isPart) return schemaFault(value, first, path)
  if (!isOfType(value, schema)) return `${path} must be ${expectedBy(schema)}`
  if (Array.isArray(value)) return faultOfItems(value, schema, path)
  return isObject(value) ? faultOfMembers(value, schema, path) : null
}

function isOfType(value: unknown, schema: Schema): boolean {
  switch (schema['type']) {
    case 'string':
      return typeof value === 'string' && (schema['format'] !== 'date-time' || isTime(value))
    case 'integer':
      return Number.isSafeInteger(value) && isInRange(value as number, schema)
    case 'number':
      return typeof value === 'number' && isInRange(value, schema)
    case 'boolean':
      return typeof value === 'boolean'
    case 'array':
      return Array.isArray(value)
    case 'object':
      return isObject(value)
    case 'null':
      return value === null
    default:
      return false
  }
}

const isTime = (text: string): boolean => (parseTime(text) ?? -1) >= 0

function isInRange(value: number, { minimum, maximum }: Schema): boolean {
  return !(value < Number(minimum ?? Number.NEGATIVE_INFINITY) || value > Number(maximum ?? Infinity))
}

function expectedBy(schema: Schema): string {
  const { anyOf, type, format, minimum, maximum } = schema
  if (anyOf !== undefined) return (anyOf as readonly Schema[]).map(expectedBy).join(' or ')
  if (type === 'string') return format === 'date-time' ? 'an RFC 3339 time since 1970' : 'a text'
  if (type === 'boolean') return 'true or false'
  if (type === 'array') return 'a list'
  if (type === 'object') return 'an object'
  if (type === 'null') return 'null'
  const number = type === 'integer' ? 'a whole number' : 'a number'
  if (minimum === undefined) return number
  return maximum === undefined
    ? `${number} of at least ${minimum}`
    : `${number} from ${minimum} to ${maximum}`
}

function faultOfItems(items: readonly unknown[], schema: Schema, path: string): string | null {
  for (const [index, item] of items.entries()) {
    const fault = schemaFault(item, schema['items'] as Schema, `${path}[${index}]`)
    if (fault !== null) return fault
  }
  return null
}

function faultOfMembers(value: object, schema: Schema, path: string): string | null {
  const properties = (schema['properties'] ?? {}) as Readonly<Record<string, Schema>>
  const required = (schema['required'] ?? []) as readonly string[]
  const others = schema['additionalProperties'] as Schema | undefined
  const missing = required.find((name) => !Object.hasOwn(value, name))
  if (missing !== undefined) return `${path}.${missing} is required`
  for (const [name, member] of Object.entries(value)) {
    const isKnown = Object.hasOwn(properties, name)
    const of = isKnown ? properties[name] : others
    const fault = of === undefined ? null : schemaFault(member, of, `${path}.${isKnown ? name : '*'}`)
    if (fault !== null) return fault
  }
  return null
}
