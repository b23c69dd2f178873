// Reads the claims about a person as names of groups, and whether a provider left a list out.

import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'

/** A text, the texts of a list, or the keys of an object, by which some providers name roles. */
export const namesOf = (claim: JsonValue | undefined): string[] =>
  isObject(claim) ? Object.keys(claim) : [claim].flat().filter((one) => typeof one === 'string')

/**
 * Reports whether the provider left a claim out because it is too long: `_claim_names` refers to it
 * (OpenID Connect Core 1.0 §5.6.2), or `hasgroups` is set, as Microsoft Entra does.
 */
export function isLeftOut(claims: JsonObject, name: string): boolean {
  const elsewhere = claims['_claim_names']
  if (isObject(elsewhere) && Object.hasOwn(elsewhere, name)) return true
  return name === 'groups' && [true, 'true'].includes(claims['hasgroups'] as boolean | string)
}
