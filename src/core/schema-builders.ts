// Builders of JSON Schema, each with the type of the values that it describes.

import type { JsonObject } from './json.ts'

declare const VALUE: unique symbol
/** A JSON Schema of values of one type. The type exists for the compiler only. */
export type Schema<Value = unknown> = JsonObject & { readonly [VALUE]?: Value }
/** The values that a schema describes. */
export type ValueOf<One> = One extends Schema<infer Value> ? Value : unknown

export const text = (description: string): Schema<string> => ({ type: 'string', description })
export const time = (description: string): Schema<string> => ({
  type: 'string',
  format: 'date-time',
  description,
})
export const flag = <Value extends boolean = boolean>(description: string): Schema<Value> => ({
  type: 'boolean',
  description,
})
export const number = (description: string): Schema<number> => ({ type: 'number', description })
/** An integer of at least `minimum`, and at most `maximum` if there is one. */
export const whole = (description: string, minimum = 0, maximum?: number): Schema<number> => ({
  type: 'integer',
  minimum,
  ...(maximum === undefined ? {} : { maximum }),
  description,
})
/** An integer within bounds, each inclusive. */
export const bounded = (minimum: number, maximum?: number, preset?: number): Schema<number> => ({
  type: 'integer',
  minimum,
  ...(maximum === undefined ? {} : { maximum }),
  ...(preset === undefined ? {} : { default: preset }),
})
/** A string of bounded length. */
export const short = (minLength: number, maxLength: number): Schema<string> => ({
  type: 'string',
  minLength,
  maxLength,
})
export const choice = <Value extends string>(
  description: string,
  ...values: readonly Value[]
): Schema<Value> => ({ type: 'string', enum: [...values], description })
export const list = <Item>(items: Schema<Item>): Schema<Item[]> => ({ type: 'array', items })
export const orNull = <Value>(schema: Schema<Value>): Schema<Value | null> => ({
  anyOf: [schema, { type: 'null' }],
})
/** A schema of the components. */
export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` })

type Properties = Readonly<Record<string, Schema>>

/** An object. Its properties are required, except the `optional` ones. */
export const object = <All extends Properties>(
  properties: All,
  optional: readonly string[] = [],
): Schema<{ readonly [Name in keyof All]: ValueOf<All[Name]> }> => ({
  type: 'object',
  properties,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
})
