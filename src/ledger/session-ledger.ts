// Stores the sessions of administrators in the database, so that all hubs share them.

import type { Actor } from '../core/actor.ts'
import type { AdminRole, SignedInAdministrator, SignInMethod } from '../core/admin-role.ts'
import {
  type FingerprintOf,
  hashOfSecret,
  isBoundTo,
  isSessionSecret,
  newSession,
  type Session,
  type SessionRow,
  sessionIdOf,
  sessionOf,
  surplusSessions,
} from '../core/admin-session.ts'
import type { Milliseconds } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import { isoTime } from '../core/time.ts'
import type { Queries } from './database.ts'
import type { LedgerOptions } from './hub-log.ts'

interface SessionColumns {
  readonly hash: Buffer
  readonly name: string
  readonly role: AdminRole
  readonly via: SignInMethod
  readonly binding: string
  readonly created_at: Milliseconds
  readonly expires_at: Milliseconds
}

const COLUMNS = 'hash, name, role, via, binding, created_at, expires_at'

export class SessionLedger {
  readonly #parts: LedgerOptions

  constructor(parts: LedgerOptions) {
    this.#parts = parts
  }

  /**
   * Begins a session; resolves when it is durable. Removes those that are over.
   * @param fingerprint of the administrator; `find` requires the same one
   * @param replaced secret of a session that ends; an unknown one is fine
   * @throws GatewayError (rejects) `fleet_unavailable`
   */
  async create(
    administrator: SignedInAdministrator,
    fingerprint: string,
    ttlMs: Milliseconds,
    replaced: string | null,
  ): Promise<Session & { readonly secret: string }> {
    const nowMs = this.#parts.clock.now()
    const { secret, ...row } = newSession(administrator, fingerprint, ttlMs, nowMs, this.#parts.random)
    const { name, role, via, binding, createdAtMs, expiresAtMs } = row.session
    await this.#parts.database.transaction(async (queries) => {
      // Two hubs count the sessions one after the other.
      await queries.rows('lock table session in share row exclusive mode')
      await queries.rows('delete from session where expires_at <= $1 or hash = $2', [
        isoTime(nowMs),
        replaced === null ? null : hashOfSecret(replaced),
      ])
      const surplus = surplusSessions(await rowsIn(queries), administrator)
      await queries.rows('delete from session where hash = any($1)', [surplus])
      await queries.rows(`insert into session (${COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7)`, [
        ...[row.hash, name, role, via, binding],
        ...[isoTime(createdAtMs), isoTime(expiresAtMs)],
      ])
    })
    return { ...sessionOf(row), secret }
  }

  /**
   * Resolves with null when the session is unknown or expired, or when its administrator has
   * another fingerprint since.
   */
  async find(secret: string, fingerprintOf: FingerprintOf): Promise<Session | null> {
    if (!isSessionSecret(secret)) return null
    const [row] = await rowsIn(this.#parts.database, 'where hash = $1', [hashOfSecret(secret)])
    if (row === undefined || this.#isOver(row)) return null
    const session = sessionOf(row)
    const fingerprint = fingerprintOf(session)
    return fingerprint !== null && isBoundTo(row.session, secret, fingerprint) ? session : null
  }

  /** Ends a session; an unknown secret is fine. */
  async delete(secret: string): Promise<void> {
    if (isSessionSecret(secret))
      await this.#parts.database.rows('delete from session where hash = $1', [hashOfSecret(secret)])
  }

  /** Returns the sessions that have not expired, newest first. */
  async list(): Promise<Session[]> {
    const rows = await rowsIn(this.#parts.database, 'order by created_at desc')
    return rows.filter((row) => !this.#isOver(row)).map(sessionOf)
  }

  /**
   * Ends a session by its id and seals that, in one transaction.
   * @throws GatewayError (rejects) `not_found`, `fleet_unavailable`
   */
  async end(id: string, actor: Actor): Promise<Session> {
    const { result } = await this.#parts.log.change(async (queries) => {
      const rows = await rowsIn(queries)
      const row = rows.find((one) => sessionIdOf(one.hash) === id && !this.#isOver(one))
      if (row === undefined) throw new GatewayError('not_found', 'There is no session with this id.')
      await queries.rows('delete from session where hash = $1', [row.hash])
      return {
        draft: { type: 'session_ended', session_id: id, administrator: row.session.name, actor } as const,
        feed: [],
        result: sessionOf(row),
      }
    })
    return result
  }

  #isOver({ session }: SessionRow): boolean {
    return this.#parts.clock.now() >= session.expiresAtMs
  }
}

async function rowsIn(
  queries: Queries,
  condition = '',
  values: readonly unknown[] = [],
): Promise<SessionRow[]> {
  const rows = await queries.rows<SessionColumns>(`select ${COLUMNS} from session ${condition}`, values)
  return rows.map(({ hash, name, role, via, binding, ...times }) => ({
    hash,
    session: { name, role, via, binding, createdAtMs: times.created_at, expiresAtMs: times.expires_at },
  }))
}
