// Verifies the tokens of sidecars that joined outside Kubernetes, each with the public key that the
// sidecar joined with.

import { importSPKI, type JWTPayload, jwtVerify } from 'jose'
import type { Milliseconds } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import { SIDECAR_TOKEN } from '../fleet/protocol.ts'
import type { JoinedSidecar } from '../ledger/join-tokens.ts'
import {
  checkOf,
  endOf,
  RefusedToken,
  SKEW_SECONDS,
  type UnverifiedToken,
  type VerifiedToken,
} from './verified-token.ts'

/** Finds the sidecars that joined. */
export interface JoinedSidecars {
  /** Resolves with null for an unknown id. */
  find(id: string): Promise<JoinedSidecar | null>
}

const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

const GONE =
  'An administrator declared this sidecar gone; join again with a new join token (POST /api/v1/fleet/tokens).'

export class JoinedTokens {
  readonly #sidecars: JoinedSidecars

  constructor(sidecars: JoinedSidecars) {
    this.#sidecars = sidecars
  }

  /** @throws RefusedToken (rejects); GatewayError `forbidden` when gone, `fleet_unavailable` */
  async verify(token: string, { subject: id }: UnverifiedToken, nowMs: Milliseconds): Promise<VerifiedToken> {
    const sidecar = typeof id === 'string' && ID.test(id) ? await this.#sidecars.find(id) : null
    if (sidecar === null) throw new RefusedToken('unknown_sidecar')
    const { publicKey, sidecar: found, cluster, namespace, name } = sidecar
    const claims = await claimsBy(publicKey, token, found, nowMs)
    const { iat = Number.NEGATIVE_INFINITY, exp = 0 } = claims
    if (exp - iat > SIDECAR_TOKEN.maximumSeconds) throw new RefusedToken('malformed')
    // It is the sidecar itself, which then uses the keys of the hub no more.
    if (sidecar.isGone) throw new GatewayError('forbidden', GONE)
    return {
      identity: { id: found, cluster, namespace, name, expiresAtMs: endOf(claims, nowMs) },
      isCurrent: async () => {
        const now = await this.#sidecars.find(found)
        return now?.publicKey === publicKey && !now.isGone
      },
    }
  }
}

async function claimsBy(
  publicKey: string,
  token: string,
  id: string,
  nowMs: Milliseconds,
): Promise<JWTPayload> {
  const { issuer, audience, algorithm } = SIDECAR_TOKEN
  try {
    const { payload } = await jwtVerify(token, await importSPKI(publicKey, algorithm), {
      algorithms: [algorithm],
      issuer,
      audience,
      subject: id,
      requiredClaims: ['exp', 'iat'],
      currentDate: new Date(nowMs),
      clockTolerance: SKEW_SECONDS,
    })
    return payload
  } catch (error) {
    throw new RefusedToken(checkOf(error))
  }
}
