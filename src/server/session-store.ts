// What the management API asks of the place where its sessions are kept.

import type { Actor } from '../core/actor.ts'
import type { SignedInAdministrator } from '../core/admin-role.ts'
import type { FingerprintOf, Session } from '../core/admin-session.ts'
import type { Milliseconds } from '../core/clock.ts'

/** Where sessions are kept: in the store of a gateway, or in the database of a hub. */
export interface SessionStore {
  /**
   * Begins a session; resolves when it is durable.
   * @param fingerprint of the administrator; `find` requires the same one
   * @param replaced secret of a session that ends; an unknown one is fine
   * @returns the session, and the secret that opens it
   * @throws GatewayError (rejects) when the store cannot be written
   */
  create(
    administrator: SignedInAdministrator,
    fingerprint: string,
    ttlMs: Milliseconds,
    replaced: string | null,
  ): Promise<Session & { readonly secret: string }>
  /**
   * Resolves with null when the session is unknown or expired, or when its administrator has
   * another fingerprint since.
   */
  find(secret: string, fingerprintOf: FingerprintOf): Promise<Session | null>
  /** Ends a session; an unknown secret is fine. */
  delete(secret: string): Promise<void>
  /** The sessions that have not expired, newest first. */
  list(): Promise<Session[]>
  /** Ends a session by its id and seals that. @throws GatewayError (rejects) `not_found` */
  end(id: string, actor: Actor): Promise<Session>
}
