// Finds the run that a call names: in a header of its own, in its body, or in a header that coding
// agents send. Keeps only a keyed hash of the name.

import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { hashRun } from '../../audit/user-hash.ts'
import type { Config } from '../../core/config.ts'
import { isJsonNumber, isObject, type JsonObject, type JsonValue } from '../../core/json.ts'

/** Names the run of any call. */
export const RUN_HEADER = 'x-sidegate-run'

/** Set before the secret, so that the key is of runs alone. */
const DOMAIN = 'sidegate run\n'

export class RunNames {
  readonly #paths: readonly (readonly string[])[]
  readonly #headers: readonly string[]
  readonly #key: () => Buffer | null
  readonly #ownKey: Buffer

  /**
   * @param secret of the gateway, for hashes where users have no key
   * @param key returns the key of the hash of users now; null without one
   */
  constructor({ fields, headers }: Config['runs'], secret: string, key: () => Buffer | null) {
    this.#paths = fields.map((field) => field.split('.'))
    this.#headers = headers
    this.#key = key
    this.#ownKey = createHash('sha256')
      .update(DOMAIN + secret)
      .digest()
  }

  /** Returns the hash of the run that a call names before it is redacted; null without one. */
  read(body: JsonObject, headers: IncomingHttpHeaders): string | null {
    const name = this.#nameIn(body, headers)
    if (name === null) return null
    return hashRun(this.#key() ?? this.#ownKey, name)
  }

  /** The hashes that entries may have of a run, by its name. */
  hashesOf(name: string): readonly string[] {
    const key = this.#key()
    return [...(key === null ? [] : [key]), this.#ownKey].map((one) => hashRun(one, name))
  }

  #nameIn(body: JsonObject, headers: IncomingHttpHeaders): string | null {
    const own = textOf(headers[RUN_HEADER])
    if (own !== null) return own
    for (const path of this.#paths) {
      const value = textOf(memberAt(body, path))
      if (value !== null) return value
    }
    for (const name of this.#headers) {
      const value = textOf(headers[name])
      if (value !== null) return value
    }
    return null
  }
}

/** The name that a value is: a text, or a number by its JSON text. */
function textOf(value: JsonValue | readonly string[] | undefined): string | null {
  if (isJsonNumber(value)) return JSON.stringify(value)
  return typeof value === 'string' && value !== '' ? value : null
}

const memberAt = (body: JsonObject, path: readonly string[]): JsonValue | undefined =>
  path.reduce<JsonValue | undefined>(
    (value, name) => (isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined),
    body,
  )
