// What a sidecar shows to a hub: a token from a file, or a JWT (RFC 7519) that it signs itself once
// it has exchanged a join token.

import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto'
import type { Clock, Milliseconds } from '../core/clock.ts'
import type { Secret } from '../core/secret.ts'
import { SIDECAR_TOKEN } from './protocol.ts'

const LIFETIME_MS: Milliseconds = 600_000
/** Age at which a JWT is made again, and a feed opened anew. */
const RENEWAL_MS: Milliseconds = 0.8 * LIFETIME_MS

export interface Credential {
  /**
   * Returns a bearer token.
   * @param join exchanges the public key, PEM (SPKI), for the id of the sidecar, once
   * @throws as `join` (rejects)
   */
  bearer(join: (publicKey: string) => Promise<string>): Promise<string>
  /** Time after which a feed is to be opened anew; null when the hub says so. */
  readonly renewalMs: Milliseconds | null
}

/** A token that something else renews, such as a ServiceAccount's. */
export const fileCredential = (token: Secret): Credential => ({
  bearer: async () => token.current(),
  renewalMs: null,
})

/** The identity of a sidecar that joined. */
interface Joined {
  /** The id that the hub gave; null before. */
  id(): string | null
  clock: Clock
  /** Ed25519, PKCS#8, PEM. */
  privateKey: string
}

/** A credential of a sidecar outside Kubernetes. */
export function joinedCredential({ id, clock, privateKey }: Joined): Credential {
  const key = createPrivateKey(privateKey)
  let made: { readonly token: string; readonly atMs: Milliseconds; readonly id: string } | null = null
  return {
    renewalMs: RENEWAL_MS,
    async bearer(join) {
      const publicKey = createPublicKey(key).export({ format: 'pem', type: 'spki' }).toString()
      const known = id() ?? (await join(publicKey))
      const atMs = clock.monotonic()
      if (made === null || made.id !== known || atMs - made.atMs >= RENEWAL_MS)
        made = { token: signToken(key, known, clock.now()), atMs, id: known }
      return made.token
    },
  }
}

/** EdDSA over Ed25519 (RFC 8037 §3.1). */
function signToken(key: KeyObject, id: string, nowMs: Milliseconds): string {
  const iat = Math.floor(nowMs / 1000)
  const { issuer, audience, algorithm } = SIDECAR_TOKEN
  const claims = { iss: issuer, sub: id, aud: audience, iat, exp: iat + LIFETIME_MS / 1000 }
  const text = [{ alg: algorithm, typ: 'JWT' }, claims].map(encode).join('.')
  return `${text}.${sign(null, Buffer.from(text), key).toString('base64url')}`
}

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
