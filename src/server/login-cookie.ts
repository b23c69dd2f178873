// The state of each single sign-on that is under way, in a cookie of its own.
//
// Nobody can forge or read it: it is encrypted and authenticated (AES-256-GCM, a nonce for each)
// with a key that only the processes have which serve the sign-in. So they remember nothing of
// sign-ins that were begun, and a flood of them takes no memory. An old cookie is harmless: it ends
// after ten minutes, and it opens nothing without a code that the provider gave for its state,
// which the provider redeems once.

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { Clock, Milliseconds } from '../core/clock.ts'
import { formatCookie, readCookie, readCookies } from './cookies.ts'

/**
 * Continued by the beginning of the state, so sign-ins in several tabs do not replace each other.
 */
const NAME = 'sidegate_oidc_'
const STATE_CHARACTERS = 12
/** Maximum sign-ins under way in one browser; requests have at most 16 KiB of headers. */
const MAXIMUM_PENDING = 8
/** Start of the sign-in; its callback is below. */
export const LOGIN_PATH = '/api/v1/session/oidc'

const LIFETIME_SECONDS = 600
const ALGORITHM = 'aes-256-gcm'
export const LOGIN_KEY_BYTES = 32
/** NIST SP 800-38D §8.2.2: random nonces serve 2^32 messages of one key. */
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** Browsers keep cookies of up to 4096 bytes. */
const MAXIMUM_CHARACTERS = 4096

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
  readonly endMs: Milliseconds
}

export class LoginCookie {
  readonly #clock: Pick<Clock, 'now'>
  readonly #key: Buffer

  /** @param key LOGIN_KEY_BYTES of a CSPRNG */
  constructor(clock: Pick<Clock, 'now'>, key: Buffer) {
    this.#clock = clock
    this.#key = key
  }

  /**
   * Returns the `Set-Cookie` that holds a sign-in for ten minutes.
   * @param base path below which browsers see the gateway
   */
  seal(login: PendingLogin, secure: boolean, base = ''): string {
    const endMs = this.#clock.now() + LIFETIME_SECONDS * 1000
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(ALGORITHM, this.#key, nonce, { authTagLength: TAG_BYTES })
    const sealed: SealedLogin = { ...login, endMs }
    const body = Buffer.concat([cipher.update(JSON.stringify(sealed), 'utf8'), cipher.final()])
    const value = Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url')
    return setCookie(login.state, value, LIFETIME_SECONDS, secure, base)
  }

  /**
   * Returns the sign-in with the state in a `Cookie` header; null without one that was
   * sealed lately with this key.
   */
  open(header: string | undefined, state: string): PendingLogin | null {
    const value = readCookie(header, nameOf(state))
    const sealed = value === null ? null : this.#unseal(value)
    if (sealed === null) return null
    const { endMs, ...login } = sealed
    return login.state === state && this.#clock.now() < endMs ? login : null
  }

  /** Returns the `Set-Cookie` that deletes the sign-in with the state in a browser. */
  clear(state: string, secure: boolean, base = ''): string {
    return setCookie(state, '', 0, secure, base)
  }

  /**
   * Returns the `Set-Cookie`s that leave room in a browser for one more sign-in: they delete those
   * that are over and the oldest.
   */
  makeRoom(header: string | undefined, secure: boolean, base = ''): string[] {
    const nowMs = this.#clock.now()
    return readCookies(header)
      .filter(({ name }) => name.startsWith(NAME))
      .map(({ name, value }) => ({ state: name.slice(NAME.length), endMs: this.#unseal(value)?.endMs ?? 0 }))
      .sort((a, b) => b.endMs - a.endMs)
      .filter(({ endMs }, index) => endMs <= nowMs || index >= MAXIMUM_PENDING - 1)
      .map(({ state }) => this.clear(state, secure, base))
  }

  #unseal(value: string): SealedLogin | null {
    if (value.length > MAXIMUM_CHARACTERS) return null
    const text = this.#decrypt(Buffer.from(value, 'base64url'))
    return text === null ? null : (JSON.parse(text) as SealedLogin)
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

const nameOf = (state: string): string => `${NAME}${state.slice(0, STATE_CHARACTERS)}`

/** Lax, because the provider is another site and leads the browser back. */
const setCookie = (
  state: string,
  value: string,
  maxAgeSeconds: number,
  secure: boolean,
  base: string,
): string =>
  formatCookie(nameOf(state), value, { sameSite: 'Lax', path: base + LOGIN_PATH, maxAgeSeconds, secure })
