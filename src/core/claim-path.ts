// Finds the claims of a token by name or path.

import { isObject, type JsonObject, type JsonValue } from './json.ts'

/**
 * Returns the claim with the name, or the member that the name leads to as a path with dots, such
 * as `realm_access.roles`; undefined without one. A name with dots that is a claim, such as an
 * address, is no path.
 */
export function claimAt(claims: JsonObject, name: string): JsonValue | undefined {
  let value: JsonValue | undefined = claims
  for (const key of Object.hasOwn(claims, name) ? [name] : name.split('.'))
    value = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
  return value
}
