// What the verification of the token of a sidecar comes to: who the sidecar is, or the check that
// failed. Clients never learn which check it was; metrics do.

import type { Milliseconds } from '../core/clock.ts'
import { RefusedToken, type TokenCheck } from '../jwt/token-check.ts'

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

/**
 * Why a token is refused. `signature` is also a missing key or another algorithm, and `account` a
 * ServiceAccount that is not allowed or a token of no Pod.
 */
export const REFUSAL_REASONS = [
  'expired',
  'audience',
  'issuer',
  'signature',
  'account',
  'malformed',
  'unknown_sidecar',
] as const

type RefusalReason = (typeof REFUSAL_REASONS)[number]

/** A token that shows no sidecar. */
export class RefusedSidecar extends Error {
  override readonly name = 'RefusedSidecar'
  readonly reason: RefusalReason

  constructor(reason: RefusalReason) {
    super(`the token shows no sidecar: ${reason}`)
    this.reason = reason
  }
}

/** Reasons by the check of a token that are named otherwise. */
const REASON_OF: Readonly<Partial<Record<TokenCheck, RefusalReason>>> = {
  key: 'signature',
  algorithm: 'signature',
  no_keys: 'signature',
  claims: 'account',
}

/** Returns the reason of a refusal. @throws any other error */
export function refusalReasonOf(error: unknown): RefusalReason {
  if (error instanceof RefusedSidecar) return error.reason
  if (!(error instanceof RefusedToken)) throw error
  return REASON_OF[error.check] ?? (error.check as RefusalReason)
}
