// Says which sidecar sends a request, by its bearer token (RFC 6750). Tokens are verified without
// asking anyone, and remembered, so that a request costs one hash.

import { hash } from 'node:crypto'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import type { Clock, Milliseconds } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import type { HubConfig } from '../core/hub-config.ts'
import { SIDECAR_TOKEN } from '../fleet/protocol.ts'
import type { HubMetrics } from '../metrics/hub-metrics.ts'
import { type JoinedSidecars, JoinedTokens } from './joined-tokens.ts'
import { ServiceAccountTokens } from './service-account-tokens.ts'
import {
  RefusedToken,
  type SidecarIdentity,
  TOKEN_CHECKS,
  type UnverifiedToken,
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

/** Longest token. Kubernetes makes some of 1 to 2 KiB. */
const MAXIMUM_TOKEN_CHARACTERS = 8192
/** Maximum tokens that are remembered. */
const MAXIMUM_REMEMBERED = 10_000

const BEARER = /^bearer +([\w-]+\.[\w-]+\.[\w-]+)$/i

export class SidecarIdentities {
  readonly #accounts: ServiceAccountTokens
  readonly #joined: JoinedTokens
  readonly #clock: Pick<Clock, 'now'>
  readonly #metrics: Pick<HubMetrics, 'sidecarsRefused'>
  /** Verified tokens by their hash, the one verified longest ago first. */
  readonly #verified = new Map<string, VerifiedToken>()

  constructor({ join, sidecars, clock, metrics }: SidecarIdentitiesParts) {
    this.#accounts = new ServiceAccountTokens(join)
    this.#joined = new JoinedTokens(sidecars)
    this.#clock = clock
    this.#metrics = metrics
    for (const reason of TOKEN_CHECKS) metrics.sidecarsRefused.inc({ reason }, 0)
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
      if (!(error instanceof RefusedToken)) throw error
      this.#metrics.sidecarsRefused.inc({ reason: error.check })
      throw new GatewayError('invalid_token', REFUSED, { headers: { 'www-authenticate': 'Bearer' } })
    }
  }

  async #identify(token: string): Promise<SidecarIdentity> {
    const nowMs = this.#clock.now()
    const key = hash('sha256', token, 'base64')
    const known = this.#verified.get(key)
    if (known !== undefined && known.identity.expiresAtMs > nowMs && (await known.isCurrent()))
      return known.identity
    this.#verified.delete(key)
    const verified = await this.#verify(token, nowMs)
    this.#remember(key, verified)
    return verified.identity
  }

  #verify(token: string, nowMs: Milliseconds): Promise<VerifiedToken> {
    const named = readUnverified(token)
    return named.issuer === SIDECAR_TOKEN.issuer
      ? this.#joined.verify(token, named, nowMs)
      : this.#accounts.verify(token, named, nowMs)
  }

  #remember(key: string, verified: VerifiedToken): void {
    if (this.#verified.size >= MAXIMUM_REMEMBERED) this.#verified.delete(this.#verified.keys().next().value!)
    this.#verified.set(key, verified)
  }
}

/** Returns the token. @throws RefusedToken */
function tokenIn(authorization = ''): string {
  const [, token] = authorization.length <= MAXIMUM_TOKEN_CHARACTERS ? (BEARER.exec(authorization) ?? []) : []
  if (token === undefined) throw new RefusedToken('malformed')
  return token
}

/** @throws RefusedToken for a text that is no JWT, or that spells one in another way */
function readUnverified(token: string): UnverifiedToken {
  // The last character of a part may have bits that say nothing.
  if (!token.split('.').every((part) => Buffer.from(part, 'base64url').toString('base64url') === part))
    throw new RefusedToken('malformed')
  try {
    const { iss: issuer, sub: subject } = decodeJwt(token)
    return { issuer, subject, keyId: decodeProtectedHeader(token).kid }
  } catch {
    throw new RefusedToken('malformed')
  }
}
