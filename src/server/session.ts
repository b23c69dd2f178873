// Guards the management API: checks the session cookie and its role, the `Host` and, for browsers,
// the origin.

import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { type Administrator, type AdminRole, includesRole } from '../core/admin-role.ts'
import type { AdminToken } from '../core/admin-tokens.ts'
import type { Clock, Milliseconds } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import type { Session, Sessions } from '../store/sessions.ts'
import { allowedName, isLoopback, isOriginOf, parseHost } from './host.ts'
import type { SignInJournal } from './sign-in-journal.ts'
import { SignInThrottle } from './sign-in-throttle.ts'

const COOKIE = 'sidegate_session'

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS'])

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest()

/** `retry-after` of a throttled sign-in. */
const RETRY_AFTER_SECONDS = '1'
const OFF = 'Sign-in is off because no admin token is configured; set admin.token or admin.tokens.'

/** Where a sign-in comes from. */
export interface SignInClient {
  /** IP address of the connection. */
  readonly address: string
  readonly secure: boolean
}

export interface SignedIn {
  readonly session: Session
  readonly cookie: string
}

/** Whom a token signs in, if it can be read. */
type GatekeeperToken = Pick<AdminToken, 'name' | 'role' | 'token'>

export class Gatekeeper {
  readonly #sessions: Sessions
  readonly #tokens: readonly GatekeeperToken[]
  readonly #ttlMs: Milliseconds
  readonly #allowedHosts: ReadonlySet<string | null>
  readonly #throttle: SignInThrottle
  readonly #journal: SignInJournal

  constructor(options: {
    readonly sessions: Sessions
    readonly tokens: readonly GatekeeperToken[]
    readonly clock: Clock
    readonly sessionTtlSeconds: number
    readonly allowedHosts: readonly string[]
    readonly journal: SignInJournal
  }) {
    this.#sessions = options.sessions
    this.#tokens = options.tokens
    this.#throttle = new SignInThrottle(options.clock)
    this.#journal = options.journal
    this.#ttlMs = options.sessionTtlSeconds * 1000
    this.#allowedHosts = new Set(options.allowedHosts.map(allowedName))
  }

  /**
   * Protects against DNS rebinding and cross-site requests, by the rules of Go's
   * http.CrossOriginProtection.
   * @throws GatewayError `misdirected_request` or `cross_site`
   */
  checkOrigin(method: string, headers: IncomingHttpHeaders): void {
    const host = parseHost(headers.host ?? '')
    if (host === null || !(isLoopback(host) || this.#allowedHosts.has(host.name))) {
      throw new GatewayError('misdirected_request', 'The Host is not allowed; add it to admin.allowedHosts.')
    }
    if (SAFE_METHODS.has(method)) return
    const site = headers['sec-fetch-site']
    const { origin } = headers
    const sameSite = site === 'same-origin' || site === 'none'
    const sameOrigin = origin !== undefined && isOriginOf(origin, host)
    // A plain client such as curl sends neither header and has no browser's cookies.
    if (site === undefined ? origin === undefined || sameOrigin : sameSite) return
    throw new GatewayError(
      'cross_site',
      'A request from another site is refused; send it from the same origin.',
    )
  }

  /**
   * Returns the session of a request.
   * @param needed the least role
   * @throws GatewayError `session_required`, or `forbidden` that names the role needed
   */
  require(headers: IncomingHttpHeaders, needed: AdminRole): Session {
    const secret = readCookie(headers.cookie)
    const session = secret === null ? null : this.#sessions.find(secret, (name) => this.#fingerprint(name))
    if (session === null) {
      throw new GatewayError('session_required', 'Sign in first: POST /api/v1/session with {"token": "…"}.')
    }
    if (includesRole(session.role, needed)) return session
    throw new GatewayError(
      'forbidden',
      `This needs the role ${needed}, and your role is ${session.role}. admin.tokens in the configuration gives roles.`,
    )
  }

  /**
   * Compares with all tokens in constant time and opens a session, once its entry is sealed.
   * @param client its address, and whether it uses TLS, which makes the cookie `Secure`
   * @throws GatewayError (rejects) `invalid_token`, `too_many_attempts`, or `audit_unavailable`
   * when the entry of a success cannot be sealed
   */
  async signIn(token: string, { address, secure }: SignInClient): Promise<SignedIn> {
    if (!this.#throttle.admit(address)) {
      await this.#journal.failed(address, 'throttled')
      throw new GatewayError('too_many_attempts', 'Too many sign-ins; try again in a second.', {
        headers: { 'retry-after': RETRY_AFTER_SECONDS },
      })
    }
    const administrator = this.#holderOf(token)
    if (administrator === null) {
      const isOff = this.#tokens.length === 0
      await this.#journal.failed(address, isOff ? 'off' : 'wrong_token')
      throw new GatewayError('invalid_token', isOff ? OFF : 'The admin token is wrong.')
    }
    await this.#journal.succeeded(address, administrator.name)
    const fingerprint = fingerprintOf(administrator, token)
    const { secret, ...session } = await this.#sessions.create(administrator, fingerprint, this.#ttlMs)
    return { session, cookie: formatCookie(secret, Math.floor(this.#ttlMs / 1000), secure) }
  }

  /** Ends the session and returns the cookie that deletes it in a browser. */
  async signOut(headers: IncomingHttpHeaders, secure: boolean): Promise<string> {
    const secret = readCookie(headers.cookie)
    if (secret !== null) await this.#sessions.delete(secret)
    return formatCookie('', 0, secure)
  }

  /** The first administrator with the token. Always compares with all of them. */
  #holderOf(token: string): GatekeeperToken | null {
    const given = sha256(token)
    // Constant-time comparison needs equal lengths, which hashing gives.
    const holders = this.#tokens.filter(
      (one) => one.token !== null && timingSafeEqual(given, sha256(one.token.current())),
    )
    return holders[0] ?? null
  }

  /** Another token or role of a name makes another fingerprint, which ends its older sessions. */
  #fingerprint(name: string): string | null {
    const administrator = this.#tokens.find((one) => one.name === name)
    const token = administrator?.token?.current()
    return administrator === undefined || token === undefined ? null : fingerprintOf(administrator, token)
  }
}

const fingerprintOf = ({ name, role }: Administrator, token: string): string =>
  sha256(JSON.stringify([name, role, token])).toString('hex')

function readCookie(header: string | undefined): string | null {
  for (const pair of header?.split(';') ?? []) {
    const [name, value] = pair.trim().split('=', 2)
    if (name === COOKIE && value !== undefined && value !== '') return value
  }
  return null
}

const formatCookie = (value: string, maxAgeSeconds: number, secure: boolean): string =>
  `${COOKIE}=${value}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${maxAgeSeconds}${secure ? '; Secure' : ''}`
