// What the verification of the token of a sidecar comes to: who the sidecar is, or the check that
// failed. Clients never learn which check it was; metrics do.

import { errors, type JWTPayload } from 'jose'
import type { Milliseconds } from '../core/clock.ts'

/** A sidecar, as its token shows it. */
export interface SidecarIdentity {
  /** UUID, the same for each token of the sidecar. */
  readonly id: string
  /** Null for a sidecar that joined without naming one. */
  readonly cluster: string | null
  readonly namespace: string
  /** Its name in lists. */
  readonly name: string
  /** When it has to show a token again. */
  readonly expiresAtMs: Milliseconds
}

/** A token that was verified, and what that depended on. */
export interface VerifiedToken {
  readonly identity: SidecarIdentity
  /** Whether the keys it was verified with are in force still. */
  readonly isCurrent: () => boolean | Promise<boolean>
}

/** What a token says before it is verified. It only chooses the keys to verify it with. */
export interface UnverifiedToken {
  readonly issuer: unknown
  readonly subject: unknown
  /** Id of the key that signed it. */
  readonly keyId: unknown
}

/**
 * The checks. `expired` is any time outside of that of the token, `signature` also a missing key or
 * another algorithm, and `account` a ServiceAccount that is not allowed or a token of no Pod.
 */
export const TOKEN_CHECKS = [
  'expired',
  'audience',
  'issuer',
  'signature',
  'account',
  'malformed',
  'unknown_sidecar',
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

/** Difference of the clocks that is accepted for the begin of a token. */
export const SKEW_SECONDS = 30
/** Time after which a token that still works has to be verified again. */
const MAXIMUM_TRUST_MS: Milliseconds = 24 * 3_600_000

/**
 * Checks `exp` and `iat` of verified claims. `exp` is not extended by a difference of clocks.
 * @returns until when the token counts: its end, in a day at the latest
 * @throws RefusedToken
 */
export function endOf({ exp, iat }: JWTPayload, nowMs: Milliseconds): Milliseconds {
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

/** Returns the check that an error of `jose` stands for. What cannot be verified is not trusted. */
export function checkOf(error: unknown): TokenCheck {
  if (error instanceof RefusedToken) return error.check
  if (error instanceof errors.JWTClaimValidationFailed)
    return error.reason === 'check_failed' || error.claim === 'aud'
      ? (CHECK_OF_CLAIM[error.claim] ?? 'malformed')
      : 'malformed'
  if (error instanceof errors.JWTExpired) return 'expired'
  const isForm = error instanceof errors.JWSInvalid || error instanceof errors.JWTInvalid
  return isForm ? 'malformed' : 'signature'
}
