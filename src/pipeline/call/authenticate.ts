// Finds the API key of a call. Every wrong key gets the same message, so that a caller
// cannot learn whether a key exists.

import type { IncomingHttpHeaders } from 'node:http'
import { GatewayError } from '../../core/errors.ts'
import type { CallKey } from '../../core/key-terms.ts'

/** The part of the store that authentication reads. */
export interface KeyRing {
  /**
   * The key with its terms; null for a malformed, unknown or revoked one, `expired` for one whose
   * time is over. Never answers from a cache.
   */
  authenticate(key: string): CallKey | 'expired' | null
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
 * @throws GatewayError `invalid_api_key`, or `expired_api_key`, which clients cannot tell from it
 */
export function authenticate(keys: KeyRing, headers: IncomingHttpHeaders): CallKey {
  const token = BEARER.exec(headers.authorization ?? '')?.[1] ?? keyHeader(headers)
  const key = token === undefined ? null : keys.authenticate(token)
  if (key !== null && key !== 'expired') return key
  throw new GatewayError(key === null ? 'invalid_api_key' : 'expired_api_key', MESSAGE, {
    headers: { 'www-authenticate': 'Bearer' },
    extra: { code: 'invalid_api_key' },
  })
}
