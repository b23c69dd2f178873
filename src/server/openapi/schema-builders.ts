// Builders of JSON Schema for the description of the API.

import type { JsonObject } from '../../core/json.ts'

export const text = (description: string): JsonObject => ({ type: 'string', description })
export const time = (description: string): JsonObject => ({
  type: 'string',
  format: 'date-time',
  description,
})
export const flag = (description: string): JsonObject => ({ type: 'boolean', description })
export const number = (description: string): JsonObject => ({ type: 'number', description })
/** An integer of at least `minimum`. */
export const whole = (description: string, minimum = 0): JsonObject => ({
  type: 'integer',
  minimum,
  description,
})
/** An integer within bounds, each inclusive. */
export const bounded = (minimum: number, maximum?: number, preset?: number): JsonObject => ({
  type: 'integer',
  minimum,
  ...(maximum === undefined ? {} : { maximum }),
  ...(preset === undefined ? {} : { default: preset }),
})
/** A string of bounded length. */
export const short = (minLength: number, maxLength: number): JsonObject => ({
  type: 'string',
  minLength,
  maxLength,
})
export const choice = (description: string, ...values: readonly string[]): JsonObject => ({
  type: 'string',
  enum: [...values],
  description,
})
export const list = (items: JsonObject): JsonObject => ({ type: 'array', items })
export const orNull = (schema: JsonObject): JsonObject => ({ anyOf: [schema, { type: 'null' }] })
/** A schema of the components. */
export const ref = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` })

/** An object. Its properties are required, except the `optional` ones. */
export const object = (
  properties: Record<string, JsonObject>,
  optional: readonly string[] = [],
): JsonObject => ({
  type: 'object',
  properties,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
})
