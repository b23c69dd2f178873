// Stores sessions of the management API. Only the hash of an id is stored, and the binding to the
// admin token is keyed with the id: a reader of the database can neither use a session nor test
// guesses of the token.

import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { Clock, Milliseconds } from '../core/clock.ts'
import { readJson, writeJson } from './layout.ts'
import type { Environment } from './lmdb.ts'
import { unavailable } from './log/appender.ts'

const ID_BYTES = 32
/** 32 bytes in base64url. */
const ID_FORM = /^[A-Za-z0-9_-]{43}$/
/** Most sessions at a time; a new one replaces the oldest, so signing in always works. */
const MAX_SESSIONS = 100

export interface Session {
  readonly expiresAtMs: Milliseconds
}

interface StoredSession extends Session {
  readonly createdAtMs: Milliseconds
  /** HMAC of the fingerprint under the id, hexadecimal. */
  readonly binding: string
}

export class Sessions {
  readonly #environment: Environment
  readonly #clock: Clock
  readonly #random: (length: number) => Buffer
  /** End of each session seen by this process, on the monotonic clock; by row key, hexadecimal. */
  readonly #endMs = new Map<string, Milliseconds>()

  constructor(environment: Environment, clock: Clock, random: (length: number) => Buffer) {
    this.#environment = environment
    this.#clock = clock
    this.#random = random
  }

  /**
   * Begins a session; resolves when it is durable.
   * @param fingerprint of the admin token; `find` requires the same one
   * @throws GatewayError `audit_unavailable` (rejects) when the store cannot be written
   */
  async create(fingerprint: string, ttlMs: Milliseconds): Promise<Session & { readonly id: string }> {
    const { sessions } = this.#environment.tables
    const id = this.#random(ID_BYTES).toString('base64url')
    const createdAtMs = this.#clock.now()
    const expiresAtMs = createdAtMs + ttlMs
    const session: StoredSession = { createdAtMs, expiresAtMs, binding: bindingOf(id, fingerprint) }
    await this.#write(() => {
      const others = sessions.rows().map(({ key, value }) => ({ key, ...readJson<StoredSession>(value) }))
      others.sort((a, b) => a.createdAtMs - b.createdAtMs)
      for (const { key } of others.slice(0, Math.max(0, others.length - MAX_SESSIONS + 1)))
        sessions.remove(key)
      sessions.put(rowKeyOf(id), writeJson(session))
    })
    this.#isOver(rowKeyOf(id), session)
    return { id, expiresAtMs }
  }

  /** Returns null when the session is unknown, expired, or of another token. */
  find(id: string, fingerprint: string): Session | null {
    if (!ID_FORM.test(id)) return null
    this.#environment.refresh()
    const rowKey = rowKeyOf(id)
    const bytes = this.#environment.tables.sessions.get(rowKey)
    if (bytes === undefined) return null
    const session = readJson<StoredSession>(bytes)
    if (this.#isOver(rowKey, session) || !isEqual(session.binding, bindingOf(id, fingerprint))) return null
    return { expiresAtMs: session.expiresAtMs }
  }

  /** Ends a session; an unknown id is fine. */
  async delete(id: string): Promise<void> {
    if (!ID_FORM.test(id)) return
    await this.#write(() => {
      this.#environment.tables.sessions.remove(rowKeyOf(id))
    })
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

function rowKeyOf(id: string): Buffer {
  return createHash('sha256').update(id).digest()
}

function bindingOf(id: string, fingerprint: string): string {
  return createHmac('sha256', id).update(fingerprint).digest('hex')
}

function isEqual(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))
}
