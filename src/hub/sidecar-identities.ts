// Says which sidecar sends a request, by its bearer token (RFC 6750). Tokens are verified without
// asking anyone, and remembered, so that a request costs one hash.

import type { Clock, Milliseconds } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import type { HubConfig } from '../core/hub-config.ts'
import { SIDECAR_TOKEN } from '../fleet/protocol.ts'
import { MAXIMUM_TOKEN_CHARACTERS, RefusedToken, readUnverified } from '../jwt/token-check.ts'
import { hashToken, TokenMemory } from '../jwt/token-memory.ts'
import type { HubMetrics } from '../metrics/hub-metrics.ts'
import { type JoinedSidecars, JoinedTokens } from './joined-tokens.ts'
import { ServiceAccountTokens } from './service-account-tokens.ts'
import {
  REFUSAL_REASONS,
  refusalReasonOf,
  type SidecarIdentity,
  type VerifiedToken,
} from './verified-token.ts'

interface SidecarIdentitiesParts {
  readonly join: HubConfig['join']
  /** Asked for each request of a sidecar that joined: one declared gone is refused at once. */
  readonly sidecars: JoinedSidecars
  readonly clock: Pick<Clock, 'now'>
  readonly metrics: Pick<HubMetrics, 'sidecarsRefused'>
}

const REFUSED =
  'The token of the sidecar is not accepted; send a ServiceAccount token with the audience of the hub (fleet.token), or join again with a new join token (fleet.joinToken).'

const BEARER = /^bearer +([\w-]+\.[\w-]+\.[\w-]+)$/i

export class SidecarIdentities {
  readonly #accounts: ServiceAccountTokens
  readonly #joined: JoinedTokens
  readonly #clock: Pick<Clock, 'now'>
  readonly #metrics: Pick<HubMetrics, 'sidecarsRefused'>
  readonly #verified = new TokenMemory<VerifiedToken>()

  constructor({ join, sidecars, clock, metrics }: SidecarIdentitiesParts) {
    this.#accounts = new ServiceAccountTokens(join)
    this.#joined = new JoinedTokens(sidecars)
    this.#clock = clock
    this.#metrics = metrics
    for (const reason of REFUSAL_REASONS) metrics.sidecarsRefused.inc({ reason }, 0)
  }

  /**
   * @param authorization the header of the request
   * @throws GatewayError (rejects) `invalid_token`; `forbidden` for a sidecar that was declared
   * gone; `fleet_unavailable` when the database cannot be
   * asked for a sidecar that joined
   */
  async verify(authorization: string | undefined): Promise<SidecarIdentity> {
    try {
      return await this.#identify(tokenIn(authorization))
    } catch (error) {
      this.#metrics.sidecarsRefused.inc({ reason: refusalReasonOf(error) })
      throw new GatewayError('invalid_token', REFUSED, { headers: { 'www-authenticate': 'Bearer' } })
    }
  }

  async #identify(token: string): Promise<SidecarIdentity> {
    const nowMs = this.#clock.now()
    const key = hashToken(token)
    const known = this.#verified.find(key, nowMs)
    if (known !== undefined && (await known.isCurrent())) return known.identity
    this.#verified.forget(key)
    const verified = await this.#verify(token, nowMs)
    this.#verified.keep(key, verified, verified.identity.expiresAtMs)
    return verified.identity
  }

  #verify(token: string, nowMs: Milliseconds): Promise<VerifiedToken> {
    const named = readUnverified(token)
    return named.issuer === SIDECAR_TOKEN.issuer
      ? this.#joined.verify(token, named, nowMs)
      : this.#accounts.verify(token, named, nowMs)
  }
}

/** Returns the token. @throws RefusedToken */
function tokenIn(authorization = ''): string {
  const [, token] = authorization.length <= MAXIMUM_TOKEN_CHARACTERS ? (BEARER.exec(authorization) ?? []) : []
  if (token === undefined) throw new RefusedToken('malformed')
  return token
}
