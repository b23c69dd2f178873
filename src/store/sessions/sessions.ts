// Stores sessions of the management API with their administrators.

import type { Actor } from '../../core/actor.ts'
import type { SignedInAdministrator } from '../../core/admin-role.ts'
import {
  type FingerprintOf,
  hashOfSecret,
  isBoundTo,
  isSessionSecret,
  newSession,
  type Session,
  type SessionRow,
  type StoredSession,
  sessionIdOf,
  sessionOf,
  surplusSessions,
} from '../../core/admin-session.ts'
import type { Clock, Milliseconds } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Environment } from '../environment/journaled.ts'
import { unavailable } from '../files/unavailable.ts'
import type { UsageLog } from '../log/log.ts'
import { readJson, writeJson } from '../tables/layout.ts'

export class Sessions {
  readonly #environment: Environment
  readonly #log: Pick<UsageLog, 'change'>
  readonly #clock: Clock
  readonly #random: (length: number) => Buffer
  /** End of each session seen by this process, on the monotonic clock; by row key, hexadecimal. */
  readonly #endMs = new Map<string, Milliseconds>()

  constructor(
    environment: Environment,
    log: Pick<UsageLog, 'change'>,
    clock: Clock,
    random: (length: number) => Buffer,
  ) {
    this.#environment = environment
    this.#log = log
    this.#clock = clock
    this.#random = random
  }

  /**
   * Begins a session; resolves when it is durable.
   * @param fingerprint of the administrator; `find` requires the same one
   * @param replaced secret of a session that ends; an unknown one is fine
   * @returns the session, and the secret that opens it
   * @throws GatewayError `audit_unavailable` (rejects) when the store cannot be written
   */
  async create(
    administrator: SignedInAdministrator,
    fingerprint: string,
    ttlMs: Milliseconds,
    replaced: string | null = null,
  ): Promise<Session & { readonly secret: string }> {
    const { sessions } = this.#environment.tables
    const nowMs = this.#clock.now()
    const { secret, ...row } = newSession(administrator, fingerprint, ttlMs, nowMs, this.#random)
    await this.#write(() => {
      if (replaced !== null) sessions.remove(hashOfSecret(replaced))
      for (const one of surplusSessions(this.#rows(), administrator)) sessions.remove(one)
      sessions.put(row.hash, writeJson(row.session))
    })
    this.#isOver(row)
    return { ...sessionOf(row), secret }
  }

  /**
   * Returns null when the session is unknown or expired, or when its administrator has another
   * fingerprint since.
   */
  async find(secret: string, fingerprintOf: FingerprintOf): Promise<Session | null> {
    if (!isSessionSecret(secret)) return null
    this.#environment.refresh()
    const hash = hashOfSecret(secret)
    const bytes = this.#environment.tables.sessions.get(hash)
    if (bytes === undefined) return null
    const row = { hash, session: readJson<StoredSession>(bytes) }
    const session = sessionOf(row)
    const fingerprint = fingerprintOf(session)
    if (fingerprint === null || this.#isOver(row)) return null
    return isBoundTo(row.session, secret, fingerprint) ? session : null
  }

  /** Ends a session; an unknown secret is fine. */
  async delete(secret: string): Promise<void> {
    if (!isSessionSecret(secret)) return
    await this.#write(() => {
      this.#environment.tables.sessions.remove(hashOfSecret(secret))
    })
  }

  /**
   * Returns the sessions that have not expired, newest first. One whose administrator has another
   * fingerprint since is listed although it opens nothing: only its secret can tell.
   */
  async list(): Promise<Session[]> {
    this.#environment.refresh()
    return this.#rows()
      .filter((row) => !this.#isOver(row))
      .map(sessionOf)
      .sort((a, b) => b.createdAtMs - a.createdAtMs)
  }

  /**
   * Ends a session by its id and seals that, in one transaction.
   * @throws GatewayError (rejects) `not_found`, or `audit_unavailable`
   */
  end(id: string, actor: Actor): Promise<Session> {
    return this.#log.change(() => {
      const row = this.#rows().find((one) => sessionIdOf(one.hash) === id && !this.#isOver(one))
      if (row === undefined) throw new GatewayError('not_found', 'There is no session with this id.')
      return {
        draft: { type: 'session_ended', session_id: id, administrator: row.session.name, actor },
        write: () => this.#environment.tables.sessions.remove(row.hash),
        result: sessionOf(row),
      }
    })
  }

  /** Sessions of releases without named administrators open nothing and are left out. */
  #rows(): SessionRow[] {
    return this.#environment.tables.sessions
      .rows()
      .map(({ key, value }) => ({ hash: key, session: readJson<StoredSession>(value) }))
      .filter(({ session }) => session.name !== undefined)
  }

  /** Removes expired sessions. Call it every minute. */
  async sweep(): Promise<void> {
    const { sessions } = this.#environment.tables
    this.#environment.refresh()
    const rows = sessions.rows()
    const rowKeys = new Set(rows.map(({ key }) => key.toString('hex')))
    for (const rowKey of this.#endMs.keys()) if (!rowKeys.has(rowKey)) this.#endMs.delete(rowKey)
    const over = rows.filter(({ key, value }) =>
      this.#isOver({ hash: key, session: readJson<StoredSession>(value) }),
    )
    if (over.length === 0) return
    await this.#environment.transaction(() => {
      for (const { key } of over) sessions.remove(key)
    })
  }

  /**
   * Also uses the monotonic clock, so setting the clock back does not prolong a session after it
   * was first seen.
   */
  #isOver({ hash, session: { createdAtMs, expiresAtMs } }: SessionRow): boolean {
    const name = hash.toString('hex')
    const nowMs = this.#clock.now()
    const spentMs = this.#clock.monotonic()
    const endMs = this.#endMs.get(name) ?? spentMs + Math.min(expiresAtMs - nowMs, expiresAtMs - createdAtMs)
    this.#endMs.set(name, endMs)
    return nowMs >= expiresAtMs || spentMs >= endMs
  }

  async #write(write: () => void): Promise<void> {
    try {
      await this.#environment.transaction(write)
    } catch (error) {
      throw unavailable('The store cannot be written.', error)
    }
  }
}
