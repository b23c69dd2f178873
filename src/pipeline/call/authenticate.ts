// Finds the API key of a call. Every wrong key gets the same message, so that a caller
// cannot learn whether a key exists.

import type { IncomingHttpHeaders } from 'node:http'
import { GatewayError } from '../../core/errors.ts'
import type { CallKey } from '../../core/key-terms.ts'
import type { TokenCheck } from '../../jwt/token-check.ts'
import type { TokenFinding, TokenKeys } from '../../jwt/token-keys.ts'
import type { KeyRing } from '../../store/keys/key-ring.ts'
import type { Client } from './client.ts'

const MESSAGE =
  'Incorrect API key provided. Send a Sidegate key as `authorization: Bearer sgate_live_…` or in `x-api-key`; an administrator can create one.'

const TWO_KEYS =
  '`authorization` and `x-api-key` hold two different Sidegate keys; send only the one that the call is for.'

const TWO_NAMES =
  'The client certificate has the names of two keys (`keys[].clientCertificate.san`); send the Sidegate key that the call is for.'

const TWO_MATCHES =
  'The token stands for two keys (`keys[].serviceAccount`, `keys[].jwt`); an administrator lets their audiences or claims exclude each other.'

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

/** Why no key, or the key that a credential stands for. */
type Answer = CallKey | 'expired' | 'stale' | null

/** The result for one credential. */
interface Finding {
  /** One for each key that it stands for. */
  readonly answers: readonly Answer[]
  /** Why two of them are refused. */
  readonly two: string
  /** The check that a token did not pass. */
  readonly check?: TokenCheck
}

/** Where keys are looked up. */
export interface KeySources {
  readonly keys: Pick<KeyRing, 'authenticate' | 'authenticateCertificate' | 'authenticateDeclared'>
  /** Null when no key is a token of an issuer. */
  readonly tokens: Pick<TokenKeys, 'find' | 'refused'> | null
}

/**
 * The owner of the key, or of the token of an issuer, in `authorization` or `x-api-key`. Agents
 * send a credential of their provider in the one and the key in the other: it is ignored. With
 * neither, the owner of the certificate of the connection.
 * @returns a promise only for a token that has to be verified
 * @throws GatewayError (rejects, for a promise) `invalid_api_key`, or `expired_api_key`, which
 *   clients cannot tell from it; `fleet_stale`; `invalid_parameter` for two different keys;
 *   `overloaded`
 */
export function authenticate(
  sources: KeySources,
  { headers, certificate }: Pick<Client, 'headers' | 'certificate'>,
): CallKey | Promise<CallKey> {
  const { keys } = sources
  const sent = credentialsIn(headers)
  if (sent.length === 0 && certificate !== null)
    return conclude(sources, [{ answers: keys.authenticateCertificate(certificate), two: TWO_NAMES }])
  const findings = sent.map((credential) => find(sources, credential))
  return findings.some((one) => one instanceof Promise)
    ? Promise.all(findings).then((found) => conclude(sources, found))
    : conclude(sources, findings as readonly Finding[])
}

/** Looks up a credential. A key has no dot, and a token has two. */
function find({ keys, tokens }: KeySources, credential: string): Finding | Promise<Finding> {
  if (tokens === null || !credential.includes('.'))
    return { answers: [keys.authenticate(credential)], two: TWO_KEYS }
  const ofToken = (found: TokenFinding): Finding =>
    typeof found === 'string'
      ? { answers: [], two: TWO_MATCHES, check: found }
      : { answers: keys.authenticateDeclared(found), two: TWO_MATCHES }
  const found = tokens.find(credential)
  return found instanceof Promise ? found.then(ofToken) : ofToken(found)
}

const isKey = (answer: Answer): answer is CallKey => answer !== null && typeof answer !== 'string'

/** Returns the one key of all findings. @throws GatewayError */
function conclude({ tokens }: KeySources, findings: readonly Finding[]): CallKey {
  const answers = findings.flatMap((one) => one.answers)
  // Two tokens may stand for one key.
  const [key, other] = new Set(answers.filter(isKey))
  if (other !== undefined) {
    const many = findings.find((one) => one.answers.filter(isKey).length > 1)
    throw new GatewayError('invalid_parameter', many?.two ?? TWO_KEYS)
  }
  if (key !== undefined) return key
  if (answers.includes('stale'))
    throw new GatewayError('fleet_stale', STALE, { headers: { 'retry-after': STALE_RETRY_SECONDS } })
  for (const { check } of findings) if (check !== undefined) tokens?.refused(check)
  throw new GatewayError(answers.includes('expired') ? 'expired_api_key' : 'invalid_api_key', MESSAGE, {
    headers: { 'www-authenticate': 'Bearer' },
    extra: { code: 'invalid_api_key' },
  })
}
