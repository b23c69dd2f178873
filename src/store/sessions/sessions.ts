// Stores sessions of the management API with their administrators. Only the hash of a secret is
// stored, and the binding to what lets the administrator in is keyed with it: a reader of the
// database can neither use a session nor test guesses of a token.

import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { Actor } from '../../core/actor.ts'
import type { SignedInAdministrator, SignInMethod } from '../../core/admin-role.ts'
import type { Clock, Milliseconds } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Environment } from '../environment/journaled.ts'
import { unavailable } from '../files/unavailable.ts'
import type { UsageLog } from '../log/log.ts'
import { readJson, writeJson } from '../tables/layout.ts'

const SECRET_BYTES = 32
/** 32 bytes in base64url. */
const SECRET_FORM = /^[A-Za-z0-9_-]{43}$/
/**
 * Maximum sessions of one administrator; a new one replaces the oldest, so signing in always works.
 */
const MAXIMUM_ADMINISTRATOR_SESSIONS = 100
/** Maximum sessions of all; a new one replaces the oldest of the administrator with the most. */
const MAXIMUM_SESSIONS = 1000

/** Bytes of the hash that name a session to others. */
const SESSION_ID_BYTES = 16

export interface Session extends SignedInAdministrator {
  /** Names the session in lists, and does not open it. */
  readonly id: string
  readonly createdAtMs: Milliseconds
  readonly expiresAtMs: Milliseconds
}

interface StoredSession extends Omit<Session, 'id' | 'via'> {
  /** Missing from releases without single sign-on, whose sessions are by token. */
  readonly via?: SignInMethod
  /** HMAC of the fingerprint under the secret, hexadecimal. */
  readonly binding: string
}

interface StoredRow {
  readonly key: Buffer
  readonly session: StoredSession
}

/**
 * Returns the fingerprint of everything that lets an administrator in, such as token, name and
 * role; null for one who cannot sign in, or not in this way.
 */
