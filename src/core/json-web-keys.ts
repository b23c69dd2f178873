// Reads JSON Web Key Sets (RFC 7517): which keys may verify tokens, and each with which algorithms.

import { createPublicKey } from 'node:crypto'
import { whyWeakKey } from './certificate.ts'
import { isObject, type JsonObject } from './json.ts'

/** Longest text of a key set, bytes. */
export const MAXIMUM_KEY_SET_BYTES = 256 * 1024
/** Maximum keys of a set. */
const MAXIMUM_KEYS = 100

/** A public key with its id and the one algorithm of its signatures. */
export interface VerificationKey extends JsonObject {
  readonly kty: string
  readonly kid: string
  readonly alg: string
}

/**
 * Algorithms by type of key, or its curve (RFC 7518 §3.1, RFC 8037 §3.1, RFC 9864 §2.2). A key that
 * names none is used with the first.
 */
const ALGORITHMS_OF: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['RSA', ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']],
  ['P-256', ['ES256']],
  ['P-384', ['ES384']],
  ['P-521', ['ES512']],
  ['Ed25519', ['EdDSA', 'Ed25519']],
])

/** The algorithms of tokens. None of them is symmetric. */
export const TOKEN_ALGORITHMS: readonly string[] = [...ALGORITHMS_OF.values()].flat()

/** Members that only private and symmetric keys have (RFC 7518 §6, RFC 8037 §2). */
const SECRET_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv']

/** The keys of a set, or what is wrong with it. Neither repeats the text. */
export type KeySetReading = { readonly keys: readonly VerificationKey[] } | { readonly problem: string }

/**
 * Returns the keys of a set that may verify tokens. Those for encryption, without an id, or of a
 * type or size that is not accepted are left out.
 */
export function readKeySet(text: string): KeySetReading {
  if (Buffer.byteLength(text) > MAXIMUM_KEY_SET_BYTES)
    return { problem: `is larger than ${MAXIMUM_KEY_SET_BYTES} bytes` }
  let set: unknown
  try {
    set = JSON.parse(text)
  } catch {
    return { problem: 'is not JSON' }
  }
  const listed = isObject(set) ? set['keys'] : undefined
  if (!Array.isArray(listed) || listed.length === 0 || !listed.every(isObject))
    return { problem: 'has no keys' }
  if (listed.length > MAXIMUM_KEYS) return { problem: `has more than ${MAXIMUM_KEYS} keys` }
  const secret = listed.findIndex((key) => key['kty'] === 'oct' || SECRET_MEMBERS.some((name) => name in key))
  if (secret >= 0)
    return {
      problem: `holds a private or symmetric key (keys[${secret}]); publish public keys only, and replace that one`,
    }
  const keys = listed.flatMap((key) => verificationKeyOf(key) ?? [])
  if (keys.length === 0) return { problem: NONE_USABLE }
  const names = keys.map(({ kid, alg }) => JSON.stringify([kid, alg]))
  if (new Set(names).size < names.length) return { problem: 'has two keys with one `kid`' }
  return { keys }
}

const NONE_USABLE =
  'has no key that may verify tokens: one with a `kid`, and RSA of at least 2048 bits, EC (P-256, P-384, P-521) or Ed25519'

/** Returns why a text is no key set that may verify tokens; null if it is one. */
export function whyNotKeySet(text: string): string | null {
  const reading = readKeySet(text)
  return 'problem' in reading ? reading.problem : null
}

/** The public part of a key that may verify tokens; null for another one. */
function verificationKeyOf(key: JsonObject): VerificationKey | null {
  const { kty, kid, use = 'sig', key_ops: operations = ['verify'], crv } = key
  const allowed = ALGORITHMS_OF.get(kty === 'RSA' ? kty : crv)
  if (typeof kty !== 'string' || typeof kid !== 'string' || kid === '' || allowed === undefined) return null
  if (use !== 'sig' || !Array.isArray(operations) || !operations.includes('verify')) return null
  const { alg = allowed[0]! } = key
  if (typeof alg !== 'string' || !allowed.includes(alg)) return null
  const { n, e, x, y } = key
  const members = Object.entries({ crv, n, e, x, y }).filter(([, value]) => value !== undefined)
  const publicPart = { kty, ...Object.fromEntries(members) } as JsonObject
  try {
    const imported = createPublicKey({ key: publicPart as never, format: 'jwk' })
    return whyWeakKey(imported) === null ? { ...publicPart, kty, kid, alg } : null
  } catch {
    return null
  }
}
