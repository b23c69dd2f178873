// The state of a single sign-on that is under way, in a cookie of its own.
//
// Nobody can forge or read it: it is encrypted and authenticated with a key that only this process
// has (AES-256-GCM, a nonce for each). So the gateway remembers nothing of sign-ins that were
// begun, and a flood of them takes no memory. An old cookie is harmless: it ends after ten minutes
// or with the process, and it opens nothing without a code that the provider gave for its state,
// which the provider redeems once.

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { Clock, Milliseconds } from '../core/clock.ts'
import { formatCookie, readCookie } from './cookies.ts'

const NAME = 'sidegate_oidc'
/** Start of the sign-in; its callback is below. */
export const LOGIN_PATH = '/api/v1/session/oidc'

const LIFETIME_SECONDS = 600
const ALGORITHM = 'aes-256-gcm'
const KEY_BYTES = 32
/** NIST SP 800-38D §8.2.2: random nonces serve 2^32 messages of one key. */
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** Browsers keep cookies of up to 4096 bytes. */
const MAX_CHARACTERS = 4096

/** What the answer of the provider must fit, as random values. */
export interface LoginChecks {
  readonly state: string
  readonly nonce: string
  /** Code verifier of PKCE (RFC 7636). */
  readonly verifier: string
}

/** A sign-in that was begun. */
export interface PendingLogin extends LoginChecks {
  readonly redirectUri: string
  /** Page of the console to open at the end. */
  readonly returnTo: string
}

interface SealedLogin extends PendingLogin {
  /** On the monotonic clock, which lives as long as the key. */
  readonly endMs: Milliseconds
}

export class LoginCookie {
  readonly #clock: Clock
  readonly #key = randomBytes(KEY_BYTES)

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Returns the `Set-Cookie` that holds a sign-in for ten minutes. */
  seal(login: PendingLogin, secure: boolean): string {
    const endMs = this.#clock.monotonic() + LIFETIME_SECONDS * 1000
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(ALGORITHM, this.#key, nonce, { authTagLength: TAG_BYTES })
    const sealed: SealedLogin = { ...login, endMs }
    const body = Buffer.concat([cipher.update(JSON.stringify(sealed), 'utf8'), cipher.final()])
    const value = Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url')
    return setCookie(value, LIFETIME_SECONDS, secure)
  }

  /** Returns the sign-in of a `Cookie` header; null without one that this process sealed lately. */
  open(header: string | undefined): PendingLogin | null {
    const value = readCookie(header, NAME)
    if (value === null || value.length > MAX_CHARACTERS) return null
    const text = this.#decrypt(Buffer.from(value, 'base64url'))
    if (text === null) return null
    const { endMs, ...login } = JSON.parse(text) as SealedLogin
    return this.#clock.monotonic() < endMs ? login : null
  }

  /** Returns the `Set-Cookie` that deletes it in a browser. */
  clear(secure: boolean): string {
    return setCookie('', 0, secure)
  }

  #decrypt(bytes: Buffer): string | null {
    if (bytes.length < NONCE_BYTES + TAG_BYTES) return null
    const nonce = bytes.subarray(0, NONCE_BYTES)
    const decipher = createDecipheriv(ALGORITHM, this.#key, nonce, { authTagLength: TAG_BYTES })
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
    try {
      const body = bytes.subarray(NONCE_BYTES + TAG_BYTES)
      return decipher.update(body, undefined, 'utf8') + decipher.final('utf8')
    } catch {
      return null
    }
  }
}

/** Lax, because the provider is another site and leads the browser back. */
const setCookie = (value: string, maxAgeSeconds: number, secure: boolean): string =>
  formatCookie(NAME, value, { sameSite: 'Lax', path: LOGIN_PATH, maxAgeSeconds, secure })
