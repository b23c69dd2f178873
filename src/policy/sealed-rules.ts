// Rules as the log holds them: declarations in the parts of one or several entries.

import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import { declaredRule } from './declared-rule.ts'
import type { Rule } from './rule.ts'

/** Bytes of declarations in one entry, so it stays below the limit of entries. */
const PART_BYTES = 196_608

/** Returns a rule as declared. Fractions are texts, because entries hold whole numbers only. */
export const sealedRule = (rule: Rule): JsonObject => sealable(declaredRule(rule)) as JsonObject

function sealable(value: JsonValue): JsonValue {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value : String(value)
  if (Array.isArray(value)) return value.map(sealable)
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, sealable(member)]))
}

/** Splits declarations into what entries hold; returns at least one part. */
export function sealedParts(declarations: readonly JsonObject[]): JsonObject[][] {
  const parts: JsonObject[][] = [[]]
  let bytes = 0
  for (const declaration of declarations) {
    const length = Buffer.byteLength(JSON.stringify(declaration))
    if (bytes > 0 && bytes + length > PART_BYTES) {
      parts.push([])
      bytes = 0
    }
    parts.at(-1)?.push(declaration)
    bytes += length
  }
  return parts
}
