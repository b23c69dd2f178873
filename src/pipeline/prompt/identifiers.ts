// Hides the names by which an app tells its end users and sessions apart. A number would make two
// people one at the provider, and change the key of its cache from turn to turn.

import { createHash, createHmac, createSecretKey, type KeyObject } from 'node:crypto'

/** Members of a request that identify a person or a session, in any API. */
const PLACES: ReadonlySet<string> = new Set([
  'user',
  'safety_identifier',
  'prompt_cache_key',
  'metadata.user_id',
])

const DOMAIN = 'sidegate identifiers v1\n'
/** Hexadecimal digits of 128 bits; providers take at most 64 characters. */
const DIGITS = 32

export class Identifiers {
  readonly #key: KeyObject

  /** @param secret of the gateway; the same one gives the same names */
  constructor(secret: string) {
    this.#key = createSecretKey(
      createHash('sha256')
        .update(DOMAIN + secret)
        .digest(),
    )
  }

  /** Returns the name to send in place of a value with personal data, the same on every call. */
  hide(value: string): string {
    return `id-${createHmac('sha256', this.#key).update(value).digest('hex').slice(0, DIGITS)}`
  }
}

/** Reports whether a text identifies a person or a session. */
export const isIdentifierPlace = (path: string): boolean => PLACES.has(path)
