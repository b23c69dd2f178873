// Hubs that take Pods of one cluster, and sidecars that are such Pods.

import type { Test } from 'tap'
import type { TestDatabase } from '../ledger/postgres.ts'
import { type Api, startHub, type TestHub } from './fixture.ts'
import { TestSidecar } from './sidecar.ts'
import { ISSUER, keySetOf, newKey, podClaims, signed } from './tokens.ts'

/** The key that signs the tokens of the cluster. */
export const clusterKey = newKey()
const JOIN = {
  join: {
    clusters: [
      {
        name: 'prod',
        issuer: ISSUER,
        jwks: { file: 'jwks.json' },
        allow: [{ namespace: '*', serviceAccount: 'web' }],
      },
    ],
  },
}

/** Starts a hub that lets the Pods of a cluster connect. */
export const hubOn = (
  t: Test,
  database: TestDatabase,
  more: object = {},
  files: Readonly<Record<string, string>> = {},
): Promise<TestHub> =>
  startHub(t, database, { ...JOIN, ...more }, { 'jwks.json': keySetOf(clusterKey), ...files })

/** Connects a sidecar as a Pod. */
export async function sidecarOf(t: Test, hub: TestHub, pod: string, more: object = {}): Promise<TestSidecar> {
  const { namespace = 'shop', ...options } = more as { namespace?: string }
  const claims = podClaims(Date.now(), { namespace, pod, uid: `uid-${namespace}-${pod}` })
  return new TestSidecar(t, { url: hub.url, token: await signed(claims, clusterKey), ...options }).connect()
}

/** Makes a key at a hub. @returns the answer */
export const makeKey = async (api: Api, fields: object = {}) => {
  const { status, body } = await api('POST', '/keys', { name: 'web', ...fields })
  if (status !== 201) throw new Error(`${status}: ${JSON.stringify(body)}`)
  return body
}
