// The JSON value types every floor shares.

export type JsonPrimitive = string | number | boolean | null
export type JsonValue = JsonPrimitive | JsonValue[] | JsonObject
export interface JsonObject {
  [key: string]: JsonValue
}

/** A number that a double cannot hold, as it was written; `JSON.stringify` writes it so again (ECMA-262, JSON.rawJSON). */
export interface RawNumber {
  readonly rawJSON: string
}

// Not in TypeScript's own types yet.
const RawJson = JSON as unknown as {
  parse(
    text: string,
    revive: (key: string, value: unknown, context: { source: string }) => unknown,
  ): JsonValue
  rawJSON(text: string): RawNumber & JsonObject
  isRawJSON(value: unknown): value is RawNumber
}

/** Neither a list nor a `RawNumber`, which is an object to the language. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !RawJson.isRawJSON(value)

export const isRawNumber = (value: unknown): value is RawNumber => RawJson.isRawJSON(value)

/** As `JSON.parse`, but numbers that would change when written again stay as they are. Takes several times as long. */
export const parseExactly = (text: string): JsonValue =>
  RawJson.parse(text, (_key, value, { source }) =>
    typeof value === 'number' && isInexact(value) ? RawJson.rawJSON(source) : value,
  )

/** Whether a number was, or may have been, written with more digits than are left. Of fractions nobody counts on the last. */
export const isInexact = (value: number): boolean =>
  !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))
