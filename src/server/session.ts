// Guards the management API: checks the session cookie and its role, the `Host` and, for browsers,
// the origin.

import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { looksLike } from '../core/actor.ts'
import {
  type Administrator,
  type AdminRole,
  includesRole,
  type SignedInAdministrator,
  type SignInMethod,
} from '../core/admin-role.ts'
import type { Session } from '../core/admin-session.ts'
import type { AdminToken } from '../core/admin-tokens.ts'
import type { Clock } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import type { OidcConfig } from '../core/oidc-config.ts'
import { formatCookie, readCookie } from './cookies.ts'
import { allowedName, isLoopback, isOriginOf, overTls, parseHost } from './host.ts'
import type { SessionStore } from './session-store.ts'
import type { SignInJournal } from './sign-in-journal.ts'
import { ATTEMPTS, COMPARISONS, SignInThrottle } from './sign-in-throttle.ts'

const COOKIE = 'sidegate_session'
/**
 * Over TLS. No other host of the domain can set a cookie with this prefix (RFC 6265bis §4.1.3.2).
 */
const HOST_COOKIE = `__Host-${COOKIE}`

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS'])

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest()

/** `retry-after` of a throttled sign-in. */
const RETRY_AFTER_SECONDS = '1'
const OFF = 'Sign-in is off because no admin token is configured; set admin.token or admin.tokens.'

/** Where a sign-in comes from. */
export interface SignInClient {
  /** IP address of the connection. */
  readonly address: string
  readonly headers: IncomingHttpHeaders
}

export interface SignedIn {
  readonly session: Session
  readonly cookie: string
}

/** Whom a token signs in, if it can be read. */
type GatekeeperToken = Pick<AdminToken, 'name' | 'role' | 'token'>

/** What single sign-on depends on. Its client's secret is not among it, and may be rotated. */
type SingleSignOnTerms = Pick<OidcConfig, 'issuer' | 'clientId' | 'groupsClaim' | 'actorClaim' | 'roles'>

/** Who may sign in, and from where: the section `admin` of the configuration. */
export interface AdminTerms {
  readonly tokens: readonly GatekeeperToken[]
  /** Null without single sign-on. */
  readonly oidc: SingleSignOnTerms | null
  readonly sessionTtlSeconds: number
  readonly allowedHosts: readonly string[]
}

export class Gatekeeper {
  readonly #sessions: SessionStore
  #terms: AdminTerms
  /** Null without single sign-on. */
  #oidcTerms: string | null
  #allowedHosts: ReadonlySet<string | null>
  readonly #comparisons: SignInThrottle
  /** By whether the attempt is right: wrong ones must not shut out right ones of their address. */
  readonly #attempts: Readonly<Record<'right' | 'wrong', SignInThrottle>>
  readonly #journal: SignInJournal

