// Reads which ServiceAccount of Kubernetes a token is for.

import { isObject, type JsonObject } from '../core/json.ts'
import { type ServiceAccount, subjectOf } from '../core/token-identity.ts'

/** The claim of Kubernetes. */
export const PLACE_CLAIM = 'kubernetes.io'

/** Returns null for other claims, and when the claim of Kubernetes and the subject differ. */
export function accountOf(claims: { readonly [name: string]: unknown }): ServiceAccount | null {
  const place = claims[PLACE_CLAIM]
  const { namespace, serviceaccount }: JsonObject = isObject(place) ? place : {}
  const name = isObject(serviceaccount) ? serviceaccount['name'] : undefined
  if (typeof namespace !== 'string' || typeof name !== 'string') return null
  const account = { namespace, name }
  return claims['sub'] === subjectOf(account) ? account : null
}
