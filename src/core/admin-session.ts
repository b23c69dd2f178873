// Sessions of the management API. Only the hash of a secret is stored, and the binding to what lets
// the administrator in is keyed with it: a reader of the database can neither use a session nor
// test guesses of a token.

import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { SignedInAdministrator, SignInMethod } from './admin-role.ts'
import type { Milliseconds } from './clock.ts'

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

export interface StoredSession extends Omit<Session, 'id' | 'via'> {
  /** Missing from releases without single sign-on, whose sessions are by token. */
  readonly via?: SignInMethod
  /** HMAC of the fingerprint under the secret, hexadecimal. */
  readonly binding: string
}

/** A session with the hash of its secret. */
export interface SessionRow {
  readonly hash: Buffer
  readonly session: StoredSession
}

/**
 * Returns the fingerprint of everything that lets an administrator in, such as token, name and
 * role; null for one who cannot sign in, or not in this way.
 */
export type FingerprintOf = (holder: SignedInAdministrator) => string | null

/** Reports whether a text has the form of a secret. */
export const isSessionSecret = (text: string): boolean => SECRET_FORM.test(text)

export const hashOfSecret = (secret: string): Buffer => createHash('sha256').update(secret).digest()

/**
 * Makes a session of an administrator, and the secret that opens it.
 * @param fingerprint everything that lets the administrator in; `isBoundTo` requires the same
 * @param ttlMs time until it expires
 * @param random bytes of the CSPRNG
 */
export function newSession(
  { name, role, via }: SignedInAdministrator,
  fingerprint: string,
  ttlMs: Milliseconds,
  nowMs: Milliseconds,
  random: (length: number) => Buffer,
): SessionRow & { readonly secret: string } {
  const secret = random(SECRET_BYTES).toString('base64url')
  const binding = bindingOf(secret, fingerprint)
  const session = { name, role, via, createdAtMs: nowMs, expiresAtMs: nowMs + ttlMs, binding }
  return { hash: hashOfSecret(secret), session, secret }
}

export const sessionIdOf = (hash: Buffer): string => hash.subarray(0, SESSION_ID_BYTES).toString('hex')

/** Binds a session to the fingerprint of its administrator. */
const bindingOf = (secret: string, fingerprint: string): string =>
  createHmac('sha256', secret).update(fingerprint).digest('hex')

/** Reports whether a session is bound to this fingerprint. */
export function isBoundTo({ binding }: StoredSession, secret: string, fingerprint: string): boolean {
  const wanted = bindingOf(secret, fingerprint)
  return binding.length === wanted.length && timingSafeEqual(Buffer.from(binding), Buffer.from(wanted))
}

export const sessionOf = ({ hash, session }: SessionRow): Session => ({
  id: sessionIdOf(hash),
  name: session.name,
  role: session.role,
  via: session.via ?? 'token',
  createdAtMs: session.createdAtMs,
  expiresAtMs: session.expiresAtMs,
})

/** Returns the hashes of the sessions that a new one of the holder replaces. */
export function surplusSessions(
  rows: readonly SessionRow[],
  holder: { readonly name: string; readonly via: SignInMethod },
): Buffer[] {
  const groups = Map.groupBy(
    rows.toSorted((a, b) => a.session.createdAtMs - b.session.createdAtMs),
    ({ session }) => holderOf(session),
  )
  const own = groups.get(holderOf(holder)) ?? []
  if (own.length >= MAXIMUM_ADMINISTRATOR_SESSIONS)
    return own.slice(0, own.length - MAXIMUM_ADMINISTRATOR_SESSIONS + 1).map(({ hash }) => hash)
  if (rows.length < MAXIMUM_SESSIONS) return []
  const largest = [...groups.values()].reduce((most, group) => (group.length > most.length ? group : most))
  return [largest[0]!.hash]
}

const holderOf = ({ name, via = 'token' }: Pick<StoredSession, 'name' | 'via'>): string => `${via} ${name}`
