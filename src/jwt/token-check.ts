// What a JWT (RFC 7519) says before it is verified, and which check one did not pass. Clients never
// learn which; metrics do. Loads no library.

import { isObject, type JsonObject } from '../core/json.ts'

/**
 * The checks. `expired` is any time outside of that of the token, `key` an unknown one, `algorithm`
 * another than that of the key, `claims` those that name who sends the token, and `no_keys` an
 * issuer whose keys have not been read yet.
 */
export const TOKEN_CHECKS = [
  'expired',
  'audience',
  'issuer',
  'key',
  'algorithm',
  'signature',
  'claims',
  'malformed',
  'no_keys',
] as const

export type TokenCheck = (typeof TOKEN_CHECKS)[number]

/** A token that did not pass a check. */
export class RefusedToken extends Error {
  override readonly name = 'RefusedToken'
  readonly check: TokenCheck

  constructor(check: TokenCheck) {
    super(`the token did not pass the check: ${check}`)
    this.check = check
  }
}

/** Longest token. Kubernetes makes some of 1 to 2 KiB. */
export const MAXIMUM_TOKEN_CHARACTERS = 8192

/** What a token says before it is verified. It only chooses the keys to verify it with. */
export interface UnverifiedToken {
  readonly issuer: unknown
  readonly subject: unknown
  /** Id of the key that signed it. */
  readonly keyId: unknown
  readonly algorithm: unknown
}

/** A JWS in compact form (RFC 7515 §7.1) with three parts that are not empty. */
const FORM = /^[\w-]+\.[\w-]+\.[\w-]+$/

/**
 * @throws RefusedToken `malformed` for a text that is too long, is no JWT, or spells one in another
 *   way
 */
export function readUnverified(token: string): UnverifiedToken {
  // Measured first: nothing of a longer text is looked at.
  if (token.length > MAXIMUM_TOKEN_CHARACTERS || !FORM.test(token)) throw new RefusedToken('malformed')
  const [header, claims] = token.split('.').map(bytesOf).slice(0, 2).map(objectIn) as [JsonObject, JsonObject]
  return {
    issuer: claims['iss'],
    subject: claims['sub'],
    keyId: header['kid'],
    algorithm: header['alg'],
  }
}

/** The bytes of a part. Its last character may have bits that say nothing: they must be zero. */
function bytesOf(part: string): Buffer {
  const bytes = Buffer.from(part, 'base64url')
  if (bytes.toString('base64url') !== part) throw new RefusedToken('malformed')
  return bytes
}

function objectIn(bytes: Buffer): JsonObject {
  try {
    const value: unknown = JSON.parse(bytes.toString())
    if (isObject(value)) return value
  } catch {
    // Refused as any other text.
  }
  throw new RefusedToken('malformed')
}
