// Who may sign in to the management API, with a token or at an identity provider. A reload of the
// configuration replaces both at once.

import type { Clock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import { Gatekeeper } from '../server/session.ts'
import type { SessionStore } from '../server/session-store.ts'
import type { SignInJournal } from '../server/sign-in-journal.ts'
import { SingleSignOn } from '../server/single-sign-on.ts'
import { OpenIdProvider } from './openid-provider.ts'

interface AdminAccessParts {
  readonly sessions: SessionStore
  readonly journal: SignInJournal
  readonly clock: Clock
  /** As in LoginCookie. */
  readonly loginKey: Buffer
}

export class AdminAccess {
  readonly gatekeeper: Gatekeeper
  readonly #parts: AdminAccessParts
  #signOn: SingleSignOn | null

  constructor(admin: Config['admin'], parts: AdminAccessParts) {
    this.#parts = parts
    this.gatekeeper = new Gatekeeper({ ...parts, ...admin })
    this.#signOn = this.#open(admin)
  }

  /** Null without single sign-on. */
  readonly signOn = (): SingleSignOn | null => this.#signOn

  /** See `Gatekeeper.replace`. A sign-in under way at another identity provider fails. */
  replace(admin: Config['admin']): void {
    this.#signOn = this.#open(admin)
    this.gatekeeper.replace(admin)
  }

  #open({ oidc }: Config['admin']): SingleSignOn | null {
    const { gatekeeper } = this
    const { journal, clock, loginKey } = this.#parts
    if (oidc === null) return null
    const provider = new OpenIdProvider(oidc, clock)
    return new SingleSignOn({ terms: oidc, provider, gatekeeper, journal, clock, loginKey })
  }
}