  constructor(
    options: AdminTerms & {
      readonly sessions: SessionStore
      readonly clock: Clock
      readonly journal: SignInJournal
    },
  ) {
    this.#sessions = options.sessions
    this.#terms = options
    this.#oidcTerms = termsOf(options)
    this.#allowedHosts = hostsOf(options)
    this.#comparisons = new SignInThrottle(options.clock, COMPARISONS)
    this.#attempts = {
      right: new SignInThrottle(options.clock, ATTEMPTS),
      wrong: new SignInThrottle(options.clock, ATTEMPTS),
    }
    this.#journal = options.journal
  }

  /**
   * Follows other terms from now on. Sessions of a token or a role that is not among them end at
   * once; the others keep the lifetime that they began with.
   */
  replace(terms: AdminTerms): void {
    this.#terms = terms
    this.#oidcTerms = termsOf(terms)
    this.#allowedHosts = hostsOf(terms)
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
   * @throws GatewayError (rejects) `session_required`, or `forbidden` that names the role needed
   */
  async require(headers: IncomingHttpHeaders, needed: AdminRole): Promise<Session> {
    const session = await this.find(headers)
    if (session === null) {
      throw new GatewayError('session_required', 'Sign in first: POST /api/v1/session with {"token": "…"}.')
    }
    if (includesRole(session.role, needed)) return session
    const source = session.via === 'oidc' ? 'admin.oidc.roles' : 'admin.tokens'
    throw new GatewayError(
      'forbidden',
      `This needs the role ${needed}, and your role is ${session.role}. ${source} in the configuration gives roles.`,
    )
  }

  /** Returns the session of a request; null without one. */
  async find(headers: IncomingHttpHeaders): Promise<Session | null> {
    const secret = secretOf(headers)
    return secret === null ? null : this.#sessions.find(secret, (one) => this.#fingerprint(one))
  }

  /**
   * Compares with all tokens in constant time and opens a session, once its entry is sealed.
   * The session whose cookie came with the request ends.
   * @throws GatewayError (rejects) `invalid_token`, `too_many_attempts`, or `audit_unavailable`
   * when the entry of a success cannot be sealed
   */
  async signIn(token: string, client: SignInClient): Promise<SignedIn> {
    const { address } = client
    if (!this.#comparisons.admit(address)) throw await this.#throttled(address, 'token')
    const administrator = this.#holderOf(token)
    const attempts = this.#attempts[administrator === null ? 'wrong' : 'right']
    if (!attempts.admit(address)) throw await this.#throttled(address, 'token')
    if (administrator === null) {
      const isOff = this.#terms.tokens.length === 0
      await this.#journal.failed(address, isOff ? 'off' : 'wrong_token', 'token')
      throw new GatewayError('invalid_token', isOff ? OFF : 'The admin token is wrong.')
    }
    const { name, role } = administrator
    return this.#open({ name, role, via: 'token' }, fingerprintOf(administrator, token), client)
  }

  /**
   * Opens a session for a person whom the identity provider vouches for, once its entry is sealed.
   * The session whose cookie came with the request ends. `isTaken` must be false for the name.
   * @throws GatewayError (rejects) `audit_unavailable` when the entry cannot be sealed, or
   * `forbidden` without single sign-on
   */
  async signInPerson(person: Administrator, client: SignInClient): Promise<SignedIn> {
    const administrator = { ...person, via: 'oidc' } as const
    const fingerprint = this.#fingerprint(administrator)
    if (fingerprint === null)
      throw new GatewayError('forbidden', 'This person cannot sign in; see admin.oidc in the configuration.')
    return this.#open(administrator, fingerprint, client)
  }

  /**
   * Counts an attempt of single sign-on that this browser began.
   * @param address IP address of the client
   * @throws GatewayError (rejects) `too_many_attempts`
   */
  async countPerson(address: string): Promise<void> {
    if (!this.#attempts.right.admit(address)) throw await this.#throttled(address, 'oidc')
  }

  async #throttled(address: string, via: SignInMethod): Promise<GatewayError> {
    await this.#journal.failed(address, 'throttled', via)
    return new GatewayError('too_many_attempts', 'Too many sign-ins; try again in a second.', {
      headers: { 'retry-after': RETRY_AFTER_SECONDS },
    })
  }

  /**
   * Reports whether a token signs in an administrator whose name a reader may take for this one.
   */
  isTaken(name: string): boolean {
    return this.#terms.tokens.some((one) => looksLike(one.name, name))
  }

  /** The ways to sign in that the configuration offers. */
  methods(): Readonly<Record<SignInMethod, boolean>> {
    return { token: this.#terms.tokens.length > 0, oidc: this.#oidcTerms !== null }
  }

  /** Ends the session and returns the cookie that deletes it in a browser. */
  async signOut(headers: IncomingHttpHeaders): Promise<string> {
    const secret = secretOf(headers)
    if (secret !== null) await this.#sessions.delete(secret)
    return setCookie('', 0, overTls(headers))
  }

  async #open(
    administrator: SignedInAdministrator,
    fingerprint: string,
    { address, headers }: SignInClient,
  ): Promise<SignedIn> {
    await this.#journal.succeeded(address, administrator.name, administrator.via)
    const { sessionTtlSeconds } = this.#terms
    const { secret, ...session } = await this.#sessions.create(
      administrator,
      fingerprint,
      sessionTtlSeconds * 1000,
      secretOf(headers),
    )
    return { session, cookie: setCookie(secret, sessionTtlSeconds, overTls(headers)) }
  }

  /** The first administrator with the token. Always compares with all of them. */
  #holderOf(token: string): GatekeeperToken | null {
    const given = sha256(token)
    // Constant-time comparison needs equal lengths, which hashing gives.
    const holders = this.#terms.tokens.filter(
      (one) => one.token !== null && timingSafeEqual(given, sha256(one.token.current())),
    )
    return holders[0] ?? null
  }

  /**
   * Another token or role of a name, or other terms of single sign-on, make another fingerprint,
   * which ends older sessions.
   */
  #fingerprint({ name, role, via }: SignedInAdministrator): string | null {
    if (via === 'oidc') {
      const isOver = this.#oidcTerms === null || this.isTaken(name)
      return isOver ? null : sha256(JSON.stringify([via, name, role, this.#oidcTerms])).toString('hex')
    }
    const administrator = this.#terms.tokens.find((one) => one.name === name)
    const token = administrator?.token?.current()
    return administrator === undefined || token === undefined ? null : fingerprintOf(administrator, token)
  }
}

/**
 * Returns the secret in the cookie of a request. Over TLS only the cookie with the prefix counts; a
 * proxy that does not report TLS leaves both.
 */
const secretOf = (headers: IncomingHttpHeaders): string | null =>
  readCookie(headers.cookie, HOST_COOKIE) ?? (overTls(headers) ? null : readCookie(headers.cookie, COOKIE))

const termsOf = ({ oidc }: AdminTerms): string | null => (oidc === null ? null : describeTerms(oidc))

const hostsOf = ({ allowedHosts }: AdminTerms): ReadonlySet<string | null> =>
  new Set(allowedHosts.map(allowedName))

const fingerprintOf = ({ name, role }: Administrator, token: string): string =>
  sha256(JSON.stringify([name, role, token])).toString('hex')

/** Independent of the order of groups in the file. */
const describeTerms = ({ issuer, clientId, groupsClaim, actorClaim, roles }: SingleSignOnTerms): string =>
  JSON.stringify([issuer, clientId, groupsClaim, actorClaim, [...roles].sort()])

const setCookie = (value: string, maxAgeSeconds: number, secure: boolean): string =>
  formatCookie(secure ? HOST_COOKIE : COOKIE, value, { sameSite: 'Strict', path: '/', maxAgeSeconds, secure })
