// Verifies the signature, the issuer, the audience and the time of a JWT, offline. The only file
// that imports `jose`.

import { createLocalJWKSet, errors, importSPKI, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose'
import type { Milliseconds } from '../core/clock.ts'
import { TOKEN_ALGORITHMS } from '../core/json-web-keys.ts'
import type { IssuerKeySet } from './issuer-keys.ts'
import { RefusedToken, type TokenCheck } from './token-check.ts'

/** The claims of a token, verified. */
export type VerifiedClaims = JWTPayload

/** Keys that may have signed a token. */
type SignerKeys = JWTVerifyGetKey

/** Difference of the clocks that is accepted for the begin of a token. */
export const SKEW_SECONDS = 30
/** Time after which a token that still works has to be verified again. */
const MAXIMUM_TRUST_MS: Milliseconds = 24 * 3_600_000

/** The keys of each set, which are imported once. */
const signers = new WeakMap<IssuerKeySet, SignerKeys>()

/** The keys of a set. A token names one of them and its algorithm. */
export function signersOf(set: IssuerKeySet): SignerKeys {
  const found = signers.get(set) ?? createLocalJWKSet({ keys: [...set.keys] })
  signers.set(set, found)
  return found
}

/** The one key of an SPKI in PEM, for one algorithm. */
export const signerOf =
  (publicKey: string, algorithm: string): SignerKeys =>
  () =>
    importSPKI(publicKey, algorithm)

/** What a token must say. */
export interface TokenTerms {
  readonly issuer: string
  /** It names one of them. */
  readonly audiences: readonly string[]
  readonly subject?: string
  /** Any asymmetric one that the key is for by default. */
  readonly algorithms?: readonly string[]
  readonly required?: readonly string[]
}

/**
 * Returns the claims of a token.
 * @returns also until when it counts: its end, which no difference of clocks extends, or a day
 * @throws RefusedToken (rejects)
 */
export async function verifyClaims(
  token: string,
  keys: SignerKeys,
  { issuer, audiences, subject, algorithms = TOKEN_ALGORITHMS, required = [] }: TokenTerms,
  nowMs: Milliseconds,
): Promise<{ readonly claims: VerifiedClaims; readonly endMs: Milliseconds }> {
  try {
    const { payload } = await jwtVerify(token, keys, {
      algorithms: [...algorithms],
      issuer,
      audience: [...audiences],
      ...(subject !== undefined && { subject }),
      requiredClaims: ['exp', ...required],
      currentDate: new Date(nowMs),
      clockTolerance: SKEW_SECONDS,
    })
    return { claims: payload, endMs: endOf(payload, nowMs) }
  } catch (error) {
    throw new RefusedToken(checkOf(error))
  }
}

/** @throws RefusedToken */
function endOf({ exp, iat }: VerifiedClaims, nowMs: Milliseconds): Milliseconds {
  if (exp === undefined) throw new RefusedToken('malformed')
  const isEarly = iat !== undefined && iat * 1000 > nowMs + SKEW_SECONDS * 1000
  if (isEarly || exp * 1000 <= nowMs) throw new RefusedToken('expired')
  return Math.min(exp * 1000, nowMs + MAXIMUM_TRUST_MS)
}

const CHECK_OF_CLAIM: Readonly<Record<string, TokenCheck>> = {
  aud: 'audience',
  iss: 'issuer',
  exp: 'expired',
  nbf: 'expired',
}

/** Returns the check that an error stands for. What cannot be verified is not trusted. */
function checkOf(error: unknown): TokenCheck {
  if (error instanceof RefusedToken) return error.check
  if (error instanceof errors.JWTClaimValidationFailed)
    return error.reason === 'check_failed' || error.claim === 'aud'
      ? (CHECK_OF_CLAIM[error.claim] ?? 'malformed')
      : 'malformed'
  if (error instanceof errors.JWTExpired) return 'expired'
  if (error instanceof errors.JOSEAlgNotAllowed) return 'algorithm'
  if (error instanceof errors.JWKSNoMatchingKey) return 'key'
  const isForm = error instanceof errors.JWSInvalid || error instanceof errors.JWTInvalid
  return isForm ? 'malformed' : 'signature'
}
