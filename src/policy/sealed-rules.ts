// Rules as the log holds them: declarations in the parts of one or several entries.

import type { JsonObject } from '../core/json.ts'
import type { Rule } from './rule.ts'
import { CONDITION_FIELDS } from './tool-conditions.ts'
import { VALUE_FIELDS } from './value-fields.ts'

/** Bytes of declarations in one entry, so it stays below the limit of entries. */
const PART_BYTES = 196_608

const FIELDS = [...CONDITION_FIELDS, ...VALUE_FIELDS] as const

/** Returns a rule as declared, without derived fields. */
export function sealedRule({ pattern, per, placeholders, restore, ...rule }: Rule): JsonObject {
  const { id, name, type, action, enabled, description, match } = rule
  return {
    ...{ id, name, type, pattern: typeof pattern === 'string' ? pattern : [...pattern] },
    ...Object.fromEntries(
      FIELDS.flatMap((name) => (rule[name] === undefined ? [] : [[name, structuredClone(rule[name])]])),
    ),
    ...(per === undefined ? {} : { per }),
    ...(placeholders === undefined ? {} : { placeholders }),
    ...(action === undefined ? {} : { action }),
    ...(restore === undefined ? {} : { restore }),
    enabled,
    ...(description === undefined ? {} : { description }),
    ...(match === undefined ? {} : { match: structuredClone(match) as JsonObject }),
  }
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
