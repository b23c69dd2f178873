// JSON value types, and numbers that a double cannot hold.

export type JsonPrimitive = string | number | boolean | null
export type JsonValue = JsonPrimitive | JsonValue[] | JsonObject
export interface JsonObject {
  [key: string]: JsonValue
}

/** Source text of a number that a double cannot hold. `JSON.stringify` writes it unchanged. */
export interface RawNumber {
  readonly rawJSON: string
}

// TypeScript does not declare these yet.
const RawJson = JSON as unknown as {
  rawJSON(text: string): RawNumber & JsonObject
  isRawJSON(value: unknown): value is RawNumber
}

/** Reports whether the value is a JSON object: neither a list nor a `RawNumber`. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !RawJson.isRawJSON(value)

/** Returns the objects of a list, in order; none for a value that is no list. */
export const objectsIn = (value: unknown): JsonObject[] =>
  Array.isArray(value) ? value.filter(isObject) : []

/** Maximum levels of lists in lists that are read. */
const MAXIMUM_LISTS = 16

/** Lists the objects of a list, and of lists in it; of an object, itself and those in it. */
export function itemsIn(value: unknown, levels = MAXIMUM_LISTS): JsonObject[] {
  if (isObject(value)) return [value, ...itemsIn(Object.values(value), levels)]
  if (!Array.isArray(value) || levels === 0) return []
  return value.flatMap((item) => (isObject(item) ? [item] : itemsIn(item, levels - 1)))
}

export const isRawNumber = (value: unknown): value is RawNumber => RawJson.isRawJSON(value)

/** Reports whether the value is a JSON number, whether or not a double can hold it. */
export const isJsonNumber = (value: unknown): value is number | RawNumber =>
  typeof value === 'number' || isRawNumber(value)

/** @param source text of a JSON number */
export const rawNumber = (source: string): RawNumber & JsonObject => RawJson.rawJSON(source)

/**
 * Reports whether parsing may have lost digits of an integer. Fractions are never expected to keep
 * the last digit.
 */
export const isInexact = (value: number): boolean =>
  !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))
