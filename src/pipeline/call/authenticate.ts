// Finds the API key of a call. Every wrong key gets the same message, so that a caller
// cannot learn whether a key exists.

import type { IncomingHttpHeaders } from 'node:http'
import { GatewayError } from '../../core/errors.ts'
import type { CallKey } from '../../core/key-terms.ts'
import type { KeyRing } from '../../store/keys/key-ring.ts'
import type { Client } from './client.ts'

const MESSAGE =
  'Incorrect API key provided. Send a Sidegate key as `authorization: Bearer sgate_live_…` or in `x-api-key`; an administrator can create one.'

const TWO_KEYS =
  '`authorization` and `x-api-key` hold two different Sidegate keys; send only the one that the call is for.'

const TWO_NAMES =
  'The client certificate has the names of two keys (`keys[].clientCertificate.san`); send the Sidegate key that the call is for.'

const STALE =
  'This key belongs to a hub that the gateway has not heard from for too long (fleet.maxStaleSeconds), or not since it said goodbye. Retry; if it persists, an administrator finds the reason at GET /api/v1/status, in `fleet`.'
/** A hub that is back is heard within its backoff of two seconds. */
const STALE_RETRY_SECONDS = '2'

/** RFC 6750 §2.1; the scheme's name in any case (RFC 9110 §11.1). */
const BEARER = /^bearer +([^\s]+)$/i

/**
 * What may be keys, the bearer token (RFC 6750 §2.1) first; the same one only once. Anthropic's
 * clients send `x-api-key`.
 */
function credentialsIn({ authorization = '', 'x-api-key': key }: IncomingHttpHeaders): readonly string[] {
  const token = BEARER.exec(authorization)?.[1]
  const found = [token, typeof key === 'string' && key !== '' ? key : undefined]
  return [...new Set(found.filter((one) => one !== undefined))]
}

/**
 * The owner of the key in `authorization` or `x-api-key`. Agents send a credential of their
 * provider in the one and the key in the other: it is ignored. With neither, the owner of the
 * certificate of the connection.
 * @throws GatewayError `invalid_api_key`, or `expired_api_key`, which clients cannot tell from it;
 *   `fleet_stale`; `invalid_parameter` for two different keys
 */
export function authenticate(
  keys: Pick<KeyRing, 'authenticate' | 'authenticateCertificate'>,
  { headers, certificate }: Pick<Client, 'headers' | 'certificate'>,
): CallKey {
  const sent = credentialsIn(headers)
  const isCertificate = sent.length === 0 && certificate !== null
  const answers = isCertificate
    ? keys.authenticateCertificate(certificate)
    : sent.map((credential) => keys.authenticate(credential))
  const [key, other] = answers.filter((one) => one !== null && typeof one !== 'string')
  if (other !== undefined) throw new GatewayError('invalid_parameter', isCertificate ? TWO_NAMES : TWO_KEYS)
  if (key !== undefined) return key
  if (answers.includes('stale'))
    throw new GatewayError('fleet_stale', STALE, { headers: { 'retry-after': STALE_RETRY_SECONDS } })
  throw new GatewayError(answers.includes('expired') ? 'expired_api_key' : 'invalid_api_key', MESSAGE, {
    headers: { 'www-authenticate': 'Bearer' },
    extra: { code: 'invalid_api_key' },
  })
}
