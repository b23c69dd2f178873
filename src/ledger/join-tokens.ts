// Makes tokens with which a sidecar outside Kubernetes joins, once, and registers what joined. Only
// the SHA-256 of a token is stored.

import { createPublicKey, hash } from 'node:crypto'
import { type Actor, GATEWAY_ACTOR } from '../core/actor.ts'
import { GatewayError } from '../core/errors.ts'
import { uuidv5 } from '../core/ids.ts'
import { isoTime } from '../core/time.ts'
import { whyNotKeyName } from '../keys/key-names.ts'
import type { LedgerOptions } from './hub-log.ts'

const PREFIX = 'sgjoin_'
const RANDOM_BYTES = 32
const FORM = /^sgjoin_[\w-]{43}$/
/** A name of Kubernetes, RFC 1123. */
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const DEFAULT_NAMESPACE = 'default'

/** A sidecar that joined with a token. */
export interface JoinedSidecar {
  /** Its id. */
  readonly sidecar: string
  /** Null when the name has none. */
  readonly cluster: string | null
  readonly namespace: string
  readonly name: string
  /** Ed25519, SPKI, PEM. */
  readonly publicKey: string
  /** An administrator declared it gone. */
  readonly isGone: boolean
}

const SIDECAR =
  'id as sidecar, cluster, namespace, name, public_key as "publicKey", state = $$gone$$ as "isGone"'

export class JoinTokens {
  readonly #parts: LedgerOptions

  constructor(parts: LedgerOptions) {
    this.#parts = parts
  }

  /**
   * Creates a token. Resolves when it is durable and its creation sealed.
   * @param name of the sidecar: `web-1`, `namespace/web-1` or `cluster/namespace/web-1`
   * @throws GatewayError (rejects) `invalid_parameter` for any other name, and for one that no key
   * may have; `fleet_unavailable`
   */
  async create(name: string, ttlSeconds: number, actor: Actor): Promise<{ readonly token: string }> {
    const reason = whyNotKeyName(name) ?? (placeOf(name) === null ? NOT_A_PLACE : null)
    if (reason !== null) throw new GatewayError('invalid_parameter', `name ${reason}`, { param: 'name' })
    const token = PREFIX + this.#parts.random(RANDOM_BYTES).toString('base64url')
    const expiresAt = isoTime(this.#parts.clock.now() + ttlSeconds * 1000)
    const { result } = await this.#parts.log.change(async (queries) => {
      await queries.rows('insert into join_token (sha256, name, expires_at) values ($1, $2, $3)', [
        digestOf(token),
        name,
        expiresAt,
      ])
      return {
        draft: { type: 'join_token_created', name, expires_at: expiresAt, actor } as const,
        feed: [],
        result: { token },
      }
    })
    return result
  }

  /**
   * Registers a sidecar with its public key. Resolves when it is durable and sealed. The same key
   * with the same token gets the same answer until the token expires: an answer may get lost.
   * @throws GatewayError (rejects) `invalid_token` for one that is unknown, expired or used by
   * another key, and for a sidecar that was declared gone; `invalid_parameter` for another kind of
   * key; `fleet_unavailable`
   */
  async use(token: string, publicKeyPem: string): Promise<JoinedSidecar> {
    const publicKey = readPublicKey(publicKeyPem)
    if (!FORM.test(token)) throw refused()
    // A wrong token is refused without the lock that all changes take.
    const [known] = await this.#parts.database.rows<{ used: boolean }>(
      'select used_at is not null as used from join_token where sha256 = $1 and expires_at > $2',
      [digestOf(token), isoTime(this.#parts.clock.now())],
    )
    if (known === undefined) throw refused()
    const joined = known.used ? null : await this.#join(token, publicKey)
    const sidecar = joined ?? (await this.find(idOf(token)))
    if (sidecar?.publicKey !== publicKey || sidecar.isGone) throw refused()
    return sidecar
  }

  /** Resolves with null for an unknown id and one of a Pod. */
  async find(id: string): Promise<JoinedSidecar | null> {
    const [sidecar] = await this.#parts.database.rows<JoinedSidecar>(
      `select ${SIDECAR} from sidecar where id = $1 and public_key is not null`,
      [id],
    )
    return sidecar ?? null
  }

  /** Resolves with null when the token was used meanwhile. */
  async #join(token: string, publicKey: string): Promise<JoinedSidecar | null> {
    const now = isoTime(this.#parts.clock.now())
    const { result } = await this.#parts.log.change(async (queries) => {
      const [used] = await queries.rows<{ name: string }>(
        'update join_token set used_at = $2 where sha256 = $1 and used_at is null and expires_at > $2 returning name',
        [digestOf(token), now],
      )
      if (used === undefined) return { draft: null, feed: [], result: null }
      const { name } = used
      const { cluster, namespace } = placeOf(name)!
      const id = idOf(token)
      // It has not connected yet, so that no change waits for it.
      await queries.rows(
        `insert into sidecar (id, cluster, namespace, name, public_key, version, features,
           max_stale_seconds, acked_rev, last_seen_at, state)
         values ($1, $2, $3, $4, $5, '', '{}', 0, 0, $6, 'left')`,
        [id, cluster, namespace, name, publicKey, now],
      )
      return {
        draft: { type: 'sidecar_joined', sidecar_id: id, sidecar_name: name, actor: GATEWAY_ACTOR } as const,
        feed: [],
        result: { sidecar: id, cluster, namespace, name, publicKey, isGone: false },
      }
    })
    return result
  }
}

const NOT_A_PLACE =
  'must be like web-1, namespace/web-1 or cluster/namespace/web-1; the parts before the last have lower-case letters, digits and hyphens.'

/** Returns where a sidecar with this name is; null for a name that does not say it. */
function placeOf(name: string): { readonly cluster: string | null; readonly namespace: string } | null {
  const parts = name.split('/')
  const last = parts.pop()
  if (last === '' || parts.length > 2 || !parts.every((part) => LABEL.test(part))) return null
  return { cluster: parts.length === 2 ? parts[0]! : null, namespace: parts.at(-1) ?? DEFAULT_NAMESPACE }
}

/** Returns the key in its one form. @throws GatewayError `invalid_parameter` */
function readPublicKey(pem: string): string {
  try {
    // A private key has a public one too, and must not have been sent.
    const key = /^\s*-----BEGIN PUBLIC KEY-----/.test(pem) ? createPublicKey(pem) : null
    if (key?.asymmetricKeyType === 'ed25519') return String(key.export({ type: 'spki', format: 'pem' }))
  } catch {
    // The error below says what is wanted.
  }
  throw new GatewayError('invalid_parameter', 'public_key must be an Ed25519 public key: SPKI, PEM.', {
    param: 'public_key',
  })
}

const digestOf = (token: string): Buffer => hash('sha256', token, 'buffer')
/** The id of the sidecar that joins with a token. */
const idOf = (token: string): string => uuidv5(`sidecar-join:${digestOf(token).toString('hex')}`)

const refused = (): GatewayError =>
  new GatewayError(
    'invalid_token',
    'The join token is unknown, expired or used; create another one: POST /api/v1/fleet/tokens.',
  )
