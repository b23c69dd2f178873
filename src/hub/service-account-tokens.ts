// Verifies ServiceAccount tokens of Pods with the public keys of their clusters, offline.

import { createLocalJWKSet, type JSONWebKeySet, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose'
import type { Milliseconds } from '../core/clock.ts'
import { checkValue } from '../core/document.ts'
import type { HubConfig, JoinCluster } from '../core/hub-config.ts'
import { uuidv5 } from '../core/ids.ts'
import { compileGlob } from '../policy/glob.ts'
import {
  checkOf,
  endOf,
  RefusedToken,
  SKEW_SECONDS,
  type UnverifiedToken,
  type VerifiedToken,
} from './verified-token.ts'

const ALGORITHMS = ['RS256', 'ES256', 'EdDSA']
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
  readonly sub: string
  readonly 'kubernetes.io': {
    readonly namespace: string
    readonly serviceaccount: { readonly name: string }
    readonly pod: { readonly name: string; readonly uid: string }
  }
}

export class ServiceAccountTokens {
  readonly #audience: string
  readonly #clusters: readonly ClusterKeys[]

  constructor({ audience, clusters }: HubConfig['join']) {
    this.#audience = audience
    this.#clusters = clusters.map((cluster) => new ClusterKeys(cluster))
  }

  /**
   * Tries the keys of each cluster with the issuer of the token: many clusters have the same one.
   * @throws RefusedToken (rejects)
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
      const keys = cluster.current()
      const claims = await this.#claimsBy(keys, token, cluster.issuer, nowMs)
      if (claims === null) continue
      return {
        identity: { ...this.#podOf(cluster, claims), expiresAtMs: endOf(claims, nowMs) },
        isCurrent: () => cluster.current() === keys,
      }
    }
    throw new RefusedToken('signature')
  }

  /** Resolves with null when none of the keys has signed the token. */
  async #claimsBy(
    keys: JWTVerifyGetKey,
    token: string,
    issuer: string,
    nowMs: Milliseconds,
  ): Promise<JWTPayload | null> {
    try {
      const { payload } = await jwtVerify(token, keys, {
        algorithms: ALGORITHMS,
        issuer,
        audience: this.#audience,
        requiredClaims: ['exp'],
        currentDate: new Date(nowMs),
        clockTolerance: SKEW_SECONDS,
      })
      return payload
    } catch (error) {
      const check = checkOf(error)
      if (check === 'signature') return null
      throw new RefusedToken(check)
    }
  }

  #podOf(cluster: ClusterKeys, claims: JWTPayload) {
    if (checkValue(claims, POD_CLAIMS).length > 0) throw new RefusedToken('account')
    const { sub, 'kubernetes.io': place } = claims as unknown as PodClaims
    const { namespace, serviceaccount, pod } = place
    const isNamed = sub === `system:serviceaccount:${namespace}:${serviceaccount.name}`
    if (!isNamed || !cluster.allows(namespace, serviceaccount.name)) throw new RefusedToken('account')
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
class ClusterKeys {
  readonly name: string
  readonly issuer: string
  readonly #file: NonNullable<JoinCluster['jwks']>
  readonly #accounts: readonly ((namespace: string, account: string) => boolean)[]
  #text: string | null = null
  #keys: JWTVerifyGetKey | null = null

  constructor({ name, issuer, jwks, allow }: JoinCluster) {
    this.name = name
    this.issuer = issuer
    this.#file = jwks!
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

  /** The same value until the file changes. */
  current(): JWTVerifyGetKey {
    const text = this.#file.current()
    if (this.#keys === null || text !== this.#text) {
      this.#keys = createLocalJWKSet(JSON.parse(text) as JSONWebKeySet)
      this.#text = text
    }
    return this.#keys
  }
}
