// What single sign-on needs of an identity provider. Knows no protocol.

import type { JsonObject } from '../core/json.ts'
import type { LoginChecks } from './login-cookie.ts'

/** A sign-in that begins at the provider. */
export interface BegunLogin {
  /** URL of the provider's page. */
  readonly address: string
  readonly checks: LoginChecks
}

export interface IdentityProvider {
  /**
   * Begins a sign-in.
   * @param redirectUri where the provider leads the browser at the end
   * @throws ProviderFailure (rejects)
   */
  begin(redirectUri: string): Promise<BegunLogin>
  /**
   * Redeems the code of an answer and checks the id token.
   * @param answer the redirect URI with the query that the provider added
   * @returns the claims about the person
   * @throws ProviderFailure (rejects)
   */
  finish(answer: URL, checks: LoginChecks): Promise<JsonObject>
}

/**
 * `denied`: the provider, or the person there, refused the sign-in. `foreign`: the browser brought
 * an answer that is not one to this sign-in, or that was used already. `refused`: the provider did
 * not accept what the gateway sent. `unreachable`: it does not answer, or not in time. `invalid`:
 * its answer is not to be trusted.
 */
export type ProviderFailureKind = 'denied' | 'foreign' | 'refused' | 'unreachable' | 'invalid'

/** A sign-in that failed at the provider. */
export class ProviderFailure extends Error {
  override readonly name = 'ProviderFailure'
  readonly kind: ProviderFailureKind

  /**
   * @param reason one code for the log of the process, without text of the provider but its issuer
   */
  constructor(kind: ProviderFailureKind, reason: string) {
    super(`${kind}: ${reason}`)
    this.kind = kind
  }
}
