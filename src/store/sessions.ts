// Sessions of the management API. Only the hash of an id is stored, and what ties it to the admin token is keyed
// with the id itself: whoever reads the database can neither use a session nor test guesses of the token.

import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { Clock, Milliseconds } from '../core/clock.ts'
import { unavailable } from './appender.ts'
import { readJson, writeJson } from './layout.ts'
import type { Environment } from './lmdb.ts'

const ID_BYTES = 32
/** 32 bytes in base64url. */
const ID_FORM = /^[A-Za-z0-9_-]{43}$/
/** A session that nobody uses ends after this long. */
const IDLE_MS: Milliseconds = 30 * 60_000
/** Sessions at a time; the oldest makes room, so that signing in always works. */
const MAX_SESSIONS = 100

export interface Session {
  /** The latest it can end, whatever its use. */
  readonly expiresAtMs: Milliseconds
}

interface StoredSession extends Session {
  readonly createdAtMs: Milliseconds
  readonly lastSeenMs: Milliseconds
  /** HMAC of the fingerprint under the id, hex. */
  readonly binding: string
}

export class Sessions {
  readonly #environment: Environment
  readonly #clock: Clock
  readonly #random: (length: number) => Buffer
  /** Uses since the last flush, by hash of the id in hex. */
  readonly #seen = new Map<string, Milliseconds>()

  constructor(environment: Environment, clock: Clock, random: (length: number) => Buffer) {
    this.#environment = environment
    this.#clock = clock
    this.#random = random
  }

  /**
   * Begins a session; resolves when it is durable.
   * @param fingerprint of the admin token; the session is found with the same one only
   * @throws GatewayError `audit_unavailable` (rejects) when the store cannot be written
   */
  async create(fingerprint: string, ttlMs: Milliseconds): Promise<Session & { readonly id: string }> {
    const { sessions } = this.#environment.tables
    const id = this.#random(ID_BYTES).toString('base64url')
    const createdAtMs = this.#clock.now()
    const expiresAtMs = createdAtMs + ttlMs
    const session: StoredSession = {
      createdAtMs,
      lastSeenMs: createdAtMs,
      expiresAtMs,
      binding: bind(id, fingerprint),
    }
    await this.#write(() => {
      const others = sessions.rows().map(({ key, value }) => ({ key, ...readJson<StoredSession>(value) }))
      others.sort((a, b) => a.createdAtMs - b.createdAtMs)
      for (const { key } of others.slice(0, Math.max(0, others.length - MAX_SESSIONS + 1)))
        sessions.remove(key)
      sessions.put(placeOf(id), writeJson(session))
    })
    return { id, expiresAtMs }
  }

  /** The session, which this counts as a use of; null when it is unknown, over, or of another token. */
  find(id: string, fingerprint: string): Session | null {
    if (!ID_FORM.test(id)) return null
    const place = placeOf(id)
    this.#environment.refresh()
    const bytes = this.#environment.tables.sessions.get(place)
    if (bytes === undefined) return null
    const session = readJson<StoredSession>(bytes)
    const name = place.toString('hex')
    if (this.#isOver(name, session) || !isSame(session.binding, bind(id, fingerprint))) return null
    this.#seen.set(name, this.#clock.now())
    return { expiresAtMs: session.expiresAtMs }
  }

  /** Ends a session; ending one that does not exist is fine. */
  async delete(id: string): Promise<void> {
    if (!ID_FORM.test(id)) return
    const place = placeOf(id)
    this.#seen.delete(place.toString('hex'))
    await this.#write(() => {
      this.#environment.tables.sessions.remove(place)
    })
  }

  /** To be called every minute and at the end: keeps when sessions were last used, and drops those that are over. */
  async flush(): Promise<void> {
    const { sessions } = this.#environment.tables
    if (this.#seen.size === 0 && sessions.count() === 0) return
    await this.#environment.transaction(() => {
      for (const { key, value } of sessions.rows()) {
        const name = key.toString('hex')
        const session = readJson<StoredSession>(value)
        const lastSeenMs = this.#seen.get(name)
        if (this.#isOver(name, session)) sessions.remove(key)
        else if (lastSeenMs !== undefined) sessions.put(key, writeJson({ ...session, lastSeenMs }))
      }
      this.#seen.clear()
    })
  }

  #isOver(name: string, session: StoredSession): boolean {
    const nowMs = this.#clock.now()
    const lastSeenMs = this.#seen.get(name) ?? session.lastSeenMs
    return nowMs >= session.expiresAtMs || nowMs - lastSeenMs >= IDLE_MS
  }

  async #write(write: () => void): Promise<void> {
    try {
      await this.#environment.transaction(write)
    } catch (error) {
      throw unavailable('The store cannot be written.', error)
    }
  }
}

function placeOf(id: string): Buffer {
  return createHash('sha256').update(id).digest()
}

function bind(id: string, fingerprint: string): string {
  return createHmac('sha256', id).update(fingerprint).digest('hex')
}

function isSame(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))
}
