// Verifies the tokens of sidecars that joined outside Kubernetes, each with the public key that the
// sidecar joined with.

import type { Milliseconds } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import { SIDECAR_TOKEN } from '../fleet/protocol.ts'
import { signerOf, verifyClaims } from '../jwt/signed-claims.ts'
import { RefusedToken, type UnverifiedToken } from '../jwt/token-check.ts'
import type { JoinedSidecar } from '../ledger/join-tokens.ts'
import { RefusedSidecar, type VerifiedToken } from './verified-token.ts'

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

  /**
   * @throws RefusedToken, RefusedSidecar (rejects); GatewayError `forbidden` when gone,
   *   `fleet_unavailable`
   */
  async verify(token: string, { subject: id }: UnverifiedToken, nowMs: Milliseconds): Promise<VerifiedToken> {
    const sidecar = typeof id === 'string' && ID.test(id) ? await this.#sidecars.find(id) : null
    if (sidecar === null) throw new RefusedSidecar('unknown_sidecar')
    const { publicKey, sidecar: found, cluster, namespace, name } = sidecar
    const { issuer, audience, algorithm } = SIDECAR_TOKEN
    const terms = {
      issuer,
      audiences: [audience],
      subject: found,
      algorithms: [algorithm],
      required: ['iat'],
    }
    const { claims, endMs } = await verifyClaims(token, signerOf(publicKey, algorithm), terms, nowMs)
    const { iat = Number.NEGATIVE_INFINITY, exp = 0 } = claims
    if (exp - iat > SIDECAR_TOKEN.maximumSeconds) throw new RefusedToken('malformed')
    // It is the sidecar itself, which then uses the keys of the hub no more.
    if (sidecar.isGone) throw new GatewayError('forbidden', GONE)
    return {
      identity: { id: found, cluster, namespace, name, expiresAtMs: endMs },
      isCurrent: async () => {
        const now = await this.#sidecars.find(found)
        return now?.publicKey === publicKey && !now.isGone
      },
    }
  }
}
