// Verifies ServiceAccount tokens of Pods with the public keys of their clusters, offline.

import type { Milliseconds } from '../core/clock.ts'
import { checkValue } from '../core/document.ts'
import type { HubConfig, JoinCluster } from '../core/hub-config.ts'
import { uuidv5 } from '../core/ids.ts'
import { FileKeys } from '../jwt/issuer-keys.ts'
import { accountOf, PLACE_CLAIM } from '../jwt/service-account.ts'
import { signersOf, type VerifiedClaims, verifyClaims } from '../jwt/signed-claims.ts'
import { RefusedToken, type UnverifiedToken } from '../jwt/token-check.ts'
import { compileGlob } from '../policy/glob.ts'
import { RefusedSidecar, refusalReasonOf, type VerifiedToken } from './verified-token.ts'

const NAME = { type: 'string', pattern: '^[a-z0-9][a-z0-9.-]{0,252}$' }

/** What a token of a Pod says, as Kubernetes writes it. */
const POD_CLAIMS = {
  type: 'object',
  required: ['sub', 'kubernetes.io'],
  properties: {
    'kubernetes.io': {
      type: 'object',
      required: ['namespace', 'serviceaccount', 'pod'],
      properties: {
        namespace: { type: 'string', pattern: '^[a-z0-9-]{1,63}$' },
        serviceaccount: { type: 'object', required: ['name'], properties: { name: NAME } },
        pod: {
          type: 'object',
          required: ['name', 'uid'],
          properties: { name: NAME, uid: { type: 'string', pattern: '^[\\w-]{1,128}$' } },
        },
      },
    },
  },
}

interface PodClaims {
  readonly [PLACE_CLAIM]: { readonly pod: { readonly name: string; readonly uid: string } }
}

export class ServiceAccountTokens {
  readonly #audience: string
  readonly #clusters: readonly Cluster[]

  constructor({ audience, clusters }: HubConfig['join']) {
    this.#audience = audience
    this.#clusters = clusters.map((cluster) => new Cluster(cluster))
  }

  /**
   * Tries the keys of each cluster with the issuer of the token: many clusters have the same one.
   * @throws RefusedToken, RefusedSidecar (rejects)
   */
  async verify(
    token: string,
    { issuer, keyId }: UnverifiedToken,
    nowMs: Milliseconds,
  ): Promise<VerifiedToken> {
    const clusters = this.#clusters.filter((cluster) => cluster.issuer === issuer)
    if (clusters.length === 0) throw new RefusedToken('issuer')
    // Without the id of a key it may be any key of the set.
    if (typeof keyId !== 'string') throw new RefusedToken('malformed')
    for (const cluster of clusters) {
      const keys = cluster.keys.current()
      if (keys === null) continue
      try {
        const terms = { issuer: cluster.issuer, audiences: [this.#audience] }
        const { claims, endMs } = await verifyClaims(token, signersOf(keys), terms, nowMs)
        return {
          identity: { ...this.#podOf(cluster, claims), expiresAtMs: endMs },
          isCurrent: () => cluster.keys.current() === keys,
        }
      } catch (error) {
        // Another cluster may have signed it.
        if (refusalReasonOf(error) !== 'signature') throw error
      }
    }
    throw new RefusedToken('signature')
  }

  #podOf(cluster: Cluster, claims: VerifiedClaims) {
    const account = checkValue(claims, POD_CLAIMS).length > 0 ? null : accountOf(claims)
    if (account === null || !cluster.allows(account.namespace, account.name))
      throw new RefusedSidecar('account')
    const { namespace } = account
    const { pod } = (claims as unknown as PodClaims)[PLACE_CLAIM]
    const name = `${namespace}/${pod.name}`
    return {
      id: uuidv5(`sidecar:${cluster.name}/${namespace}/${pod.uid}`),
      cluster: cluster.name,
      namespace,
      name: this.#clusters.length > 1 ? `${cluster.name}/${name}` : name,
    }
  }
}

/** A cluster with the keys that its file has now. */
class Cluster {
  readonly name: string
  readonly issuer: string
  readonly keys: FileKeys
  readonly #accounts: readonly ((namespace: string, account: string) => boolean)[]

  constructor({ name, issuer, jwks, allow }: JoinCluster) {
    this.name = name
    this.issuer = issuer
    this.keys = new FileKeys(jwks!)
    this.#accounts = allow.map((entry) => {
      const isNamespace = compileGlob(entry.namespace)
      const isAccount = compileGlob(entry.serviceAccount)
      return (namespace, account) => isNamespace(namespace) && isAccount(account)
    })
  }

  /** Whether one entry allows both. */
  allows(namespace: string, account: string): boolean {
    return this.#accounts.some((isAllowed) => isAllowed(namespace, account))
  }
}
