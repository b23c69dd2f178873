// Finds the end user that a request body names, and keeps the name out of the captured exchange.

import { hashUser } from '../../audit/user-hash.ts'
import type { Config } from '../../core/config.ts'
import { isObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import type { StoredUser } from '../../store/log/user-rows.ts'

/** Longer names are kept as hashes only. */
const MAXIMUM_CLEAR_CHARACTERS = 256
/** In the place of the name in a captured exchange. */
const HIDDEN_USER = '[USER]'

/** Names of nested members, outermost first. */
type MemberPath = readonly string[]

export class EndUsers {
  readonly #mode: Config['audit']['user']
  readonly #paths: readonly MemberPath[]
  readonly #key: () => Buffer | null

  /** @param key returns the key of the hash now; null only if nothing is kept (`off`) */
  constructor(mode: Config['audit']['user'], fields: readonly string[], key: () => Buffer | null) {
    this.#mode = mode
    this.#paths = fields.map((field) => field.split('.'))
    this.#key = key
  }

  /** Returns the user that a body names before it is redacted; null without one. */
  read(body: JsonObject): StoredUser | null {
    const key = this.#mode === 'off' ? null : this.#key()
    if (key === null) return null
    for (const path of this.#paths) {
      const value = memberAt(body, path)
      if (typeof value !== 'string' || value === '') continue
      const isClear = this.#mode === 'clear' && value.length <= MAXIMUM_CLEAR_CHARACTERS
      return { hash: hashUser(key, value), clear: isClear ? value : null }
    }
    return null
  }

  /**
   * Returns a body without the names of users, for capture. Returns the same object if it has none,
   * or if clear text is kept anyway.
   */
  withoutNames(body: JsonObject): JsonObject {
    if (this.#mode === 'clear') return body
    let hidden = body
    for (const path of this.#paths) {
      if (typeof memberAt(hidden, path) === 'string') hidden = withMember(hidden, path, 0)
    }
    return hidden
  }
}

function memberAt(body: JsonObject, path: MemberPath): JsonValue | undefined {
  let value: JsonValue | undefined = body
  for (const name of path) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return undefined
    value = value[name]
  }
  return value
}

/** Copies the objects around the member, and no others. */
function withMember(object: JsonObject, path: MemberPath, depth: number): JsonObject {
  const name = path[depth] as string
  const isLast = depth === path.length - 1
  return { ...object, [name]: isLast ? HIDDEN_USER : withMember(object[name] as JsonObject, path, depth + 1) }
}