export type FingerprintOf = (holder: SignedInAdministrator) => string | null

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
    { name, role, via }: SignedInAdministrator,
    fingerprint: string,
    ttlMs: Milliseconds,
    replaced: string | null = null,
  ): Promise<Session & { readonly secret: string }> {
    const { sessions } = this.#environment.tables
    const secret = this.#random(SECRET_BYTES).toString('base64url')
    const rowKey = rowKeyOf(secret)
    const createdAtMs = this.#clock.now()
    const expiresAtMs = createdAtMs + ttlMs
    const binding = bindingOf(secret, fingerprint)
    const session: StoredSession = { name, role, via, createdAtMs, expiresAtMs, binding }
    await this.#write(() => {
      if (replaced !== null) sessions.remove(rowKeyOf(replaced))
      for (const key of surplusOf(this.#rows(), { name, via })) sessions.remove(key)
      sessions.put(rowKey, writeJson(session))
    })
    this.#isOver(rowKey, session)
    return { ...describe(rowKey, session), secret }
  }

  /**
   * Returns null when the session is unknown or expired, or when its administrator has another
   * fingerprint since.
   */
  find(secret: string, fingerprintOf: FingerprintOf): Session | null {
    if (!SECRET_FORM.test(secret)) return null
    this.#environment.refresh()
    const rowKey = rowKeyOf(secret)
    const bytes = this.#environment.tables.sessions.get(rowKey)
    if (bytes === undefined) return null
    const stored = readJson<StoredSession>(bytes)
    const session = describe(rowKey, stored)
    const fingerprint = fingerprintOf(session)
    if (fingerprint === null || this.#isOver(rowKey, stored)) return null
    return isEqual(stored.binding, bindingOf(secret, fingerprint)) ? session : null
  }

  /** Ends a session; an unknown secret is fine. */
  async delete(secret: string): Promise<void> {
    if (!SECRET_FORM.test(secret)) return
    await this.#write(() => {
      this.#environment.tables.sessions.remove(rowKeyOf(secret))
    })
  }

  /**
   * Returns the sessions that have not expired, newest first. One whose administrator has another
   * fingerprint since is listed although it opens nothing: only its secret can tell.
   */
  list(): Session[] {
    this.#environment.refresh()
    return this.#rows()
      .filter(({ key, session }) => !this.#isOver(key, session))
      .map(({ key, session }) => describe(key, session))
      .sort((a, b) => b.createdAtMs - a.createdAtMs)
  }

  /**
   * Ends a session by its id and seals that, in one transaction.
   * @throws GatewayError (rejects) `not_found`, or `audit_unavailable`
   */
  end(id: string, actor: Actor): Promise<Session> {
    return this.#log.change(() => {
      const row = this.#rows().find(({ key, session }) => idOf(key) === id && !this.#isOver(key, session))
      if (row === undefined) throw new GatewayError('not_found', 'There is no session with this id.')
      return {
        draft: { type: 'session_ended', session_id: id, administrator: row.session.name, actor },
        write: () => this.#environment.tables.sessions.remove(row.key),
        result: describe(row.key, row.session),
      }
    })
  }

  /** Sessions of releases without named administrators open nothing and are left out. */
  #rows(): StoredRow[] {
    return this.#environment.tables.sessions
      .rows()
      .map(({ key, value }) => ({ key, session: readJson<StoredSession>(value) }))
      .filter(({ session }) => session.name !== undefined)
  }

  /** Removes expired sessions. Call it every minute. */
  async sweep(): Promise<void> {
    const { sessions } = this.#environment.tables
    this.#environment.refresh()
    const rows = sessions.rows()
    const rowKeys = new Set(rows.map(({ key }) => key.toString('hex')))
    for (const rowKey of this.#endMs.keys()) if (!rowKeys.has(rowKey)) this.#endMs.delete(rowKey)
    const over = rows.filter(({ key, value }) => this.#isOver(key, readJson<StoredSession>(value)))
    if (over.length === 0) return
    await this.#environment.transaction(() => {
      for (const { key } of over) sessions.remove(key)
    })
  }

  /**
   * Also uses the monotonic clock, so setting the clock back does not prolong a session after it
   * was first seen.
   */
  #isOver(rowKey: Buffer, { createdAtMs, expiresAtMs }: StoredSession): boolean {
    const name = rowKey.toString('hex')
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

/** Keys of the sessions that a new one of the holder replaces. */
function surplusOf(rows: readonly StoredRow[], holder: { name: string; via: SignInMethod }): Buffer[] {
  const groups = Map.groupBy(
    rows.toSorted((a, b) => a.session.createdAtMs - b.session.createdAtMs),
    ({ session }) => holderOf(session),
  )
  const own = groups.get(holderOf(holder)) ?? []
  if (own.length >= MAXIMUM_ADMINISTRATOR_SESSIONS)
    return own.slice(0, own.length - MAXIMUM_ADMINISTRATOR_SESSIONS + 1).map(({ key }) => key)
  if (rows.length < MAXIMUM_SESSIONS) return []
  const largest = [...groups.values()].reduce((most, group) => (group.length > most.length ? group : most))
  return [largest[0]!.key]
}

const holderOf = ({ name, via = 'token' }: Pick<StoredSession, 'name' | 'via'>): string => `${via} ${name}`

function rowKeyOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}

const idOf = (rowKey: Buffer): string => rowKey.subarray(0, SESSION_ID_BYTES).toString('hex')

const describe = (rowKey: Buffer, { name, role, via = 'token', ...times }: StoredSession): Session => ({
  id: idOf(rowKey),
  name,
  role,
  via,
  createdAtMs: times.createdAtMs,
  expiresAtMs: times.expiresAtMs,
})

function bindingOf(secret: string, fingerprint: string): string {
  return createHmac('sha256', secret).update(fingerprint).digest('hex')
}

function isEqual(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))
}
