// Guards the management API: checks the session cookie, the `Host` and, for browsers, the origin.

import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Clock, Milliseconds } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import type { Secret } from '../core/secret.ts'
import type { Session, Sessions } from '../store/sessions.ts'

const COOKIE = 'sidegate_session'

/**
 * Failed sign-ins before the next must wait. The wait doubles up to five minutes: long enough
 * against guessing, and short enough for the owner of the token once others stop. Failures are
 * forgotten after an hour.
 */
const FREE_FAILURES = 5
const FIRST_WAIT_MS: Milliseconds = 60_000
const LONGEST_WAIT_MS: Milliseconds = 300_000
const FORGET_MS: Milliseconds = 3_600_000

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS'])
const LOOPBACK = /^(?:localhost|127(?:\.[0-9]{1,3}){3}|\[::1\])$/

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest()

export interface SignedIn {
  readonly expiresAtMs: Milliseconds
  readonly cookie: string
}

export class Gatekeeper {
  readonly #sessions: Sessions
  readonly #token: Secret | null
  readonly #clock: Clock
  readonly #ttlMs: Milliseconds
  readonly #allowedHosts: ReadonlySet<string>
  #failures = 0
  #failedAtMs: Milliseconds = 0
  #blockedUntilMs: Milliseconds = 0

  constructor(options: {
    readonly sessions: Sessions
    readonly token: Secret | null
    readonly clock: Clock
    readonly sessionTtlSeconds: number
    readonly allowedHosts: readonly string[]
  }) {
    this.#sessions = options.sessions
    this.#token = options.token
    this.#clock = options.clock
    this.#ttlMs = options.sessionTtlSeconds * 1000
    this.#allowedHosts = new Set(options.allowedHosts.map((host) => host.toLowerCase()))
  }

  /**
   * Protects against DNS rebinding and cross-site requests, by the rules of Go's
   * http.CrossOriginProtection.
   * @throws GatewayError `misdirected_request` or `cross_site`
   */
  checkOrigin(method: string, headers: IncomingHttpHeaders): void {
    const host = headers.host?.toLowerCase() ?? ''
    const name = host.replace(/:[0-9]*$/, '')
    if (!LOOPBACK.test(name) && !this.#allowedHosts.has(name)) {
      throw new GatewayError('misdirected_request', 'The Host is not allowed; add it to admin.allowedHosts.')
    }
    if (SAFE_METHODS.has(method)) return
    const site = headers['sec-fetch-site']
    const { origin } = headers
    const sameSite = site === 'same-origin' || site === 'none'
    const sameOrigin = origin !== undefined && URL.parse(origin)?.host === host
    // A plain client such as curl sends neither header and has no browser's cookies.
    if (site === undefined ? origin === undefined || sameOrigin : sameSite) return
    throw new GatewayError(
      'cross_site',
      'A request from another site is refused; send it from the same origin.',
    )
  }

  /** Returns the session of a request. @throws GatewayError `session_required` */
  require(headers: IncomingHttpHeaders): Session {
    const id = readCookie(headers.cookie)
    const session =
      id === null || this.#token === null ? null : this.#sessions.find(id, this.#fingerprint(this.#token))
    if (session !== null) return session
    throw new GatewayError('session_required', 'Sign in first: POST /api/v1/session with {"token": "…"}.')
  }

  /**
   * Compares the token in constant time and opens a session.
   * @param secure whether the client uses TLS, which makes the cookie `Secure`
   * @throws GatewayError (rejects) `invalid_token` or `too_many_attempts`
   */
  async signIn(token: string, secure: boolean): Promise<SignedIn> {
    const nowMs = this.#clock.monotonic()
    if (nowMs < this.#blockedUntilMs) throw tooManyAttempts(this.#blockedUntilMs - nowMs)
    if (this.#token === null) {
      throw new GatewayError(
        'invalid_token',
        'Sign-in is off because no admin token is configured; set admin.token.',
      )
    }
    const expected = this.#token.current()
    // Constant-time comparison needs equal lengths, which hashing gives.
    if (!timingSafeEqual(sha256(token), sha256(expected))) {
      if (nowMs - this.#failedAtMs >= FORGET_MS) this.#failures = 0
      this.#failures++
      this.#failedAtMs = nowMs
      const over = this.#failures - FREE_FAILURES
      if (over >= 0) this.#blockedUntilMs = nowMs + Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** over)
      throw new GatewayError('invalid_token', 'The admin token is wrong.')
    }
    this.#failures = 0
    const { id, expiresAtMs } = await this.#sessions.create(sha256(expected).toString('hex'), this.#ttlMs)
    return { expiresAtMs, cookie: formatCookie(id, Math.floor(this.#ttlMs / 1000), secure) }
  }

  /** Ends the session and returns the cookie that deletes it in a browser. */
  async signOut(headers: IncomingHttpHeaders, secure: boolean): Promise<string> {
    const id = readCookie(headers.cookie)
    if (id !== null) await this.#sessions.delete(id)
    return formatCookie('', 0, secure)
  }

  #fingerprint(token: Secret): string {
    return sha256(token.current()).toString('hex')
  }
}

function readCookie(header: string | undefined): string | null {
  for (const pair of header?.split(';') ?? []) {
    const [name, value] = pair.trim().split('=', 2)
    if (name === COOKIE && value !== undefined && value !== '') return value
  }
  return null
}

const formatCookie = (value: string, maxAgeSeconds: number, secure: boolean): string =>
  `${COOKIE}=${value}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${maxAgeSeconds}${secure ? '; Secure' : ''}`

function tooManyAttempts(waitMs: Milliseconds): GatewayError {
  const seconds = Math.ceil(waitMs / 1000)
  return new GatewayError('too_many_attempts', `Too many failed sign-ins; try again in ${seconds} s.`, {
    headers: { 'retry-after': String(seconds) },
  })
}
