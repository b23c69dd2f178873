// Finds the owner of a call's API key. Every wrong key gets the same message, so that a caller
// cannot learn whether a key exists.

import type { IncomingHttpHeaders } from 'node:http'
import type { KeyIdentity } from '../core/apikey.ts'
import { GatewayError } from '../core/errors.ts'

/** The part of the store that authentication reads. */
export interface KeyRing {
  /** The key's owner; null for a malformed, unknown or revoked key. Never answers from a cache. */
  authenticate(key: string): KeyIdentity | null
}

const MESSAGE =
  'Incorrect API key provided. Send a Sidegate key as `authorization: Bearer sgate_live_…` or in `x-api-key`; an administrator can create one.'

/** RFC 6750 §2.1; the scheme's name in any case (RFC 9110 §11.1). */
const BEARER = /^bearer +([^\s]+)$/i

function keyHeader({ 'x-api-key': key }: IncomingHttpHeaders): string | undefined {
  return typeof key === 'string' && key !== '' ? key : undefined
}

/**
 * The owner of the bearer token (RFC 6750 §2.1), or without one of `x-api-key`, which Anthropic's
 * clients send.
 * @throws GatewayError `invalid_api_key`
 */
export function authenticate(keys: KeyRing, headers: IncomingHttpHeaders): KeyIdentity {
  const token = BEARER.exec(headers.authorization ?? '')?.[1] ?? keyHeader(headers)
  const identity = token === undefined ? null : keys.authenticate(token)
  if (identity !== null) return identity
  throw new GatewayError('invalid_api_key', MESSAGE, { headers: { 'www-authenticate': 'Bearer' } })
}
