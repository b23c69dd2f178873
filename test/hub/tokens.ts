// Tokens of sidecars, and the key sets of the clusters that sign them.

import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { type JWTPayload, SignJWT } from 'jose'
import type { JoinCluster } from '../../src/core/hub-config.ts'

export const ISSUER = 'https://kubernetes.default.svc'
const HOUR_SECONDS = 3600

export type Algorithm = 'RS256' | 'ES256' | 'EdDSA'

/** A key of a cluster, or of a sidecar. */
export interface SigningKey {
  readonly id: string
  readonly algorithm: Algorithm
  readonly privateKey: KeyObject
  /** SPKI, PEM. */
  readonly publicPem: string
}

const GENERATE: Readonly<Record<Algorithm, () => KeyObject>> = {
  RS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey,
  ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
  EdDSA: () => generateKeyPairSync('ed25519').privateKey,
}

export function newKey(id = 'one', algorithm: Algorithm = 'ES256'): SigningKey {
  const privateKey = GENERATE[algorithm]()
  const publicPem = String(createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }))
  return { id, algorithm, privateKey, publicPem }
}

/** The text of a key set, as a cluster prints it. */
export const keySetOf = (...keys: readonly SigningKey[]): string =>
  JSON.stringify({
    keys: keys.map(({ id, algorithm, privateKey }) => ({
      ...createPublicKey(privateKey).export({ format: 'jwk' }),
      ...{ use: 'sig', kid: id, alg: algorithm },
    })),
  })

/** A cluster whose key set is the text of `keys`, which may change. */
export const clusterOf = (
  keys: { text: string },
  { allow = [{ namespace: 'shop', serviceAccount: 'web' }], ...more }: Partial<JoinCluster> = {},
): JoinCluster => ({
  name: 'prod',
  issuer: ISSUER,
  jwks: { current: () => keys.text, onTurn: () => {} },
  allow,
  ...more,
})

/** The claims of a Pod, as Kubernetes writes them. */
export function podClaims(
  nowMs: number,
  { namespace = 'shop', account = 'web', pod = 'web-0', uid = 'uid-of-web-0' } = {},
): JWTPayload {
  const now = Math.floor(nowMs / 1000)
  return {
    iss: ISSUER,
    aud: ['sidegate-hub'],
    sub: `system:serviceaccount:${namespace}:${account}`,
    ...{ iat: now, nbf: now, exp: now + HOUR_SECONDS, jti: 'c1b2' },
    'kubernetes.io': {
      namespace,
      node: { name: 'node-1', uid: 'uid-of-node-1' },
      pod: { name: pod, uid },
      serviceaccount: { name: account, uid: 'uid-of-account' },
    },
  }
}

/** The claims of a sidecar that joined. */
export function joinedClaims(nowMs: number, sidecar: string): JWTPayload {
  const now = Math.floor(nowMs / 1000)
  return { iss: 'sidegate-sidecar', aud: 'sidegate-hub', sub: sidecar, iat: now, exp: now + 900 }
}

/** Signs claims. @param header in place of that of the key */
export const signed = (claims: JWTPayload, key: SigningKey, header: object = {}): Promise<string> =>
  new SignJWT(claims)
    .setProtectedHeader({ alg: key.algorithm, kid: key.id, typ: 'JWT', ...header })
    .sign(key.privateKey)
